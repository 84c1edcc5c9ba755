"""A rank that checks, case by case, what eave.Averager promises of a model that changes, stands still or goes wrong.

    pytorch_promises_job.py        each function hold_... is a case, on any number of ranks
"""
import copy
import io
import math
import warnings

from pytorch_cases import eave, is_same_everywhere, open_averager, refused, run_cases, torch

ADAM = (torch.optim.AdamW, {"lr": 0.05, "weight_decay": 0.1})
MOMENTUM = (torch.optim.SGD, {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.1})


class TwoHeads(torch.nn.Module):
    """A model with a trunk, a frozen layer, and two heads. A step may use any of the heads."""

    def __init__(self, seed):
        super().__init__()
        torch.manual_seed(seed)
        self.trunk = torch.nn.Linear(4, 6)
        self.frozen = torch.nn.Linear(6, 6).requires_grad_(False)
        self.norm = torch.nn.BatchNorm1d(6)
        self.left, self.right = torch.nn.Linear(6, 3), torch.nn.Linear(6, 3)

    def forward(self, x, heads):
        inner = self.norm(self.frozen(torch.tanh(self.trunk(x))))
        return sum(getattr(self, head)(inner) for head in heads)


def batch(step, seed=0):
    generator = torch.Generator().manual_seed(1000 * seed + step)
    return torch.randn(8, 4, generator=generator), torch.randint(3, (8,), generator=generator)


def backward(model, step, heads=("left", "right"), seed=0):
    x, y = batch(step, seed)
    loss = torch.nn.functional.cross_entropy(model(x, heads), y)
    loss.backward()
    return loss


def make(kind=MOMENTUM, communicator="allreduce", seed=None, **options):
    model = TwoHeads(eave.rank() if seed is None else seed)
    optimizer = kind[0](model.parameters(), **kind[1])
    return model, optimizer, open_averager(model, optimizer, communicator, **options)


def take_step(model, optimizer, averager, step, **how):
    optimizer.zero_grad()
    backward(model, step, **how)
    averager.step()


def hold_parameters_without_a_gradient_are_left_alone():
    """Bits equal those of PyTorch alone: all ranks have the same batches, and the sum of two equal halves is exact."""
    for kind in (ADAM, MOMENTUM):
        alone = TwoHeads(0)
        optimizer_alone = kind[0](alone.parameters(), **kind[1])
        model, optimizer, averager = make(kind)
        for step in range(12):
            heads = ("left",) if step < 6 else ("right",)
            optimizer_alone.zero_grad()
            backward(alone, step, heads)
            optimizer_alone.step()
            take_step(model, optimizer, averager, step, heads=heads)
        averager.close()
        for (name, mine), theirs in zip(model.named_parameters(), alone.parameters()):
            if eave.size() <= 2:
                assert torch.equal(mine, theirs), f"{kind[0].__name__}: {name} differs from PyTorch alone"
        if eave.size() <= 2:
            assert model.trunk.weight.grad is not None and model.left.weight.grad is None


def hold_a_gradient_that_some_ranks_lack_counts_as_0():
    model, optimizer, averager = make((torch.optim.SGD, {"lr": 1.0}))
    heads = ("left",) if eave.rank() == 0 and eave.size() > 1 else ("left", "right")
    before = model.right.bias.detach().clone()
    take_step(model, optimizer, averager, 0, heads=heads)
    assert is_same_everywhere(model.parameters())
    assert not torch.equal(model.right.bias, before)


def hold_a_rank_without_samples_takes_the_same_step():
    model, optimizer, averager = make()
    is_idle = eave.rank() > 0
    for step in range(3):
        optimizer.zero_grad()
        averager.begin_step(0 if is_idle else 8, 8)
        if not is_idle:
            backward(model, step, ("left",))
        averager.step()
    assert is_same_everywhere(model.parameters())


def hold_a_gradient_of_none_stays_local_where_replicas_train_alone():
    model, optimizer, averager = make(ADAM, "local-sgd", tau=100)
    before = model.right.weight.detach().clone()
    for step in range(5):
        take_step(model, optimizer, averager, step, heads=("left",) if eave.rank() == 0 else ("left", "right"))
    assert torch.equal(model.right.weight, before) == (eave.rank() == 0)


