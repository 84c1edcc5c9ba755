"""A rank that counts what a step of eave.Averager does besides PyTorch's part of it, so that steps do not become dearer.

    pytorch_cost_job.py        each function hold_... is a case, on any number of ranks
"""
import contextlib
import gc
import resource
import sys

from pytorch_cases import eave, open_averager, run_cases, torch
from torch.utils._python_dispatch import TorchDispatchMode

LOCAL = [("none", {}), ("easgd", {"tau": 50}), ("local-sgd", {"tau": 50}), ("diloco", {"tau": 50})]
MOST_CALLS = 60  # of Python functions in a step, whatever the model
VALUES = 16_000_000  # parameters of the model whose memory is measured; malloc keeps no freed block of 32 MiB
SLACK = 0.5  # of 64 MB, for what else Python and eave allocate


class Count(TorchDispatchMode):
    """Lists the operations of PyTorch, each of which reads, copies or allocates tensors."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        self.names.append(str(function))
        return function(*arguments, **(options or {}))


def make(name, layers=3, **options):
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(torch.nn.Linear(8, 8) for _ in range(layers)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    return model, optimizer, open_averager(model, optimizer, name, **options)


def compute(model, optimizer):
    optimizer.zero_grad()
    model(torch.ones(2, 8)).square().mean().backward()


def operations_in(step):
    with Count() as count:
        step()
    return count.names


def operations_of_both(name, **options):
    """The operations of averager.step(), and those of the optimizer by itself."""
    model, optimizer, averager = make(name, **options)
    found = []
    for _ in range(3):
        compute(model, optimizer)
        found = operations_in(averager.step)
    averager.close()
    compute(model, optimizer)
    return found, operations_in(optimizer.step)


def hold_a_local_step_copies_and_allocates_no_tensor():
    for name, options in LOCAL:
        found, plain = operations_of_both(name, **options)
        assert found == plain, (name, len(found), len(plain), [each for each in found if each not in plain])


def hold_gradients_that_are_averaged_are_copied_by_the_library_alone():
    found, plain = operations_of_both("allreduce", overlap=False)
    assert found == plain, [each for each in found if each not in plain]


def hold_gradients_of_a_local_step_stay_where_they_are():
    for name, options in LOCAL:
        model, optimizer, averager = make(name, **options)
        compute(model, optimizer)
        before = [(id(each.grad), each.grad.data_ptr(), each.grad.clone()) for each in model.parameters()]
        averager.step()
        assert all(id(each.grad) == number and each.grad.data_ptr() == place and torch.equal(each.grad, values)
                   for each, (number, place, values) in zip(model.parameters(), before)), name


def hold_a_step_makes_three_calls_of_the_library():
    for name, options in [*LOCAL, ("allreduce", {"overlap": False})]:
        model, optimizer, averager = make(name, **options)
        called, call = [], averager._call
        averager._call = lambda name, *arguments: (called.append(name), call(name, *arguments))
        for _ in range(3):
            compute(model, optimizer)
            averager.step()
        assert called == 3 * ["begin_step", "before_update_from", "after_update"], (name, called)


def calls_of_python(layers):
    """How many functions of Python the Averager's part of a step calls."""
    model, optimizer, averager = make("none", layers)
    optimizer.step = lambda: None
    calls = 0

    def count(frame, event, _):
        nonlocal calls
        calls += event == "call"

    for _ in range(3):
        compute(model, optimizer)
        calls = 0
        gc.disable()  # it may call functions of its own
        sys.setprofile(count)
        averager.step()
        sys.setprofile(None)
        gc.enable()
    averager.close()
    return calls


def hold_the_number_of_python_calls_does_not_grow_with_the_model():
    small, large = calls_of_python(3), calls_of_python(33)
    assert small == large <= MOST_CALLS, (small, large)


def peak_after(name, **options):
    """The most memory that this process has had so far, after steps of a large model; name None: of PyTorch by itself."""
    gc.collect()
    side = int(VALUES**0.5)
    model = torch.nn.Linear(side, side, bias=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, fused=True)
    with eave.Averager(model, optimizer, name, **options) if name else contextlib.nullcontext() as averager:
        for _ in range(4):
            optimizer.zero_grad()
            model(torch.ones(2, side)).square().mean().backward()
            (averager or optimizer).step()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / (4 * side * side)


def hold_memory_is_that_of_pytorch_and_of_the_methods_vectors():
    """In vectors of the parameters' size: one for the consensus or for gradients that are averaged, and those that the
    method's card names. The methods that take most come last. With several ranks there is the transport's memory too."""
    if eave.size() > 1:
        return
    plain = peak_after(None)
    for name, options, vectors in (("none", {}, 1), ("allreduce", {}, 1), ("easgd", {"tau": 2}, 3)):
        more = peak_after(name, **options) - plain
        assert more <= vectors + SLACK, (name, more)


run_cases(globals())
