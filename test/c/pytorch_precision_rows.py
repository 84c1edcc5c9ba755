"""Rows of pytorch_matrix_job.py about types of numbers: AMP, bfloat16 and float16, and those that a checkpoint holds."""
import collections
import copy
import enum
import math
import sys
import types
import warnings
from unittest import mock

from pytorch_cases import eave, folder_of_all_ranks, is_same_everywhere, open_averager, refused, torch
from pytorch_models import LOCAL, is_close, loss_of, network, take_steps, train_alone


def hold_a_grad_scaler_steps_the_averager():
    """In each order of calls the steps are those of float32 without a scaler; a step that overflows is left out on all."""
    def unscale(of):
        return lambda scaler, optimizer, averager: scaler.unscale_(averager if of == "averager" else optimizer)

    def average_first(scaler, optimizer, averager):
        averager.average_gradients()

    def unscale_and_average(scaler, optimizer, averager):
        scaler.unscale_(optimizer)
        averager.average_gradients()

    alone = network(0)
    train_alone(alone, torch.optim.SGD(alone.parameters(), lr=0.1))
    for between in (lambda *_: None, unscale("averager"), unscale("optimizer"), average_first, unscale_and_average):
        model = network()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        averager = open_averager(model, optimizer)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        for step in (0, 1, 7, 2, 3):
            optimizer.zero_grad()
            scaler.scale(loss_of(model, step) * (math.inf if step == 7 and eave.rank() == eave.size() - 1 else 1)).backward()
            between(scaler, optimizer, averager)
            scaler.step(averager)
            scaler.update()
        assert averager.steps_left_out == 1 and is_close(model, alone), between
        assert scaler.get_scale() == 512.0, scaler.get_scale()  # on all ranks
        averager.close()


def hold_autocast_trains():
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    averager = open_averager(model, optimizer)
    with torch.autocast("cpu", torch.bfloat16):
        loss = loss_of(model, 0)
    loss.backward()
    averager.step()
    assert is_same_everywhere(model.parameters()) and model[0].weight.dtype == torch.float32


class Float(torch.nn.Module):
    def forward(self, x):
        return x.float()


def hold_bf16_and_mixed_types_train_in_their_own_type():
    """With the same batches on all ranks, the bits are those of PyTorch alone."""
    for communicator, options in (("allreduce", {}), LOCAL):
        alone, model = network(0).bfloat16(), network().bfloat16()
        for each in (alone, model):
            each[3].float()
            each.insert(3, Float())
        optimizer_alone, optimizer = (torch.optim.AdamW(each.parameters(), lr=0.01) for each in (alone, model))
        averager = open_averager(model, optimizer, communicator, **options)
        for step in range(6):
            for of, its, stepping in ((alone, optimizer_alone, optimizer_alone), (model, optimizer, averager)):
                its.zero_grad()
                loss_of(of, step, rank=0).backward()
                stepping.step()
        if eave.size() <= 2:
            assert all(torch.equal(mine, theirs) for mine, theirs in zip(model.parameters(), alone.parameters())), communicator
        own = [each.clone() for each in model.parameters()]
        with averager.consensus():
            assert is_same_everywhere(model.parameters()) and model[0].weight.dtype == torch.bfloat16
        assert all(torch.equal(mine, before) for mine, before in zip(model.parameters(), own))
        averager.close()


def hold_master_weights_keep_steps_that_bf16_rounds_away():
    masters, own = network(0).bfloat16(), network(0).bfloat16()
    full = network(0).bfloat16().float()  # the same start
    for model, options in ((masters, {"master_weights": True}), (own, {}), (full, {})):
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.5)
        averager = open_averager(model, optimizer, **options)
        start = [each.clone() for each in model.parameters()]
        for step in range(60):
            optimizer.zero_grad()
            loss_of(model, 0).backward()
            averager.step()
            if step == 30:
                optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        assert is_same_everywhere(model.parameters())
        if model is own:
            is_large = start[0].abs() > 0.25
            assert is_large.any() and torch.equal(model[0].weight[is_large], start[0][is_large])  # each step is rounded away
        averager.close()
    assert not torch.equal(masters[0].weight[is_large], own[0].weight[is_large])
    assert is_close(masters.float(), full, 4e-3)  # half a unit in the last place of bf16 at 1
    assert optimizer.param_groups[0]["params"][0] is full[0].weight