def hold_all_ranks_begin_with_frozen_parameters_and_buffers_of_rank_0():
    model = TwoHeads(eave.rank())
    model.norm.running_mean += eave.rank()
    model.norm.num_batches_tracked += 7 * eave.rank()
    model.register_buffer("mask", torch.tensor([True, False, eave.rank() > 0]))
    averager = open_averager(model, torch.optim.SGD(model.parameters(), lr=0.1))
    assert is_same_everywhere(model.state_dict().values())
    assert int(model.norm.num_batches_tracked) == 0 and model.norm.num_batches_tracked.dtype == torch.int64


def hold_what_else_the_optimizer_moves_is_averaged_too():
    model, scale = TwoHeads(0), torch.nn.Linear(1, 1)
    torch.nn.init.constant_(scale.weight, eave.rank())
    optimizer = torch.optim.SGD([*model.parameters(), *scale.parameters()], lr=0.1)
    averager = open_averager(model, optimizer)
    for step in range(3):
        optimizer.zero_grad()
        (backward(model, step) + 0).detach()
        scale(torch.full((1, 1), 1.0 + eave.rank())).sum().backward()
        averager.step()
    assert is_same_everywhere(scale.parameters())


def hold_parameters_that_come_later_are_refused_by_name():
    def unfreeze(model, _):
        model.frozen.requires_grad_(True)

    def replace_head(model, _):
        model.left = torch.nn.Linear(6, 3)

    def assign(model, _):
        model.load_state_dict(copy.deepcopy(model.state_dict()), assign=True)

    def extend(_, optimizer):
        optimizer.add_param_group({"params": torch.nn.Linear(2, 2).parameters()})

    for change, name in ((unfreeze, "'frozen.weight'"), (replace_head, "'left.weight'"), (assign, "'trunk.weight'"),
                         (extend, "parameter 0 of the optimizer's group 1")):
        model, optimizer, averager = make()
        take_step(model, optimizer, averager, 0)
        change(model, optimizer)
        refused("consensus: p", averager.consensus().__enter__)
        refused(name, lambda: take_step(model, optimizer, averager, 1))
        averager.close()
        if change in (unfreeze, extend):
            model, optimizer, averager = make()
            backward(model, 0)
            change(model, optimizer)
            refused(f"step: {name}" if change is extend else name, averager.step)
            averager.close()


def hold_parameters_that_change_are_refused_by_name():
    def change_shape(model):
        model.left.weight.data = model.left.weight.data.view(6, 3)

    for change, name in ((lambda model: model.double(), "'trunk.weight' has become float64"), (change_shape, "'left.weight'"),
                         (lambda model: model.left.half(), "'left.weight' has become float16")):
        model, optimizer, averager = make()
        backward(model, 0)
        change(model)
        refused(name, averager.step)
        averager.close()


