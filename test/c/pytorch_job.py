"""A rank that trains a small network with PyTorch and each method of eave in turn, and checks the results.

    pytorch_job.py [--device cuda]       on the CPU unless told; the ranks, all of this machine, share out the GPUs

On a GPU each rank prints which one it uses, and checks steps in a stream other than PyTorch's default.
"""
import sys

import eave
import torch

ON_GPU = sys.argv[1:] == ["--device", "cuda"]
DEVICE = torch.device(f"cuda:{eave.rank() % torch.cuda.device_count()}" if ON_GPU else "cpu")
torch.backends.cudnn.allow_tf32 = False  # the tolerances in this file are for float32
SAMPLES, BATCH, STEPS = 240, 12, 60
METHODS = [("allreduce", {}), ("easgd", {"tau": 5}), ("easgd", {"tau": 5, "order": "after-step"}), ("local-sgd", {"tau": 5}),
           ("easgd-async", {"tau": 5})]


def make_model(seed):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3)).to(DEVICE)


def data():
    torch.manual_seed(1)
    x = torch.randn(SAMPLES, 8)
    return x.to(DEVICE), (x @ torch.randn(8, 3)).argmax(1).to(DEVICE)


def loss_of(model, x, y):
    return torch.nn.functional.cross_entropy(model(x), y)


def batch_of(step, rank, size, x, y):
    """Returns this rank's part of a step's BATCH samples."""
    chosen = torch.arange(step * BATCH, (step + 1) * BATCH) % SAMPLES
    mine = chosen[rank::size]
    return x[mine], y[mine]


def train(communicator, options, momentum, before_step=lambda: None):
    x, y = data()
    model = make_model(seed=eave.rank())  # eave gives all ranks rank 0's parameters
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=momentum)
    averager = eave.Averager(model, optimizer, communicator, **options)
    for step in range(STEPS):
        optimizer.zero_grad()
        before_step()
        loss_of(model, *batch_of(step, eave.rank(), eave.size(), x, y)).backward()
        averager.step()
    own = torch.nn.utils.parameters_to_vector(model.parameters()).detach().clone()
    with averager.consensus():
        consensus = torch.nn.utils.parameters_to_vector(model.parameters()).detach().clone()
        loss = loss_of(model.eval(), x, y).item()
    assert torch.equal(own, torch.nn.utils.parameters_to_vector(model.parameters())), "consensus() changed the model"
    averager.close()
    return consensus, loss


def train_alone(momentum):
    """Makes the same steps with whole batches and PyTorch alone."""
    x, y = data()
    model = make_model(seed=0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=momentum)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss_of(model, *batch_of(step, 0, 1, x, y)).backward()
        optimizer.step()
    return torch.nn.utils.parameters_to_vector(model.parameters()).detach()


def hold_same_everywhere(consensus, what):
    mine = consensus.double().cpu()
    mean = torch.tensor(eave.sum_over_ranks(mine.tolist()), dtype=torch.float64) / eave.size()
    assert torch.allclose(mean, mine, rtol=0, atol=1e-12), f"{what}: ranks have another consensus"


def convolve(is_averaged, **optimizer_options):
    """Makes ten steps of a convolution. Averaging begins after the fifth, when the optimizer already has momentum."""
    torch.manual_seed(2)
    x, y = torch.randn(4, 3, 6, 6).to(DEVICE), torch.randint(5, (4,)).to(DEVICE)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 5, 3), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()).to(DEVICE)
    if optimizer_options:
        model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9, **optimizer_options)
    for step in range(10):
        if is_averaged and step == 5:
            averager = eave.Averager(model, optimizer, "allreduce")
        optimizer.zero_grad()
        loss_of(model, x, y).backward()
        (averager if is_averaged and step >= 5 else optimizer).step()
    if is_averaged:
        averager.close()
    return model[0].weight.detach()


def hold_layout():
    """All ranks have the same batch, so averaging changes nothing."""
    weight = convolve(True, fused=True)
    assert weight.is_contiguous(memory_format=torch.channels_last), "channels_last is lost"
    assert torch.allclose(weight, convolve(False), rtol=0, atol=1e-5), "momentum and parameters lie in another order"


def hold_place():
    """If the model moves its parameters to other memory, eave takes them back; parameters of another type it refuses."""
    x, y = data()
    model = make_model(seed=0)
    averager = eave.Averager(model, torch.optim.SGD(model.parameters(), lr=0.2), "allreduce")
    model.double().float()
    loss_of(model, x, y).backward()
    averager.step()
    loss_of(model, x, y).backward()
    model.double()
    try:
        averager.step()
    except eave.Error as error:
        assert error.code == 64 and "model.to()" in str(error), error
    else:
        raise AssertionError("a model that has moved was averaged")
    averager.close()


def hold_stream():
    """Trains in a stream of its own, where a kernel of some milliseconds is ahead of each step's gradients."""
    usual, _ = train("allreduce", {}, 0.9)
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        own, _ = train("allreduce", {}, 0.9, lambda: torch.cuda._sleep(10_000_000))
    torch.cuda.synchronize()
    assert torch.allclose(usual, own, rtol=0, atol=1e-6), "a step did not wait for the gradients of its stream"


def main():
    if ON_GPU:
        torch.cuda.set_device(DEVICE)
        print(f"rank {eave.rank()} is on {DEVICE}", flush=True)
        hold_stream()
    hold_layout()
    hold_place()
    x, y = data()
    at_start = loss_of(make_model(seed=0), x, y).item()
    for momentum in (0.0, 0.9):
        for communicator, options in METHODS:
            consensus, loss = train(communicator, options, momentum)
            hold_same_everywhere(consensus, communicator)
            assert loss < 0.75 * at_start, f"{communicator}: loss {at_start:.3f} to {loss:.3f}"
            if communicator == "allreduce":  # the mean of the parts' gradients is the gradient of the whole batch
                assert torch.allclose(consensus, train_alone(momentum), rtol=0, atol=2e-5)
            if eave.rank() == 0:
                print(f"{eave.size()} ranks, {communicator}, momentum {momentum}, on {consensus.device}: loss {at_start:.3f} to {loss:.3f}")


try:
    main()
except eave.Error as error:
    if eave.rank() == 0:
        print(f"pytorch_job: {error}", file=sys.stderr)
    sys.exit(error.code)
