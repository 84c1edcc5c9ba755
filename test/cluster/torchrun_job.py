"""Two ranks of torchrun meet by PyTorch's own means; on SIGUSR1 they end with 75.

    torchrun_job.py FOLDER SECONDS
"""
import os
import pathlib
import signal
import socket
import sys
import time

import torch
import torch.distributed

asked = []
signal.signal(signal.SIGUSR1, lambda *_: asked.append(True))
torch.distributed.init_process_group("gloo")
rank, ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
value = torch.tensor([1.0 + rank])
torch.distributed.all_reduce(value)
print(f"rank {rank} on {socket.gethostname()} of {ranks}: {value.item()}, local rank {os.environ['LOCAL_RANK']}", flush=True)
(pathlib.Path(sys.argv[1]) / f"there-{rank}").touch()
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end and not asked:
    time.sleep(0.05)
sys.exit(75 if asked else 0)
