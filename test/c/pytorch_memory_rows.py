"""Rows of pytorch_matrix_job.py about where and how parameters and gradients lie in memory."""
from pytorch_cases import eave, folder_of_all_ranks, open_averager, refused, torch
from pytorch_models import LOCAL, is_close, loss_of, network, take_steps, train_alone

MOMENTUM = {"lr": 0.1, "momentum": 0.9}


def convolution(is_last=False):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Unflatten(1, (4, 1, 1)), torch.nn.Conv2d(4, 6, 3, padding=1), torch.nn.Flatten())
    return model.to(memory_format=torch.channels_last) if is_last else model


def make(model, communicator="allreduce", options={}, **more):
    optimizer = torch.optim.SGD(model.parameters(), **MOMENTUM)
    return optimizer, open_averager(model, optimizer, communicator, **options, **more)


def halve_by_data(model):
    for each in model.parameters():
        each.grad.data = each.grad.data * 0.5


def halve_by_set(model):
    for each in model.parameters():
        each.grad.set_(each.grad * 0.5)


def hold_gradients_that_get_other_memory_are_averaged_in_later_steps_too():
    for halve in (halve_by_data, halve_by_set):
        alone, model = network(0), network()
        train_alone(alone, torch.optim.SGD(alone.parameters(), **MOMENTUM), before_step=lambda: halve(alone))
        optimizer, averager = make(model)
        for step in range(4):
            optimizer.zero_grad()
            loss_of(model, step).backward()
            averager.average_gradients()
            halve(model)
            averager.step()
        assert is_close(model, alone), halve.__name__


def hold_a_model_that_is_moved_between_steps_trains_on():
    """model.to() also moves the gradients of the step before."""
    for move in (lambda model: model.double().float(), lambda model: model.to(memory_format=torch.channels_last)):
        alone, model = convolution(), convolution()
        train_alone(alone, torch.optim.SGD(alone.parameters(), **MOMENTUM))
        optimizer, averager = make(model)
        take_steps(model, optimizer, averager, after=lambda: move(model))
        assert is_close(model, alone)


def hold_a_model_that_is_moved_within_the_consensus_is_put_back():
    def zero(model):
        for each in model.parameters():
            each.data = torch.zeros_like(each)

    for move in (lambda model: model.bfloat16().float(), lambda model: model[0].bfloat16(), zero):
        models = [network(0, norm=lambda: torch.nn.BatchNorm1d(6)) for _ in range(2)]
        for model in models:
            optimizer, averager = make(model, *LOCAL, batch_norm_statistics="average")
            take_steps(model, optimizer, averager, steps=2)
            with averager.consensus():
                if model is models[0]:
                    move(model)
            take_steps(model, optimizer, averager, steps=2)
        assert all(map(torch.equal, *(model.state_dict().values() for model in models)))


def hold_momentum_from_before_stays_in_its_place():
    """Fused optimizers take parameters, gradients and momentum in the order of memory."""
    for settings in ({"fused": True}, {"fused": False}):
        trained = []
        for is_averaged in (False, True):
            model = network(0)
            model[0].weight = torch.nn.Parameter(torch.ones(4, 6).cumsum(1).mul(0.1).t())
            optimizer = torch.optim.SGD(model.parameters(), **MOMENTUM, **settings)
            train_alone(model, optimizer)
            if is_averaged:
                take_steps(model, optimizer, open_averager(model, optimizer))
            else:
                train_alone(model, optimizer)
            trained.append(model)
        assert is_close(*trained), settings


def hold_another_layout_on_a_rank_is_refused():
    if eave.size() > 1:
        refused("channels_last", lambda: make(convolution(is_last=eave.rank() == 0)), code=78)


def hold_a_checkpoint_of_another_layout_is_refused():
    with folder_of_all_ranks() as folder:
        for is_last in (False, True):
            model = convolution(is_last)
            optimizer, averager = make(model)
            take_steps(model, optimizer, averager)
            averager.save(folder / str(is_last))
            state = averager.state_dict()
            for other in (False, True):
                again = convolution(other)
                averager = make(again)[1]
                if other == is_last:
                    averager.load(folder / str(is_last))
                    assert is_close(model, again, tolerance=0)
                    continue
                refused("'1.weight' of shape (6, 4, 3, 3), float32, is " + ("channels_last" if is_last else "contiguous"),
                        lambda: averager.load(folder / str(is_last)), code=78)
                averager.close()
                refused("channels_last", lambda: make(convolution(other))[1].load_state_dict(state), code=78)