def hold_models_that_do_not_fit_are_refused_by_name():
    def tied_by_memory(model):
        model.right.weight.data = model.left.weight.data

    def buffer_on_parameter(model):
        model.register_buffer("view", model.left.weight.detach()[0])

    for change, words in ((lambda model: model.left.double(), "'left.weight' (float64"),
                          (lambda model: model.left.to(torch.complex64), "'left.weight' (complex64"),
                          (lambda model: model.to("meta"), "'trunk.weight' (float32 on meta"),
                          (tied_by_memory, "'left.weight' and 'right.weight' share memory"),
                          (buffer_on_parameter, "'left.weight' and 'view' share memory"),
                          (lambda model: model.requires_grad_(False), "without parameters that are trained")):
        model = TwoHeads(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            change(model)
        refused(words, lambda: eave.Averager(model, torch.optim.SGD(model.parameters(), lr=0.1)))


def hold_tied_parameters_count_once():
    model = TwoHeads(eave.rank())
    model.right.weight = model.left.weight
    averager = open_averager(model, torch.optim.SGD(model.parameters(), lr=0.1))
    backward(model, 0)
    averager.step()
    assert model.right.weight is model.left.weight and is_same_everywhere(model.parameters())


def hold_models_that_differ_between_ranks_are_refused():
    if eave.size() == 1:
        return
    model = TwoHeads(0)
    if eave.rank() == 1:
        model.left.requires_grad_(False)
    refused("left.weight", lambda: eave.Averager(model, torch.optim.SGD(model.parameters(), lr=0.1)), code=78)
    model = TwoHeads(0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9 if eave.rank() == 1 else 0.5)
    refused("'momentum': 0.9", lambda: eave.Averager(model, optimizer), code=78)


def hold_optimizers_that_do_not_fit_are_refused():
    model = TwoHeads(0)
    refused("LBFGS", lambda: eave.Averager(model, torch.optim.LBFGS(model.parameters())))
    refused("moves the parameters itself",
            lambda: eave.Averager(model, torch.optim.Adam(model.parameters()), "mdownpour"))
    refused("mdownpour moves the parameters itself and never asks the optimizer",
            lambda: eave.Averager(model, torch.optim.SGD(model.parameters(), lr=0.1, maximize=True), "mdownpour"))
    refused("mdownpour moves all parameters that require a gradient, and the optimizer does not have 'left.weight'",
            lambda: eave.Averager(model, torch.optim.SGD([*model.trunk.parameters(), *model.norm.parameters()], lr=0.1), "mdownpour"))
    refused("leave it out",
            lambda: eave.Averager(model, torch.optim.SGD(model.parameters(), lr=0.1), "easgd", nesterov=True))
    for options, words in (({"lr": 0.2}, "lr=0.2, but the optimizer's is 0.1"), ({"lr": "x"}, "lr: expected a number"),
                           ({"momentum": 0.5}, "momentum=0.5, but the optimizer's is 0.9: leave it out")):
        refused(words, lambda: eave.Averager(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), **options))
    eave.Averager(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), lr="0.1", momentum=0.9).close()
    eave.Averager(model, torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.1), "mdownpour", weight_decay=0.1).close()


def hold_a_method_that_moves_parameters_refuses_an_optimizer_that_becomes_another_one():
    model = TwoHeads(0)
    groups = [{"params": model.left.parameters()}, {"params": [*model.trunk.parameters(), *model.norm.parameters()]}]
    model.right.requires_grad_(False)
    optimizer = torch.optim.SGD(groups, lr=0.1)
    with eave.Averager(model, optimizer, "mdownpour") as averager:
        for name, value in (("lr", 0.05), ("momentum", 0.9), ("weight_decay", 0.1), ("maximize", True)):
            before, optimizer.param_groups[1][name] = optimizer.param_groups[1][name], value
            model.left(model.trunk(torch.ones(4, 4))).sum().backward()
            refused("step: mdownpour moves the parameters itself", averager.step)
            optimizer.param_groups[1][name] = before
            averager.step()


