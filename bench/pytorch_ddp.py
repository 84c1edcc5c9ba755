#!/usr/bin/env python3
"""One rank of PyTorch's DistributedDataParallel (gloo), on one thread: pytorch_ddp.py RANK RANKS ADDRESS-OF-RANK-0

Steps are those of pytorch_steps.py. Cases are read from standard input, one a line, the same on every rank: MODEL BATCH
LAYOUT OPTIMIZER WARM-UP STEPS. Each is answered by one line of JSON, the wall seconds of every step after the warm-up.
Gradients are exchanged as DDP does it by default (buckets of 25 MiB, the first of 1 MiB, during backward), with
gradients as views into buckets. Statistics of batch norm are not exchanged, as in eave.
"""
import json
import os
import sys
import time
import warnings

os.environ["TORCH_CPP_LOG_LEVEL"] = "ERROR"  # hosts without a name server
warnings.filterwarnings("ignore", message=".*broadcast_buffers. is deprecated")  # the option that replaces it syncs at first

import pytorch_steps  # before torch: it keeps warnings quiet
import torch
import torch.distributed
from torch.nn.parallel import DistributedDataParallel

PORT = 29500


def wrap(model):
    return DistributedDataParallel(model, broadcast_buffers=False, gradient_as_bucket_view=True)


def answer(line, models):
    name, batch, layout, optimizer, warm_up, steps = line.split()
    case = (name, int(batch), layout, optimizer)
    if case not in models:
        models[case] = pytorch_steps.make_step(*case, compiled=False, wrap=wrap)
    for _ in range(int(warm_up)):
        models[case]()
    seconds = []
    for _ in range(int(steps)):
        start = time.perf_counter()
        models[case]()
        seconds.append(time.perf_counter() - start)
    return seconds


def main():
    rank, ranks, address = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    torch.distributed.init_process_group("gloo", init_method=f"tcp://{address}:{PORT}", rank=rank, world_size=ranks)
    print(json.dumps({"torch": torch.__version__}), flush=True)
    models = {}
    for line in sys.stdin:
        if line.strip():
            print(json.dumps(answer(line, models)), flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