def hold_gradients_of_create_graph_train_as_others():
    """In bf16, by a scaler, and in another layout than the parameter's, where eave copies them."""
    for communicator, options in (("allreduce", {}), LOCAL):
        trained = []
        for has_graph in (False, True):
            model = network().bfloat16()
            model[3].float()
            model.insert(3, Float())
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            averager = open_averager(model, optimizer, communicator, **options)
            scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
            for step in range(4):
                optimizer.zero_grad()
                with warnings.catch_warnings(action="ignore"):  # of a cycle between parameters and gradients
                    scaler.scale(loss_of(model, step)).backward(create_graph=has_graph)
                model[4].weight.grad = model[4].weight.grad.t().contiguous().t()
                scaler.step(averager)
                scaler.update()
            trained.append([each.detach().clone() for each in model.parameters()])
            averager.close()
        assert all(map(torch.equal, *trained)), communicator


def hold_a_change_of_bf16_between_steps_is_taken_with_master_weights():
    model = network().bfloat16()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    averager = open_averager(model, optimizer, master_weights=True)
    take_steps(model, optimizer, averager)
    with torch.no_grad():
        model[0].weight.fill_(0.5)
    take_steps(model, optimizer, averager)
    assert torch.allclose(model[0].weight.float(), torch.full((6, 4), 0.5), atol=0.01)


def make_with_masters(kind, seed=None):
    model = network(seed).to(kind)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    return model, optimizer, open_averager(model, optimizer, master_weights=True)


def hold_master_weights_go_on_with_the_same_bits():
    """The optimizer's state stays float32 in what is saved and in what is loaded."""
    with folder_of_all_ranks() as folder:
        for kind in (torch.float16, torch.bfloat16):
            model, optimizer, averager = make_with_masters(kind)
            take_steps(model, optimizer, averager)
            averager.save(folder / str(kind))
            saved = copy.deepcopy((model.state_dict(), optimizer.state_dict(), averager.state_dict()))
            assert all(each.dtype == torch.float32 for state in saved[1]["state"].values() for each in state.values())
            take_steps(model, optimizer, averager)
            expected = averager._vector.values.clone()
            averager.close()
            for by_files_of_ranks in (False, True):
                model, optimizer, averager = make_with_masters(kind, seed=7)
                if by_files_of_ranks:
                    for each, state in zip((model, optimizer, averager), saved):
                        each.load_state_dict(state)
                else:
                    averager.load(folder / str(kind))
                assert optimizer.param_groups[0]["params"][0] is model[0].weight
                take_steps(model, optimizer, averager)
                assert torch.equal(averager._vector.values, expected), (kind, by_files_of_ranks)
                averager.close()


def hold_a_state_that_cannot_be_loaded_leaves_the_optimizer_its_parameters():
    model, optimizer, averager = make_with_masters(torch.bfloat16)
    state = optimizer.state_dict()
    for wrong in ({**state, "param_groups": []}, state):
        try:
            optimizer.load_state_dict(wrong)
        except ValueError:
            assert wrong is not state
        take_steps(model, optimizer, averager, 1)
        assert optimizer.param_groups[0]["params"][0] is model[0].weight


