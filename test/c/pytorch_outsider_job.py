"""A rank that uses eave.Averager in ways that its documents do not show. Each case works, or is refused by name.

    pytorch_outsider_job.py        each function hold_... is a case, on any number of ranks
"""
import contextlib
import inspect
import io
import math
import os
import pickle
import threading
import time
from unittest import mock

from pytorch_cases import all_ranks_of_gloo, eave, is_same_everywhere, open_averager, refused, run_cases, torch

MOMENTUM = (torch.optim.SGD, {"lr": 0.05, "momentum": 0.9})


def network(seed=None):
    torch.manual_seed(eave.rank() if seed is None else seed)
    return torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.BatchNorm1d(6), torch.nn.Tanh(), torch.nn.Linear(6, 3))


def make(communicator="allreduce", kind=MOMENTUM, model=None, **options):
    model = model or network()
    optimizer = kind[0](model.parameters(), **kind[1])
    return model, optimizer, open_averager(model, optimizer, communicator, **options)


def batch(step):
    return torch.randn(8, 4, generator=torch.Generator().manual_seed(10 * step + eave.rank()))


def take_steps(model, optimizer, averager, steps=3):
    for step in range(steps):
        optimizer.zero_grad()
        model(batch(step)).square().mean().backward()
        averager.step()


def hold_a_model_that_is_not_finite_at_the_start_is_refused_by_name():
    for bad in (math.inf, -math.inf, math.nan):
        model = network()
        with torch.no_grad():
            model[3].weight[1, 2] = bad if eave.rank() == 0 else 0
        refused("parameter '3.weight' of rank 0, with which all ranks begin, is not finite before the first step",
                lambda: make(model=model))
    model = network()
    with torch.no_grad():
        model[3].weight[1, 2] = math.nan if eave.rank() > 0 else 0
    model, optimizer, averager = make(model=model)  # all ranks have rank 0's parameters now
    take_steps(model, optimizer, averager)
    assert is_same_everywhere(model.parameters())


def hold_a_second_averager_of_a_model_is_refused():
    model, optimizer, averager = make()
    refused("parameter '0.weight' belongs to an Averager that is open", lambda: make(model=model))
    refused("parameter 'weight' belongs to an Averager that is open", lambda: make(model=model[0]))
    take_steps(model, optimizer, averager)
    averager.close()
    model, optimizer, averager = make("easgd", model=model, tau=1)
    take_steps(model, optimizer, averager)


def hold_a_closed_averager_says_so_and_keeps_what_it_counted():
    model, optimizer, averager = make()
    optimizer.zero_grad()
    model(batch(0)).sum().backward()
    averager.step(loss_sum=math.nan if eave.rank() == eave.size() - 1 else 0.0)
    take_steps(model, optimizer, averager)
    before = averager.description, averager.spent, averager.steps_left_out
    averager.close()
    averager.close()
    for call in (averager.begin_step, averager.step, averager.consensus().__enter__):
        refused("this averager is closed", call)
    assert (averager.description, averager.spent, averager.steps_left_out) == before and before[2] == 1


def hold_an_exception_within_the_optimizer_is_told_at_the_next_call():
    class Broken(Exception):
        pass

    def fail(*_):
        raise Broken

    model, optimizer, averager = make()
    take_steps(model, optimizer, averager, 1)
    hook = optimizer.register_step_pre_hook(fail)
    try:
        take_steps(model, optimizer, averager, 1)
        raise AssertionError("no exception")
    except Broken:
        hook.remove()
    refused("an exception has ended the step before", averager.step)
    refused("an exception has ended the step before", averager.consensus().__enter__)


def hold_counts_of_samples_are_whole_numbers_that_fit():
    model, optimizer, averager = make()
    for samples in (1.5, math.nan, -1, 2**70, "8"):
        refused("expected a whole number", lambda: averager.begin_step(samples, 16))
    averager.begin_step(torch.tensor(8), 8 * eave.size())
    model(batch(0)).sum().backward()
    averager.step()


