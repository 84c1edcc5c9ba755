#!/usr/bin/env python3
"""One rank of PyTorch's DistributedDataParallel (gloo), on one thread: pytorch_ddp.py RANK RANKS ADDRESS-OF-RANK-0

Steps are those of pytorch_steps.py. Each rank reads the same cases from standard input, one a line: MODEL BATCH LAYOUT
OPTIMIZER WARM-UP STEPS. The answer is one line of JSON with the wall seconds of every step after the warm-up.
"""
import json
import sys
import time

import pytorch_job  # before torch: it keeps warnings quiet
import pytorch_steps
import torch
import torch.distributed

PORT = 29500


def answer(line, models):
    name, batch, layout, optimizer, warm_up, steps = line.split()
    case = (name, int(batch), layout, optimizer)
    if case not in models:
        models[case] = pytorch_steps.make_step(*case, compiled=False, wrap=pytorch_job.wrap)
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
    pytorch_job.join(rank, ranks, address, PORT)
    print(json.dumps({"torch": torch.__version__}), flush=True)
    models = {}
    for line in sys.stdin:
        if line.strip():
            print(json.dumps(answer(line, models)), flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
