#!/usr/bin/env python3
"""One rank of averager_steps: times steps of a PyTorch model by itself, with PyTorch's own ways, and with methods of eave.

    pytorch_averager.py alone MODEL STEPS               plain PyTorch beside eave.Averager's `none`, by turns, step by step
    pytorch_averager.py among MODEL ADDRESS CASE...     CASE is NAME:STEPS; ADDRESS is rank 0's; everything is made anew for
                                                        each case

MODEL is gpt (0.8 M parameters), gpt-10m or resnet20. Rank 0 prints one line of JSON for each case: seconds and seconds of
CPU of each step (`alone`), or of a step in the mean over the STEPS that follow the first few, over all ranks; and the most
memory that the case took on any rank, as a multiple of the parameters' bytes.
"""
import contextlib
import ctypes
import gc
import json
import pathlib
import sys
import time

import pytorch_job  # before torch: it keeps warnings quiet
import torch
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.distributed.optim import PostLocalSGDOptimizer

import eave
import pytorch_gpt
import pytorch_steps
from peers import torchft_diloco

WARM_UP = 4  # the first step of an Averager only looks on; DDP arranges its buckets anew at the second
PORT = 29500
TAU = 32
METHODS = {"allreduce": {}, "allreduce-late": {"overlap": False}, "local-sgd": {"tau": TAU}, "diloco": {"tau": TAU},
           "easgd": {"tau": TAU}, "easgd-async": {"tau": TAU}}
IMAGES = 32


def make_loss(name, seed):
    """A model, and a function of a module that returns the loss of one fixed random batch."""
    torch.manual_seed(0)
    if name == "resnet20":
        images = torch.rand(IMAGES, 3, 32, 32, generator=torch.Generator().manual_seed(seed))
        labels = torch.randint(10, (IMAGES,), generator=torch.Generator().manual_seed(seed))
        return pytorch_steps.make_resnet20(), lambda model: torch.nn.functional.cross_entropy(model(images), labels)
    texts = pytorch_gpt.make_texts(seed)
    model = pytorch_gpt.Gpt() if name == "gpt" else pytorch_gpt.Gpt(layers=6, heads=6, width=384)
    return model, lambda module: pytorch_gpt.loss_of(module, texts)


def make_optimizer(model):
    return torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)


def take_step(model, loss_of, optimizer, step):
    optimizer.zero_grad()
    loss_of(model).backward()
    step()


def times_of(steps, take):
    """(seconds, seconds of CPU) of a step in the mean."""
    begin = time.perf_counter(), time.process_time()
    for _ in range(steps):
        take()
    return (time.perf_counter() - begin[0]) / steps, (time.process_time() - begin[1]) / steps


def time_alone(name, steps):
    times = {"plain": [], "none": []}
    model, loss_of = make_loss(name, 0)
    averaged, its_loss = make_loss(name, 0)
    optimizer, its_optimizer = make_optimizer(model), make_optimizer(averaged)
    with eave.Averager(averaged, its_optimizer, "none") as averager:
        cases = {"plain": (model, loss_of, optimizer, optimizer.step),
                 "none": (averaged, its_loss, its_optimizer, averager.step)}
        for number in range(WARM_UP + steps):
            for case, words in sorted(cases.items(), reverse=number % 2 == 0):
                taken = times_of(1, lambda: take_step(*words))
                if number >= WARM_UP:
                    times[case].append(taken)
    for case, taken in times.items():
        seconds, cpu = zip(*taken)
        print(json.dumps({"case": case, "seconds": seconds, "cpu": cpu}), flush=True)


def memory(field):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(field + ":"))


def begin_memory():
    """Frees what the case before has left, and makes the process's peak that of now. Returns it."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with contextlib.suppress(OSError):  # then the peak is that of all cases so far
        pathlib.Path("/proc/self/clear_refs").write_text("5")
    return memory("VmRSS")


def make_case(case, model, optimizer):
    """(module, step, what close() ends) of a case."""
    if case in METHODS:
        averager = eave.Averager(model, optimizer, case.split("-late")[0], **METHODS[case])
        return model, averager.step, averager
    if case == "ddp":
        return pytorch_job.wrap(model), optimizer.step, None
    if case == "post-local":
        return model, PostLocalSGDOptimizer(optimizer, PeriodicModelAverager(period=TAU, warmup_steps=0)).step, None
    if case == "torchft":
        peer = torchft_diloco.Diloco(model, optimizer, eave.rank(), eave.size(), sys.argv[3], TAU)
        return model, peer.step, peer
    return model, optimizer.step, None


def time_case(name, case, steps):
    before = begin_memory()
    model, loss_of = make_loss(name, eave.rank())
    optimizer = make_optimizer(model)
    module, step, averager = make_case(case, model, optimizer)
    for _ in range(WARM_UP):
        take_step(module, loss_of, optimizer, step)
    eave.sum_over_ranks([0.0])
    taken = times_of(steps, lambda: take_step(module, loss_of, optimizer, step))
    if averager:
        averager.close()
    took = (memory("VmHWM") - before) / sum(each.numel() * each.element_size() for each in model.parameters())
    everywhere = eave.sum_over_ranks([*taken, *(took * (rank == eave.rank()) for rank in range(eave.size()))])
    seconds, cpu, *memories = everywhere
    return {"case": case, "seconds": seconds / eave.size(), "cpu": cpu / eave.size(), "memory": max(memories)}


def main():
    torch.set_num_threads(1)
    if sys.argv[1] == "alone":
        return time_alone(sys.argv[2], int(sys.argv[3]))
    pytorch_job.join(eave.rank(), eave.size(), sys.argv[3], PORT)
    time_case(sys.argv[2], "plain", 1)  # pages of libraries that a first step touches belong to no case
    for words in sys.argv[4:]:
        case, steps = words.split(":")
        line = time_case(sys.argv[2], case, int(steps))
        if eave.rank() == 0:
            print(json.dumps(line), flush=True)
    torch.distributed.destroy_process_group()
    eave.stop()


if __name__ == "__main__":
    main()