def hold_options_with_blanks_are_refused():
    model = TwoHeads(0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    refused("'/a b/x.so': expected a value without blanks; link", lambda: eave.Averager(model, optimizer, plugin="/a b/x.so"))
    refused("tau='2 alpha=0.9': expected", lambda: eave.Averager(model, optimizer, "easgd", tau="2 alpha=0.9"))
    refused("'easgd tau=2': expected", lambda: eave.Averager(model, optimizer, "easgd tau=2"))


def hold_copies_of_the_model_are_free_of_it():
    """A copy of the model, such as a moving average of its parameters, is not bound to the averager."""
    model, optimizer, averager = make()
    saved = io.BytesIO()
    torch.save(model, saved)
    saved.seek(0)
    for other in (copy.deepcopy(model), torch.load(saved, weights_only=False)):
        other(batch(0)[0], ("left",)).sum().backward()
        other.load_state_dict(TwoHeads(5).state_dict())
        refused("computed nothing", averager.step)
    take_step(model, optimizer, averager, 0)


def hold_steps_by_other_ways_are_refused():
    model, optimizer, averager = make()
    backward(model, 0)
    refused("averager.step()", optimizer.step)
    refused("closure", lambda: averager.step(lambda: 0.0))
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(torch.ones(1))
    refused("scaler.step(averager)", lambda: scaler.step(optimizer))
    averager.step()
    with averager.consensus():
        refused("consensus()", averager.step)
        refused("consensus within consensus()", averager.consensus().__enter__)
        refused("consensus()", lambda: model.load_state_dict(model.state_dict()))
    averager.close()
    optimizer.step()  # after close() the model is the caller's again


def hold_sparse_gradients_are_refused_by_name():
    model = torch.nn.Sequential(torch.nn.Embedding(5, 3, sparse=True))
    averager = open_averager(model, torch.optim.SGD(model.parameters(), lr=0.1))
    model(torch.tensor([1, 2])).sum().backward()
    refused("'0.weight' is sparse", averager.step)


def hold_a_state_that_all_ranks_load_later_is_trained_from():
    """A method with a center begins anew from what rank 0 has loaded, as a new Averager would."""
    for communicator, options in (("easgd", {"tau": 2}), ("local-sgd", {"tau": 2}), ("diloco", {"tau": 2}), ("gossip", {}),
                                  ("allreduce", {})):
        trained = []
        for is_new in (False, True):
            model = TwoHeads(3)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
            if not is_new:
                averager = open_averager(model, optimizer, communicator, **options)
                for step in range(3):
                    take_step(model, optimizer, averager, step + 100)
                before = averager.spent
                optimizer.state.clear()
                model.load_state_dict(TwoHeads(3).state_dict())
            else:
                averager = open_averager(model, optimizer, communicator, **options)
            for step in range(5):
                take_step(model, optimizer, averager, step, seed=eave.rank())
            with averager.consensus():
                assert is_same_everywhere(model.parameters())
                trained.append([each.clone() for each in model.parameters()])
            if not is_new:
                assert all(after >= earlier for after, earlier in zip(averager.spent, before)) and before[2] > 0
            averager.close()
        assert all(torch.equal(*pair) for pair in zip(*trained)), communicator


def hold_a_checkpoint_that_one_rank_loads_is_told_in_the_next_step():
    if eave.size() == 1:
        return
    model, optimizer, averager = make()
    take_step(model, optimizer, averager, 0)
    state = TwoHeads(3).state_dict()
    if eave.rank() == 1:
        model.load_state_dict(state)
    else:
        with torch.no_grad():
            for name, each in model.state_dict().items():
                each.copy_(state[name])  # as if rank 1 had sent it: no difference, so no message
    take_step(model, optimizer, averager, 1)
    if eave.rank() == 1:
        model.load_state_dict(TwoHeads(4).state_dict())
    try:
        take_step(model, optimizer, averager, 2)
        raise AssertionError("replicas differ, and nobody says so")
    except eave.Error as error:
        assert error.code == 64 and error.is_shared and "load_state_dict was called on rank 1 alone" in str(error), error
    refused("close() this Averager", averager.step)
    model.load_state_dict(TwoHeads(3).state_dict())


def hold_a_checkpoint_that_one_rank_loads_is_told_by_the_consensus():
    if eave.size() == 1:
        return
    model, optimizer, averager = make()
    take_step(model, optimizer, averager, 0)
    if eave.rank() == 0:
        model.load_state_dict(TwoHeads(3).state_dict())
    try:
        with averager.consensus():
            raise AssertionError("replicas differ, and nobody says so")
    except eave.Error as error:
        assert error.code == 70 and error.is_shared and "rank 0 on" in str(error), error
    eave._library.job.is_broken = False  # no operation is in flight here
    model.load_state_dict(TwoHeads(3).state_dict())


def hold_a_step_that_is_not_finite_is_left_out():
    for communicator, options in (("allreduce", {}), ("easgd", {"tau": 2})):
        model, optimizer, averager = make(ADAM, communicator, **options)
        is_here = eave.rank() == eave.size() - 1
        for step in range(6):
            optimizer.zero_grad()
            backward(model, step)
            before = model.trunk.weight.detach().clone()
            if step == 3 and is_here:
                model.left.weight.grad[0, 0] = math.nan
            averager.step()
            is_left_out = step == 3 and (is_here or communicator == "allreduce")
            assert is_left_out <= torch.equal(model.trunk.weight, before)
        assert averager.steps_left_out == (1 if is_here or communicator == "allreduce" else 0)
        assert all(torch.isfinite(each).all() for each in model.parameters())
        averager.close()


def hold_a_grad_scaler_works_beside_it():
    model, optimizer, averager = make((torch.optim.SGD, {"lr": 0.1}))
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    for step in range(4):
        optimizer.zero_grad()
        x, y = batch(step)
        loss = torch.nn.functional.cross_entropy(model(x, ("left",)), y)
        scaler.scale(loss * (math.inf if step == 2 and eave.rank() == 0 else 1)).backward()
        scaler.unscale_(optimizer)
        averager.step()
        scaler.update()
    assert averager.steps_left_out == 1 and is_same_everywhere(model.parameters())
    assert scaler.get_scale() == (2.0 if eave.rank() == 0 else 4.0)


def hold_eamsgd_is_that_of_the_publication():
    """Compares PyTorch's SGD with Nesterov momentum with equations 5 and 6 in double. Every rank simulates all."""
    ranks, tau, alpha, rate, momentum = eave.size(), 3, 0.2, 0.1, 0.9
    curvature = torch.linspace(0.2, 1.0, 5, dtype=torch.float64)
    x = torch.ones(ranks, 5, dtype=torch.float64)
    w, center = torch.zeros_like(x), torch.ones(5, dtype=torch.float64)
    minimum = torch.arange(ranks, dtype=torch.float64)[:, None] + torch.zeros(5, dtype=torch.float64)
    model = torch.nn.Module()
    model.x = torch.nn.Parameter(torch.ones(5))
    model.forward = lambda: (curvature.float() / 2 * (model.x - eave.rank()) ** 2).sum()
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=momentum, nesterov=True)
    averager = open_averager(model, optimizer, "easgd", tau=tau, alpha=alpha)
    assert "EAMSGD" in averager.description, averager.description
    for step in range(30):
        pull = alpha * (x - center) if step > 0 and step % tau == 0 else torch.zeros_like(x)
        w = momentum * w - rate * curvature * (x + momentum * w - minimum)
        x, center = x + w - pull, center + pull.sum(0)
        optimizer.zero_grad()
        model().backward()
        averager.step()
    with averager.consensus():
        assert torch.allclose(model.x.double(), center, rtol=0, atol=2e-5), (model.x, center)