def hold_a_consensus_within_a_step_is_refused():
    model, optimizer, averager = make()
    model(batch(0)).sum().backward()
    refused("consensus within a step", averager.consensus().__enter__)
    averager.step()


def hold_a_forgotten_step_is_told_with_the_line_that_computed():
    model, optimizer, averager = make()
    line = inspect.currentframe().f_lineno + 1
    model(batch(0)).sum().backward()
    for call in (averager.begin_step, averager.consensus().__enter__):
        refused(f"the model has computed in train mode at line {line} of pytorch_outsider_job.py, and no averager.step() has "
                "followed", call)
    averager.step()
    averager.close()


def hold_a_block_closes_and_gives_the_model_back():
    model = network()
    for leaving in (None, KeyError, eave.Error):  # all ranks leave alike
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        try:
            with eave.Averager(model, optimizer, "easgd", tau=2) as averager:
                take_steps(model, optimizer, averager)
                if leaving is KeyError:
                    raise KeyError
                if leaving is eave.Error:
                    optimizer.step()
        except (KeyError, eave.Error) as error:
            assert type(error) is leaving, error
        refused("this averager is closed", averager.step)
        model(batch(0)).sum().backward()
        optimizer.step()


def hold_a_model_in_eval_mode_trains_with_and_without_begin_step():
    for begins in (False, True):
        model, optimizer, averager = make()
        model.eval()
        refused("computed nothing", averager.step)
        for step in range(2):
            optimizer.zero_grad()
            if begins:
                averager.begin_step()
            model(batch(step)).sum().backward()
            averager.step()
            refused("computed nothing", averager.step)
        assert is_same_everywhere(model.parameters())
        averager.close()


def hold_a_model_that_averages_itself_over_all_ranks_is_refused():
    with all_ranks_of_gloo():
        refused("DistributedDataParallel", lambda: make(model=torch.nn.parallel.DistributedDataParallel(network())))
        model = network()
        torch.distributed._composable.replicate(model)
        refused("the model is under replicate()", lambda: make(model=model))


def hold_groups_of_other_parameters_on_ranks_are_refused():
    model = network()
    first, second = (model[0].parameters(), model[3].parameters())[::1 if eave.rank() == 0 else -1]
    optimizer = torch.optim.SGD([{"params": first}, {"params": second, "lr": 0.5}], lr=0.1)
    if eave.size() > 1:
        refused("group 0 of 2 parameters", lambda: eave.Averager(model, optimizer), code=78)


def hold_parameters_without_elements_are_no_hindrance():
    model = network()
    model.register_parameter("empty", torch.nn.Parameter(torch.zeros(0, 3)))
    model, optimizer, averager = make(model=model)
    take_steps(model, optimizer, averager)
    assert is_same_everywhere(model.parameters())
    averager.close()
    empty = torch.nn.Module()
    empty.values = torch.nn.Parameter(torch.zeros(0))
    refused("without parameters", lambda: make(model=empty))


def hold_buffers_whose_elements_share_memory_take_the_values_of_rank_0():
    model = network()
    model.register_buffer("expanded", torch.full((3, 1), eave.rank() + 0.5).expand(3, 4))
    model.register_buffer("unknown", torch.full((1,), math.nan if eave.rank() == 0 else 1.0).expand(2))
    model.register_buffer("scalar", torch.tensor(eave.rank()))
    make(model=model)
    assert torch.equal(model.expanded, torch.full((3, 4), 0.5)) and model.expanded.stride() == (1, 0)
    assert model.unknown.isnan().all() and int(model.scalar) == 0


def hold_buffers_that_cannot_take_the_values_of_rank_0_are_refused_on_all_ranks():
    if eave.size() == 1:
        return
    for of_rank_1 in (torch.zeros(1).expand(3), torch.zeros(4).as_strided((3, 2), (1, 1))):
        model = network()
        model.register_buffer("shared", of_rank_1 if eave.rank() == 1 else torch.rand(of_rank_1.shape))
        refused("rank 1: 'shared' differs from rank 0's, and its elements share memory", lambda: make(model=model))
    model = network()
    model.register_buffer("shared", (torch.zeros if eave.rank() else torch.ones)(3, device="meta" if eave.rank() else "cpu"))
    refused("rank 1: 'shared' is neither trained nor a dense tensor", lambda: make(model=model))


