"""Ranks train a small network of PyTorch together, by the method that you name, and rank 0 says what it cost.

    mpirun -np 2 python3 own_model.py allreduce
    mpirun -np 2 python3 own_model.py easgd tau=10
"""
import sys
import time

import eave
import torch

STEPS, BATCH = 600, 32


def make_data():
    """Points, and the classes that a network with random weights gives them: (training, test)."""
    torch.manual_seed(1)
    x = torch.randn(6000, 32)
    y = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.Tanh(), torch.nn.Linear(64, 10))(x).argmax(1)
    return (x[:5000], y[:5000]), (x[5000:], y[5000:])


def train(averager, model, optimizer, x, y):
    draws = torch.Generator().manual_seed(eave.rank())  # each rank draws its own samples
    for _ in range(STEPS):
        chosen = torch.randint(len(x), (BATCH,), generator=draws)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x[chosen]), y[chosen]).backward()
        averager.step()  # in place of optimizer.step()


def main():
    method, *words = sys.argv[1:] or ["allreduce"]
    options = dict(word.split("=") for word in words)
    torch.set_num_threads(1)
    (x, y), (test_x, test_y) = make_data()
    model = torch.nn.Sequential(torch.nn.Linear(32, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    with eave.Averager(model, optimizer, method, **options) as averager:  # all ranks begin with rank 0's parameters
        began = time.monotonic()
        train(averager, model, optimizer, x, y)
        seconds = time.monotonic() - began
        with averager.consensus(), torch.no_grad():  # the center or the mean, the same on all ranks
            right = (model(test_x).argmax(1) == test_y).double().mean().item()
    waited, sent, _ = averager.spent
    if eave.rank() == 0:
        print(f"{' '.join([method, *words]):<14} {eave.size()} ranks   test accuracy {100 * right:.1f} %   {seconds:.2f} s, "
              f"{waited:.2f} s of them waiting   {sent / 1e6:.1f} MB sent per rank")


main()
