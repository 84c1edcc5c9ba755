"""A small network of PyTorch whose method, learning rate, seed and length come from eave compare.

    eave compare --program "python3 own_compare.py" --communicators allreduce,easgd:tau=10 --ranks 2 --seeds 2
    mpirun -np 2 python3 own_compare.py     # by itself: allreduce, and the numbers that plan() is given here
"""
import eave
import torch


def make_data():
    """Points, and the classes that a network with random weights gives them: training, validation and test set."""
    torch.manual_seed(1)
    x = torch.randn(7000, 32)
    y = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.Tanh(), torch.nn.Linear(64, 10))(x).argmax(1)
    return (x[:5000], y[:5000]), (x[5000:6000], y[5000:6000]), (x[6000:], y[6000:])


def accuracy(model, x, y):
    return (model(x).argmax(1) == y).double().mean().item()


def main():
    plan = eave.plan(lr=0.1, steps=600, batch=32)  # under eave compare: what it says
    torch.set_num_threads(1)
    (x, y), validation, test = make_data()
    torch.manual_seed(plan.seed)
    model = torch.nn.Sequential(torch.nn.Linear(32, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=plan.lr, momentum=0.9)
    draws = torch.Generator().manual_seed(1000 * plan.seed + eave.rank())  # each rank draws its own samples
    with eave.Averager(model, optimizer) as averager, \
            eave.Run("runs/own", averager, batch=plan.batch, train_samples=len(x), overwrite=True) as run:
        for step in plan:
            chosen = torch.randint(len(x), (plan.batch,), generator=draws)
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x[chosen]), y[chosen])
            loss.backward()
            averager.step()  # in place of optimizer.step()
            run.step(loss=loss)
        with averager.consensus(), torch.no_grad():  # the center or the mean, the same on all ranks
            run.evaluate(loss=torch.nn.functional.cross_entropy(model(test[0]), test[1]).item(),
                         accuracy=accuracy(model, *test), validation_accuracy=accuracy(model, *validation))


main()