def hold_pulls_with_nesterov_take_the_rate_of_their_own_step():
    """A scheduler halves the rate right before every second exchange. Every rank simulates all in double."""
    ranks, tau, alpha, momentum = eave.size(), 3, 0.2, 0.9
    for name, options in (("easgd", {}), ("easgd-async", {"async_order": "round-robin"})):
        y, buffer, center = torch.ones(ranks, 5).double(), torch.zeros(ranks, 5).double(), torch.ones(5).double()
        model = torch.nn.Module()
        model.y = torch.nn.Parameter(torch.ones(5))
        model.forward = lambda: ((model.y - eave.rank()) ** 2).sum() / 2
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=momentum, nesterov=True)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2 * tau, 0.5)
        averager = open_averager(model, optimizer, name, tau=tau, alpha=alpha, **options)
        for step in range(30):
            rate, pull = optimizer.param_groups[0]["lr"], torch.zeros_like(y)
            if step > 0 and step % tau == 0:
                base = center.clone()
                for rank in range(ranks):
                    pull[rank] = alpha * (y[rank] + rate * momentum * buffer[rank] - (base if name == "easgd" else center))
                    center += pull[rank]
            gradient = y - torch.arange(ranks)[:, None]
            buffer = momentum * buffer + gradient
            y = y - rate * (gradient + momentum * buffer) - pull
            optimizer.zero_grad()
            model().backward()
            averager.step()
            scheduler.step()
            assert torch.allclose(model.y.double(), y[eave.rank()], rtol=0, atol=2e-5), (name, step, model.y, y[eave.rank()])
        with averager.consensus():
            assert torch.allclose(model.y.double(), center, rtol=0, atol=2e-5), (name, model.y, center)


run_cases(globals())
