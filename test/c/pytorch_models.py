"""A small network, its batches and its steps, for the rows of pytorch_matrix_job.py."""
from pytorch_cases import eave, torch

LOCAL = ("local-sgd", {"tau": 3})  # a method by which replicas train alone between exchanges


def network(seed=None, norm=torch.nn.Identity, kind=torch.nn.Linear):
    torch.manual_seed(eave.rank() if seed is None else seed)
    return torch.nn.Sequential(kind(4, 6), norm(), torch.nn.Tanh(), kind(6, 3))


def batch(step, rank=None):
    return torch.randn(8, 4, generator=torch.Generator().manual_seed(10 * step + (eave.rank() if rank is None else rank)))


def loss_of(model, step, rank=None):
    return model(batch(step, rank).to(next(model.parameters()).dtype)).float().square().mean()


def take_steps(model, optimizer, averager, steps=4, after=lambda: None):
    for step in range(steps):
        optimizer.zero_grad()
        loss_of(model, step).backward()
        averager.step()
        after()


def train_alone(model, optimizer, steps=4, before_step=lambda: None, after=lambda: None):
    """Makes the same steps with PyTorch alone, on the batches of all ranks."""
    for step in range(steps):
        optimizer.zero_grad()
        (sum(loss_of(model, step, rank) for rank in range(eave.size())) / eave.size()).backward()
        before_step()
        optimizer.step()
        after()


def is_close(model, other, tolerance=1e-5):
    return all(torch.allclose(mine, theirs, rtol=0, atol=tolerance)
               for mine, theirs in zip(model.parameters(), other.parameters()))
