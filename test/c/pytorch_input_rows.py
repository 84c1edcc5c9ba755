"""Rows of pytorch_matrix_job.py about what people do unusually: it works, or all ranks get one message."""
import contextlib
import copy
import io
import math
import os
import pickle
import types
import warnings
from unittest import mock

from pytorch_cases import (all_ranks_of_gloo, eave, folder_of_all_ranks, is_same_everywhere, open_averager, refused, run_cases,
                           torch)
from pytorch_models import LOCAL, batch, is_close, loss_of, network, take_steps, train_alone

EVERY = (("allreduce", {}), ("easgd", {"tau": 1}), LOCAL)


def make(model, communicator="allreduce", **options):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return optimizer, open_averager(model, optimizer, communicator, **options)


def refused_by_all(words, call, code=64):
    """All ranks raise the same Error, so that none waits, and only rank 0 prints it."""
    try:
        call()
    except eave.Error as error:
        assert error.code == code and words in str(error) and (error.is_shared or eave.size() == 1), str(error)
    else:
        raise AssertionError(f"not refused: {words}")


def hold_a_forward_of_a_submodule_trains():
    for communicator, options in EVERY:
        model = network()
        optimizer, averager = make(model, communicator, **options)
        for step in range(3):
            optimizer.zero_grad()
            model[0](batch(step)).square().mean().backward()
            averager.step()
        with averager.consensus():
            assert is_same_everywhere(model.parameters())
        averager.close()


def hold_a_gradient_that_the_optimizer_does_not_clear_ends_no_job():
    """That of a parameter which requires one, and which the optimizer does not have."""
    for communicator, options in (("allreduce", {}), LOCAL):
        model = network()
        optimizer = torch.optim.SGD(model[3].parameters(), lr=0.05)
        averager = open_averager(model, optimizer, communicator, nonfinite_limit=3, **options)
        for step in range(8):
            optimizer.zero_grad()
            (model(batch(step)).square().mean() * (math.nan if step == 2 else 1)).backward()
            averager.step()
        assert averager.steps_left_out == 1 and all(torch.isfinite(each).all() for each in model.parameters()), communicator
        averager.close()


def hold_a_change_of_data_between_steps_is_averaged_from():
    """New memory for a parameter trains as new values in the old memory do."""
    for communicator, options in EVERY:
        trained = []
        for has_new_memory in (False, True):
            model = network()
            optimizer, averager = make(model, communicator, **options)
            take_steps(model, optimizer, averager)
            values = torch.linspace(-1, 1, 24).view(4, 6).t()  # another layout, too
            if has_new_memory:
                model[0].weight.data = values.clone()
            else:
                model[0].weight.data.copy_(values)
            take_steps(model, optimizer, averager)
            with averager.consensus():
                trained.append([each.detach().clone() for each in model.parameters()])
            averager.close()
        assert all(torch.equal(*pair) for pair in zip(*trained)), communicator


def swap(model, values):
    """Puts these values in the place of the parameters, and returns those that were there, as code that keeps a moving average
    of a model does."""
    before = [each.data for each in model.parameters()]
    for each, value in zip(model.parameters(), values):
        each.data = value
    return before


def hold_a_moving_average_that_is_put_in_for_a_while_does_not_change_the_training():
    for communicator, options in EVERY:
        for kind in (torch.float32, torch.bfloat16):
            trained = []
            for is_swapped in (False, True):
                model = network().to(kind)
                optimizer, averager = make(model, communicator, master_weights=kind != torch.float32, **options)
                take_steps(model, optimizer, averager)
                for step in range(2):
                    average = [torch.full_like(each, 0.5) for each in model.parameters()]
                    own = swap(model, average) if is_swapped else None
                    look_and_save(averager, model, 0.5 if is_swapped and communicator == "allreduce" else None)
                    if is_swapped:
                        assert all(each.data_ptr() == value.data_ptr() for each, value in zip(model.parameters(), average))
                        assert all((each == 0.5).all() for each in model.parameters())
                        swap(model, own)
                    take_steps(model, optimizer, averager)
                with averager.consensus():
                    trained.append([each.detach().clone() for each in model.parameters()])
                averager.close()
            assert all(torch.equal(*pair) for pair in zip(*trained)), (communicator, kind)