class Scaled(torch.nn.Module):
    """Its gradients are what it computes with, whatever its parameters are."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(3, dtype=torch.float16))

    def forward(self, x):
        return (self.weight.float() * x).sum()


def hold_a_scaler_divides_gradients_of_master_weights_in_float32():
    gradients = torch.tensor([2e-8, 4e-8, 1e-6])  # float16 knows no number between 0 and 6e-8
    for between in (lambda averager: None, lambda averager: averager.average_gradients()):
        for communicator, options in (("allreduce", {}), LOCAL):
            model = Scaled()
            optimizer = torch.optim.SGD(model.parameters(), lr=1e6)
            averager = open_averager(model, optimizer, communicator, master_weights=True, **options)
            scaler = torch.amp.GradScaler("cpu", init_scale=65536.0)
            for _ in range(2):
                optimizer.zero_grad()
                scaler.scale(model(gradients)).backward()
                between(averager)
                scaler.step(averager)
                scaler.update()
            assert torch.allclose(averager._vector.values, -2e6 * gradients, rtol=1e-3), averager._vector.values
            averager.close()


def hold_a_scaler_of_float16_without_master_weights_is_refused():
    model = Scaled()
    averager = open_averager(model, torch.optim.SGD(model.parameters(), lr=1.0))
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(model(torch.ones(3))).backward()
    refused("master_weights=True", lambda: scaler.step(averager))
    averager.step()


def hold_a_refused_step_of_a_scaler_can_be_taken_again():
    def within_consensus(optimizer, averager, scaler):
        averager._is_evaluating = True
        refused("step within consensus()", lambda: scaler.step(averager))
        averager._is_evaluating = False

    def late_rate(optimizer, averager, scaler):
        optimizer.param_groups[0]["lr"] = 0.2
        refused("was set after the step began", lambda: scaler.step(averager))
        optimizer.param_groups[0]["lr"] = 0.1

    def sparse(optimizer, averager, scaler):
        weight = optimizer.param_groups[0]["params"][2]
        weight.grad = weight.grad.to_sparse()
        refused("is sparse", lambda: scaler.step(averager))
        weight.grad = weight.grad.to_dense()

    trained = []
    for refuse in (None, within_consensus, late_rate, sparse):
        model = network()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        averager = open_averager(model, optimizer)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        with averager.join():
            for step in range(3):
                optimizer.zero_grad()
                (model.eval() if refuse is within_consensus else model.train())
                scaler.scale(loss_of(model, step)).backward()
                if refuse:
                    refuse(optimizer, averager, scaler)
                    assert not {"grad_scale", "found_inf"} & set(vars(averager))
                scaler.step(averager)
                scaler.update()
        trained.append([each.detach().clone() for each in model.parameters()])
        assert all(torch.equal(*pair) for pair in zip(trained[0], trained[-1])), refuse
        averager.close()


def make_with_norm():
    model = network(norm=lambda: torch.nn.BatchNorm1d(6))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    return model, optimizer, open_averager(model, optimizer)


class FakeNumber:
    """numpy.generic, from which the numbers of NumPy come."""

    def item(self):
        return self.value


class FakeFloat(FakeNumber, float):
    value = 0.125


class Color(enum.IntEnum):
    RED = 3


def hold_numbers_of_other_classes_are_saved_as_those_of_python():
    with folder_of_all_ranks() as folder:
        model, optimizer, averager = make_with_norm()
        optimizer.param_groups[0]["lr"] = FakeFloat(0.125)
        take_steps(model, optimizer, averager)
        state = model.state_dict()
        with mock.patch.dict(sys.modules, numpy=types.SimpleNamespace(generic=FakeNumber)):
            averager.save(folder, colors={Color.RED: [Color.RED]}, model=state)
        averager.close()
        model, optimizer, averager = make_with_norm()
        extra = averager.load(folder)
        assert type(optimizer.param_groups[0]["lr"]) is float and optimizer.param_groups[0]["lr"] == 0.125
        assert extra["colors"] == {3: [3]} and {type(each) for each in (*extra["colors"], *extra["colors"][3])} == {int}
        assert extra["model"]._metadata == state._metadata and all(map(torch.equal, extra["model"].values(), state.values()))


def hold_what_could_not_be_loaded_is_not_saved():
    with folder_of_all_ranks() as folder:
        model, optimizer, averager = make_with_norm()
        take_steps(model, optimizer, averager)
        counts = collections.defaultdict(int, a=1) if eave.rank() == 0 else {"a": 1}
        refused("extra['best'][1] is of type defaultdict, which load() cannot read",
                lambda: averager.save(folder, best=[1, counts]))
        refused("a key of extra['best'] is of type Point",
                lambda: averager.save(folder, best={collections.namedtuple("Point", "x")(1): 1}))
        optimizer.param_groups[0]["pick"] = lambda group: group
        refused("save: optimizer['param_groups'][0]['pick'] is of type function", lambda: averager.save(folder))
        assert not list(folder.iterdir())
