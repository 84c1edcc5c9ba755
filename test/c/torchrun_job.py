"""A rank that trains a small network by several methods, and prints the hash of what comes out.

    torchrun_job.py [before|after|alone]   init_process_group before the first Averager, after the last one, or not at all
"""
import hashlib
import sys

import eave
import torch
import torch.distributed

METHODS = [("allreduce", {}), ("easgd", {"tau": 3}), ("easgd-async", {"tau": 3, "async_order": "round-robin"})]


def train(communicator, options):
    torch.manual_seed(eave.rank())
    model = torch.nn.Sequential(torch.nn.Linear(20, 300), torch.nn.Tanh(), torch.nn.Linear(300, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with eave.Averager(model, optimizer, communicator, **options) as averager:
        for _ in range(12):
            optimizer.zero_grad()
            model(torch.randn(8, 20)).square().mean().backward()
            averager.step()
        with averager.consensus():
            return torch.nn.utils.parameters_to_vector(model.parameters()).detach().clone()


def sum_by_gloo():
    torch.distributed.init_process_group("gloo")
    ones = torch.ones(3)
    torch.distributed.all_reduce(ones)
    assert ones[0] == torch.distributed.get_world_size(), ones


torch.set_num_threads(1)
when = sys.argv[1] if len(sys.argv) > 1 else "alone"
if when == "before":
    sum_by_gloo()
hashes = [hashlib.sha256(bytes(train(name, options).view(torch.uint8).tolist())).hexdigest()[:16] for name, options in METHODS]
if when == "after":
    sum_by_gloo()
if eave.rank() == 0:
    print(eave.size(), *hashes)
if torch.distributed.is_initialized():
    torch.distributed.destroy_process_group()
