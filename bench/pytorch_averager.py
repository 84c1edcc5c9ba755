#!/usr/bin/env python3
"""One rank of averager_steps: times steps of a GPT in PyTorch, by itself, with DDP (gloo), and with methods of eave.

    pytorch_averager.py alone STEPS               plain PyTorch beside eave.Averager's `none`, by turns, step by step
    pytorch_averager.py among ADDRESS CASE...     CASE is NAME:STEPS; ADDRESS is rank 0's; an Averager is made for each

Rank 0 prints one line of JSON for each case: seconds and seconds of CPU of each step (`alone`), or of a step in the mean
over the STEPS that follow the first few, over all ranks.
"""
import json
import sys
import time

import pytorch_job  # before torch: it keeps warnings quiet
import torch

import eave
import pytorch_gpt

WARM_UP = 4  # the first step of an Averager only looks on; DDP arranges its buckets anew at the second
PORT = 29500
METHODS = {"allreduce": {"overlap": True}, "allreduce-late": {}, "local-sgd": {"tau": 32}, "diloco": {"tau": 32},
           "easgd": {"tau": 32}, "easgd-async": {"tau": 32}}


def make_model():
    torch.manual_seed(0)
    model = pytorch_gpt.Gpt()
    return model, torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)


def take_step(model, optimizer, texts, step):
    optimizer.zero_grad()
    pytorch_gpt.loss_of(model, texts).backward()
    step()


def times_of(steps, take):
    """(seconds, seconds of CPU) of a step in the mean."""
    begin = time.perf_counter(), time.process_time()
    for _ in range(steps):
        take()
    return (time.perf_counter() - begin[0]) / steps, (time.process_time() - begin[1]) / steps


def time_alone(steps):
    texts, times = pytorch_gpt.make_texts(0), {"plain": [], "none": []}
    model, optimizer = make_model()
    averaged, its_optimizer = make_model()
    with eave.Averager(averaged, its_optimizer, "none") as averager:
        cases = {"plain": (model, optimizer, texts, optimizer.step), "none": (averaged, its_optimizer, texts, averager.step)}
        for number in range(WARM_UP + steps):
            for name, case in cases.items():
                taken = times_of(1, lambda: take_step(*case))
                if number >= WARM_UP:
                    times[name].append(taken)
    for name, taken in times.items():
        seconds, cpu = zip(*taken)
        print(json.dumps({"case": name, "seconds": seconds, "cpu": cpu}), flush=True)


def time_case(name, steps):
    model, optimizer = make_model()
    texts, forward = pytorch_gpt.make_texts(eave.rank()), model
    averager = eave.Averager(model, optimizer, name.split("-late")[0], **METHODS[name]) if name in METHODS else None
    if name == "ddp":
        forward = pytorch_job.wrap(model)
    step = averager.step if averager else optimizer.step
    for _ in range(WARM_UP):
        take_step(forward, optimizer, texts, step)
    eave.sum_over_ranks([0.0])
    taken = times_of(steps, lambda: take_step(forward, optimizer, texts, step))
    if averager:
        averager.close()
    return [each / eave.size() for each in eave.sum_over_ranks(list(taken))]


def main():
    torch.set_num_threads(1)
    if sys.argv[1] == "alone":
        return time_alone(int(sys.argv[2]))
    pytorch_job.join(eave.rank(), eave.size(), sys.argv[2], PORT)
    for case in sys.argv[3:]:
        name, steps = case.split(":")
        seconds, cpu = time_case(name, int(steps))
        if eave.rank() == 0:
            print(json.dumps({"case": name, "seconds": seconds, "cpu": cpu}), flush=True)
    torch.distributed.destroy_process_group()
    eave.stop()


if __name__ == "__main__":
    main()