def look_and_save(averager, model, value):
    """Does between two steps what may follow them. The consensus has this value, if there is one."""
    with averager.consensus():
        assert value is None or all((each == value).all() for each in model.parameters())
    for hold in averager._models_to_score():
        with hold():
            pass
    averager.state_dict()
    with folder_of_all_ranks() as folder:
        averager.save(folder / "run")
    refused("computed nothing", averager.step)


def hold_a_moving_average_within_the_consensus_is_put_back():
    """In whatever order the program and the block end."""
    for inner in (False, True):
        model = network()
        optimizer, averager = make(model)
        take_steps(model, optimizer, averager)
        before = [each.detach().clone() for each in model.parameters()]
        with averager.consensus():
            own = swap(model, [torch.full_like(each, 0.5) for each in model.parameters()])
            if inner:
                swap(model, own)
        if not inner:
            swap(model, own)
        assert all(torch.equal(*pair) for pair in zip(model.parameters(), before)), inner
        averager.close()


def hold_models_that_cannot_be_averaged_are_refused_on_all_ranks():
    if eave.size() == 1:
        return
    model = network().double() if eave.rank() == 1 else network()
    refused_by_all("rank 1: parameter '0.weight' (float64", lambda: make(model))
    model = network().bfloat16() if eave.rank() == 1 else network()
    refused_by_all("torch.bfloat16", lambda: make(model), code=78)
    model = network()
    optimizer = (torch.optim.LBFGS if eave.rank() == 0 else torch.optim.SGD)(model.parameters(), lr=0.1)
    refused_by_all("rank 0: LBFGS", lambda: eave.Averager(model, optimizer))


def hold_other_versions_on_a_rank_are_refused():
    if eave.size() == 1:
        return
    with mock.patch.object(torch, "__version__", "2.14.1" if eave.rank() == 1 else "2.15.0+cpu"):
        refused_by_all("PyTorch 2.15.0, rank 1 eave", lambda: make(network()), code=78)


def hold_an_optimizer_that_needs_a_closure_is_refused_by_name():
    class Searching(torch.optim.Optimizer):
        def __init__(self, parameters):
            super().__init__(parameters, {"lr": 0.1})

        def step(self, closure):
            return closure()

    model = network()
    refused_by_all("Searching.step() needs a closure", lambda: eave.Averager(model, Searching(model.parameters())))
    refused_by_all("LBFGS", lambda: eave.Averager(model, torch.optim.LBFGS(model.parameters())))


def hold_a_sharded_model_is_refused_by_name():
    with all_ranks_of_gloo():
        model = network()
        mesh = torch.distributed.init_device_mesh("cpu", (eave.size(),))
        torch.distributed.fsdp.fully_shard(model, mesh=mesh)
        refused_by_all("sharded by FSDP", lambda: make(model))


def hold_what_is_no_number_name_or_state_is_refused_in_words():
    model = network()
    optimizer, averager = make(model)
    loss_of(model, 0).backward()
    refused("step: loss_sum: expected a number, found 'tensor([1., 1.])'", lambda: averager.step(torch.ones(2)))
    with warnings.catch_warnings(action="error"):  # PyTorch would warn of a tensor that requires a gradient
        averager.step(loss_of(model, 0))
    for values in (0.5, torch.tensor(1.0), ["x"]):
        refused("expected a list of numbers", lambda: eave.sum_over_ranks(values))
    refused("expected what averager.state_dict() returned", lambda: averager.load_state_dict(None))
    refused("is a file", lambda: averager.load(__file__))
    averager.close()
    refused("leave_on='SIGUSR1': expected a signal", lambda: make(model, leave_on="SIGUSR1"))
    refused("leave_on=1.5: expected a signal", lambda: make(model, leave_on=1.5))
    refused("overlap='yes': expected True", lambda: make(model, overlap="yes"))
    wrapper = types.SimpleNamespace(inner=optimizer)
    refused("which is the SimpleNamespace's .inner", lambda: eave.Averager(model, wrapper))