def hold_other_layouts_rates_and_modes_train_the_same_on_all_ranks():
    transposed = network()
    transposed[0].weight = torch.nn.Parameter(torch.randn(4, 6).t())
    whole = torch.nn.Sequential(network())
    whole.register_parameter("whole", torch.nn.Parameter(torch.ones(3, dtype=torch.int64), requires_grad=False))
    for model, kind in ((transposed, (torch.optim.Adam, {"lr": 0.1})), (whole, MOMENTUM),
                        (network(), (torch.optim.Adam, {"lr": torch.tensor(0.1)}))):
        model, optimizer, averager = make(model=model, kind=kind)
        take_steps(model, optimizer, averager)
        optimizer.zero_grad()
        for part in range(3):  # gradients add up
            model(batch(part)).square().mean().backward()
        with torch.no_grad():
            averager.step()
        assert is_same_everywhere(model.parameters())
        averager.close()


def hold_a_parameter_that_one_rank_freezes_is_moved_on_all():
    model, optimizer, averager = make()
    take_steps(model, optimizer, averager)
    model[0].weight.requires_grad_(eave.rank() == 0)
    take_steps(model, optimizer, averager)
    assert is_same_everywhere(model.parameters())


def hold_compiled_models_train_by_either_name_without_a_break_of_the_graph():
    def compile_in_place(model):
        model.compile(backend="eager", fullgraph=True)
        return model

    def compile_beside(model):
        return torch.compile(model, backend="eager", fullgraph=True)

    for communicator, options in (("allreduce", {}), ("easgd", {"tau": 1})):
        for prepare in (compile_in_place, compile_beside):
            for is_given_compiled in (False, True):
                model = network()
                compiled = prepare(model) if is_given_compiled else None
                _, optimizer, averager = make(communicator, model=compiled or model, **options)
                take_steps(compiled or prepare(model), optimizer, averager)
                with averager.consensus():
                    assert is_same_everywhere(model.parameters())
                averager.close()


def hold_another_thread_may_train():
    model, optimizer, averager = make()
    failures = []

    def train():
        try:
            take_steps(model, optimizer, averager)
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    assert not failures, failures
    assert is_same_everywhere(model.parameters())


def hold_a_step_while_another_thread_is_within_a_call_is_refused():
    model, optimizer, averager = make()
    library, refusals = eave._library.job.library, []
    sum_of_library = library.eave_sum

    def begin():
        try:
            averager.begin_step()
        except eave.Error as error:
            refusals.append(str(error))

    def sum_slowly(*arguments):
        thread = threading.Thread(target=begin)
        thread.start()
        thread.join()
        return sum_of_library(*arguments)

    with mock.patch.object(library, "eave_sum", sum_slowly):
        eave.sum_over_ranks([1.0])
    assert len(refusals) == 1 and "let one thread make all calls" in refusals[0], refusals
    take_steps(model, optimizer, averager)


class OfComplexNumbers(torch.nn.Module):
    """PyTorch gives one of its parameters a gradient with the wrong sign in memory, and a bit that says so."""

    def __init__(self, shape):
        super().__init__()
        self.real, self.imaginary = (torch.nn.Parameter(torch.full(shape, value)) for value in (1.0, 2.0))

    def forward(self):
        return (torch.complex(self.real.squeeze(), self.imaginary.squeeze()).conj() * (3 + 1j)).imag


def hold_a_gradient_whose_sign_is_pending_counts_with_it():
    for shape in ((), (1,)):
        for communicator, options in (("allreduce", {}), ("allreduce", {"overlap": False}), ("mdownpour", {})):
            alone = OfComplexNumbers(shape)
            plain = torch.optim.SGD(alone.parameters(), lr=0.25)
            model, optimizer, averager = make(communicator, (torch.optim.SGD, {"lr": 0.25}), OfComplexNumbers(shape), **options)
            for _ in range(3):
                plain.zero_grad()
                alone().backward()
                assert alone.imaginary.grad.is_neg()
                plain.step()
                optimizer.zero_grad()
                model().backward()
                averager.step()
            if communicator == "allreduce":
                assert all(map(torch.equal, model.parameters(), alone.parameters())), (shape, options)
            else:
                with averager.consensus():
                    assert torch.sign(model.imaginary - 2) == torch.sign(alone.imaginary - 2), model.imaginary
            averager.close()


def hold_exceptions_of_eave_come_through_a_pickle():
    """As multiprocessing hands them over: a Pool waits for ever for one that does not."""
    error = pickle.loads(pickle.dumps(eave.Error(78, "of all", is_shared=True)))
    assert (type(error), str(error), error.code, error.is_shared) == (eave.Error, "of all", 78, True)
    assert pickle.loads(pickle.dumps(eave.Leaving())).code == 75


def hold_a_fork_is_no_part_of_the_job_and_does_not_hang():
    model, optimizer, averager = make()
    child = os.fork()
    if child == 0:
        try:
            averager.begin_step()
        except eave.Error as error:
            os._exit(0 if error.code == 64 and "fork" in str(error) else 3)
        os._exit(4)
    end = time.monotonic() + 20
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < end:
        time.sleep(0.05)
    assert ended == (child, 0), ended
    dataset = torch.utils.data.TensorDataset(torch.randn(32, 4))
    for x, in torch.utils.data.DataLoader(dataset, 8, num_workers=1):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        averager.step()
    assert is_same_everywhere(model.parameters())


def hold_other_things_than_a_model_and_an_optimizer_are_refused():
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    for pair, words in (((None, optimizer), "found NoneType and SGD"), ((optimizer, model), "in the wrong order"),
                        ((model, scheduler), "scheduler.optimizer"), ((model.parameters(), optimizer), "expected a torch.nn.Module")):
        refused(words, lambda: eave.Averager(*pair, "allreduce"))


def hold_a_loop_without_any_averager_step_is_warned_of():
    for steps in (0, 1):
        model, optimizer, averager = make()
        take_steps(model, optimizer, averager) if steps else None
        model(batch(0)).sum().backward()
        with contextlib.redirect_stderr(io.StringIO()) as told:
            averager.close()
        is_told = "averager.step() was never called" in told.getvalue()
        assert is_told == (steps == 0 and eave.rank() == 0), told.getvalue()


def hold_an_exception_within_consensus_puts_the_model_back():
    model, optimizer, averager = make("easgd", tau=1)
    take_steps(model, optimizer, averager)
    before = model[0].weight.clone()
    try:
        with averager.consensus():
            raise KeyError
    except KeyError:
        pass
    assert torch.equal(model[0].weight, before)
    take_steps(model, optimizer, averager)


def hold_a_plug_in_averages_gradients():
    """The example sign_vote.cpp takes gradients in before_update only. A vote stands for a gradient of 0.5."""
    if "SIGN_VOTE" not in os.environ:
        return
    model = torch.nn.Linear(2, 1, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.25)
    averager = open_averager(model, optimizer, "sign-vote", plugin=os.environ["SIGN_VOTE"], vote_scale=0.5)
    before = model.weight.detach().clone()
    for loss in (1.0, math.nan, 1.0):
        x = torch.tensor([3.0, -1.0 if eave.rank() == 0 else -2.0])
        (model(x).sum() * (loss if eave.rank() == 0 else 1.0)).backward()
        averager.step()
        optimizer.zero_grad()
    assert averager.steps_left_out == 1
    assert torch.allclose(model.weight, before - 2 * 0.25 * 0.5 * torch.tensor([1.0, -1.0])), (model.weight, before)
    assert is_same_everywhere([model.weight])


run_cases(globals())