def hold_messages_about_options_are_those_of_python():
    model = network()
    refused("unknown option tua; did you mean tau?", lambda: make(model, "easgd", tua=2))
    refused("limit_step=0.1s: expected a time", lambda: make(model, limit_step="0.1s"))
    _, averager = make(model, "easgd", alpha=3.0)
    assert eave.rank() or "beta=0.9 is the usual choice; allow_unstable=True silences" in averager.description
    refused("save: keep=0; expected", lambda: averager.save("run", keep=0))
    refused("save: keep='2'; expected", lambda: averager.save("run", keep="2"))


def hold_a_rate_that_compare_gives_and_a_script_does_not_take_is_refused():
    told = {"EAVE_PROGRAM_COMMUNICATOR": "easgd tau=2", "EAVE_PROGRAM_LR": "0.05"}
    with mock.patch.dict(os.environ, told), mock.patch.object(eave._program, "_plans", []):
        def take(rate, initial=None, reads=False):
            eave._program._plans.clear()
            plan = eave.plan(lr=0.2, steps=2)
            model = network()
            optimizer = torch.optim.SGD(model.parameters(), lr=plan.lr / 3 if reads else rate)
            if initial:
                optimizer.param_groups[0]["initial_lr"] = initial
            with contextlib.closing(eave.Averager(model, optimizer)) as averager:
                take_steps(model, optimizer, averager, steps=2)

        refused_by_all("eave compare gave lr=0.05, and the script trains with 0.1: use plan.lr", lambda: take(0.1))
        take(0.05)
        take(1e-4, initial=0.05)  # a schedule warms up
        take(None, reads=True)


def hold_tensors_without_memory_of_their_own_are_refused_by_name():
    lazy = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.LazyBatchNorm1d(affine=False))
    refused_by_all("'1.running_mean' has no shape yet", lambda: make(lazy))
    base, model = torch.randn(4, 8), torch.nn.Linear(4, 4)
    model.weight, model.other = torch.nn.Parameter(base[:, :4]), torch.nn.Parameter(base[:, 4:])
    refused_by_all("'other' and 'weight' are parts of one tensor", lambda: make(model))
    model.other = torch.nn.Parameter(base[:, 3:7])
    refused_by_all("'other' and 'weight' share memory", lambda: make(model))
    with all_ranks_of_gloo() if eave.size() > 1 else contextlib.nullcontext():
        if eave.size() > 1:
            mesh = torch.distributed.init_device_mesh("cpu", (eave.size(),))
            model = network()
            spread = torch.distributed.tensor.distribute_tensor(torch.ones(4, 4), mesh)
            model[0].base = torch.nn.Parameter(spread, requires_grad=False)
            refused_by_all("'0.base' is neither trained nor a dense tensor with values (DTensor on cpu)", lambda: make(model))


def hold_an_averager_is_refused_a_copy():
    model = network()
    optimizer, averager = make(model)
    for copied in (copy.copy, copy.deepcopy, pickle.dumps, lambda each: torch.save({"a": each}, io.BytesIO())):
        refused("Averager belongs to this process, so it cannot be copied or pickled", lambda: copied(averager))
    take_steps(model, optimizer, averager)


def hold_a_scripted_model_is_refused_by_name_and_a_traced_one_trains():
    warnings.filterwarnings("ignore", message="`torch.jit")  # it is deprecated
    refused_by_all("the model is from torch.jit.script or torch.jit.load, whose modules take no hooks", lambda: make(torch.jit.script(network())))
    refused_by_all("'1' is from torch.jit.script",
                   lambda: make(torch.nn.Sequential(torch.nn.Linear(4, 6), torch.jit.script(torch.nn.Linear(6, 3)))))
    alone, model = network(0), torch.jit.trace(network(), batch(0))
    train_alone(alone, torch.optim.SGD(alone.parameters(), lr=0.1))
    optimizer, averager = make(model)
    take_steps(model, optimizer, averager)
    assert is_close(model, alone)


def hold_an_averager_within_inference_mode_is_refused():
    model = network()
    with torch.inference_mode():
        refused_by_all("Averager within torch.inference_mode()", lambda: make(model))
    optimizer, averager = make(model, LOCAL[0], **LOCAL[1])
    take_steps(model, optimizer, averager)
    with torch.inference_mode(), averager.consensus():
        assert is_same_everywhere(model.parameters())
    take_steps(model, optimizer, averager)


def hold_a_state_of_another_model_or_optimizer_is_refused():
    def square(*names, dtype=torch.float32):
        model = torch.nn.Sequential()
        for name in names:
            model.add_module(name, torch.nn.Linear(4, 4))
        return model.to(dtype)

    def load(model, kind=torch.optim.SGD, groups=1):
        parameters = list(model.parameters())
        optimizer = kind([{"params": parameters[number::groups]} for number in range(groups)], lr=0.1)
        with contextlib.closing(eave.Averager(model, optimizer)) as averager:
            averager.load(folder)

    with folder_of_all_ranks() as folder:
        model = square("a", "b")
        optimizer, averager = make(model)
        loss_of(model, 0).backward()
        averager.step()
        averager.save(folder)
        state, values = averager.state_dict(), [each.clone() for each in model.parameters()]
        averager.close()
        again = square("a", "b")
        load(again)
        assert all(map(torch.equal, again.parameters(), values))
        refused_by_all("parameter 0 is 'a.weight' of shape (4, 4), float32, this model's is 'b.weight'",
                       lambda: load(square("b", "a")), code=78)
        refused_by_all("this model's is 'a.weight' of shape (4, 4), bfloat16",
                       lambda: load(square("a", "b", dtype=torch.bfloat16)), code=78)
        refused_by_all("its optimizer is SGD, this one is AdamW", lambda: load(square("a", "b"), torch.optim.AdamW), code=78)
        refused_by_all("groups of 4 parameters, this one of 2, 2", lambda: load(square("a", "b"), groups=2), code=78)
        averager = make(square("b", "a"))[1]
        refused_by_all("load_state_dict: the checkpoint is of another model", lambda: averager.load_state_dict(state), code=78)
        refused("close() this Averager", averager.state_dict)


def hold_a_rank_without_a_gradient_is_told_what_to_call():
    model = network()
    optimizer, averager = make(model)
    refused("averager.begin_step(0, samples_everywhere)", averager.step)
    take_steps(model, optimizer, averager)
    refused("computed nothing", averager.average_gradients)


def hold_functional_calls_of_the_model_begin_no_step():
    for kind in (torch.float32, torch.bfloat16):
        model = network().to(kind)
        optimizer, averager = make(model)
        own = dict(model.named_parameters())
        for values in ({name: each.detach().clone().requires_grad_() for name, each in own.items()},
                       {name: torch.nn.Parameter(each.detach().clone()) for name, each in own.items()}):
            torch.func.functional_call(model, values, batch(0).to(kind)).sum().backward()

        def loss(values, x):
            return torch.func.functional_call(model, values, x).square().mean()

        gradients = torch.func.grad(loss)({name: each.detach() for name, each in own.items()}, batch(0).to(kind))
        torch.func.vmap(torch.func.grad(lambda x: model(x).sum()))(batch(1).to(kind))
        with averager.consensus():
            pass
        for name, each in own.items():
            each.grad = gradients[name]
        averager.step()
        take_steps(model, optimizer, averager)
        assert is_same_everywhere(model.parameters())
        averager.close()


def hold_another_default_device_changes_nothing():
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 3))
    model[0].num_batches_tracked = None  # as an older checkpoint has it
    optimizer, averager = make(model, LOCAL[0], batch_norm_statistics="average", **LOCAL[1])
    take_steps(model, optimizer, averager)
    with torch.device("meta"):
        state = averager.state_dict()
        with averager.consensus():
            merged = [each.clone() for each in model.buffers()]
    assert state["state"].device.type == "cpu" and is_same_everywhere(merged)


if __name__ == "__main__":
    run_cases(globals())
