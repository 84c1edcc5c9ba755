"""A rank that checks the rows of the table in mpi_launch/guide/python-models.md: what an Averager works with.

    pytorch_matrix_job.py        each function hold_... is a row, on any number of ranks
"""
import copy
import io
import math

import pytorch_input_rows
import pytorch_memory_rows
import pytorch_precision_rows
import pytorch_sampler_rows
from pytorch_cases import all_ranks_of_gloo, eave, is_same_everywhere, open_averager, refused, run_cases, torch
from pytorch_models import LOCAL, batch, is_close, loss_of, network, take_steps, train_alone


def hold_groups_and_schedulers_train_as_in_pytorch():
    def make(seed):
        model = network(seed)
        optimizer = torch.optim.AdamW([{"params": model[0].parameters(), "lr": 0.1}, {"params": model[3].parameters()}], lr=0.01)
        return model, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.1)

    alone, optimizer, schedule = make(0)
    train_alone(alone, optimizer, after=schedule.step)
    model, optimizer, schedule = make(None)
    take_steps(model, optimizer, open_averager(model, optimizer), after=schedule.step)
    assert math.isclose(optimizer.param_groups[0]["lr"], 1e-3) and is_close(model, alone)


def hold_optimizers_of_pytorch_train_as_in_pytorch():
    for name in ("SGD", "AdamW", "Adafactor", "Adagrad", "RMSprop", "NAdam", "Muon"):
        def kind(*sizes):
            return torch.nn.Linear(*sizes, bias=name != "Muon")  # which takes matrices only

        alone, model = network(0, kind=kind), network(kind=kind)
        make = getattr(torch.optim, name)
        train_alone(alone, make(alone.parameters(), lr=0.01))
        optimizer = make(model.parameters(), lr=0.01)
        take_steps(model, optimizer, open_averager(model, optimizer))
        assert is_close(model, alone, 1e-4), name


class Together(torch.optim.Optimizer):
    """Two optimizers or more as one, also for its state_dict()."""

    def __init__(self, *parts):
        self.parts = parts
        super().__init__([group for part in parts for group in part.param_groups], {})

    def step(self):
        groups = iter(self.param_groups)
        for part in self.parts:
            part.state, part.param_groups = self.state, [next(groups) for _ in part.param_groups]
            part.step()


def hold_muon_and_adamw_train_as_one_optimizer():
    def make(model, parts=False):
        matrices = torch.optim.Muon([each for each in model.parameters() if each.dim() == 2], lr=0.02)
        others = torch.optim.AdamW([each for each in model.parameters() if each.dim() != 2], lr=0.01)
        return (matrices, others) if parts else Together(matrices, others)

    alone, model = network(0), network()
    optimizers, optimizer = make(alone, parts=True), make(model)
    train_alone(alone, optimizers[0], after=lambda: (optimizers[1].step(), optimizers[1].zero_grad()))
    averager = open_averager(model, optimizer)
    take_steps(model, optimizer, averager, steps=2)
    state = copy.deepcopy(optimizer.state_dict())
    optimizer.state.clear()
    optimizer.load_state_dict(state)
    for step in (2, 3):
        optimizer.zero_grad()
        loss_of(model, step).backward()
        averager.step()
    assert is_close(model, alone, 1e-3) and len(optimizer.parts[1].state) == 4  # Muon computes in bfloat16
    refused("belongs to an Averager that is open", lambda: eave.Averager(model, make(model, parts=True)[1]))


def hold_gradient_accumulation_averages_the_sum():
    alone, model = network(0), network()
    optimizer_alone = torch.optim.SGD(alone.parameters(), lr=0.1)
    for rank in range(eave.size()):
        for part in range(3):
            (loss_of(alone, part, rank) / 3 / eave.size()).backward()
    optimizer_alone.step()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    averager = open_averager(model, optimizer)
    for part in range(3):
        (loss_of(model, part) / 3).backward()
    averager.step()
    assert is_close(model, alone)


def hold_the_averaged_gradient_is_clipped():
    alone, model = network(0), network()
    optimizer = torch.optim.SGD(alone.parameters(), lr=0.5)
    norms = []
    train_alone(alone, optimizer, before_step=lambda: norms.append(torch.nn.utils.clip_grad_norm_(alone.parameters(), 0.01)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    averager = open_averager(model, optimizer)
    for step in range(4):
        optimizer.zero_grad()
        loss_of(model, step).backward()
        assert averager.average_gradients()
        refused("averaged already", averager.average_gradients)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        assert torch.allclose(norm, norms[step], rtol=1e-4) and norm > 0.01
        averager.step()
    assert is_close(model, alone)


def hold_the_loss_of_a_clipped_step_is_that_of_average_gradients():
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    averager = open_averager(model, optimizer)
    before = [each.detach().clone() for each in model.parameters()]
    loss_of(model, 0).backward()
    assert not averager.average_gradients(loss_sum=math.nan if eave.rank() == 0 else 1.0)
    refused("step: loss_sum comes too late", lambda: averager.step(1.0))
    averager.step()
    assert all(torch.equal(*each) for each in zip(model.parameters(), before)) and averager.steps_left_out == 1


def set_rate(optimizer, rate):
    for group in optimizer.param_groups:
        group["lr"] = rate


def hold_a_rate_that_is_set_after_backward_is_that_of_the_step():
    for communicator, options, words in (("slowmo", {"tau": 2}, {}), ("mdownpour", {"async_order": "round-robin"}, {}),
                                         ("easgd", {"tau": 2}, {"momentum": 0.9, "nesterov": True})):
        trained = []
        for is_late in (False, True):
            model = network(0)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1, **words)
            with eave.Averager(model, optimizer, communicator, **options) as averager:
                for step in range(8):
                    optimizer.zero_grad()
                    if not is_late:
                        set_rate(optimizer, 0.2 / (step + 1))
                    loss_of(model, step).backward()
                    set_rate(optimizer, 0.2 / (step + 1))
                    averager.step()
            trained.append([each.detach().clone() for each in model.parameters()])
        assert all(torch.equal(*pair) for pair in zip(*trained)), communicator


def hold_a_rate_that_is_set_after_backward_is_refused_where_other_ranks_have_taken_over_the_old_one():
    model = network(0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    averager = open_averager(model, optimizer)
    with averager.join():
        loss_of(model, 0).backward()
        set_rate(optimizer, 0.2)
        refused("step within join(): the learning rate, momentum or weight decay was set after", averager.step)
        set_rate(optimizer, 0.1)
        optimizer.param_groups[0]["weight_decay"] = 0.3
        refused("step within join(): the learning rate, momentum or weight decay was set after", averager.step)
        optimizer.param_groups[0]["weight_decay"] = 0
        averager.step()


def hold_a_consensus_after_a_change_in_place_is_of_the_new_values():
    for communicator, options in (("local-sgd", {"tau": 3}), ("gossip", {"tau": 3}), ("none", {}), ("allreduce", {})):
        model = network()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with eave.Averager(model, optimizer, communicator, **options) as averager:
            take_steps(model, optimizer, averager, steps=2)
            with averager.consensus():
                pass
            with torch.no_grad():
                model[0].weight.fill_(5.0)
            with averager.consensus():
                assert torch.allclose(model[0].weight, torch.tensor(5.0)), communicator


def hold_gossip_keeps_a_change_between_forward_and_step():
    model = torch.nn.Linear(3, 1, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    with eave.Averager(model, optimizer, "gossip", tau=2) as averager:
        for step in range(3):  # the third step has an exchange
            torch.nn.init.constant_(model.weight, eave.rank() + 1.0)
            loss = model(torch.ones(1, 3)).sum()
            model.weight.data.mul_(0.5)
            loss.backward()
            averager.step()
        sums = eave.sum_over_ranks(model.weight.detach().flatten().tolist())
        assert sums == 3 * [eave.size() * (eave.size() + 1) / 4], sums


def hold_samples_that_do_not_add_up_are_refused_on_all_ranks():
    if eave.size() == 1:
        return
    for everywhere in (4, 4 * eave.size() + 1):
        model = network(0)
        averager = open_averager(model, torch.optim.SGD(model.parameters(), lr=0.1))
        averager.begin_step(4, everywhere)
        loss_of(model, 0).backward()
        before = [each.clone() for each in model.parameters()]
        refused("begin_step: samples/samples_everywhere of all ranks add up to", averager.step)
        assert all(torch.equal(old, now) for old, now in zip(before, model.parameters()))
        model = network(0)
        averager = open_averager(model, torch.optim.SGD(model.parameters(), lr=0.1), "local-sgd", tau=1)
        averager.begin_step(4, everywhere)
        loss_of(model, 0).backward()
        refused("begin_step: samples/samples_everywhere of all ranks add up to", averager.step)


def hold_adaptive_tau_follows_the_loss_and_is_refused_without_one():
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    averager = open_averager(model, optimizer, "local-sgd", tau=4, adaptive_tau=True)
    calls = []
    for step in range(12):
        loss_of(model, 0).backward()
        refused("step: the method follows the loss (adaptive_tau)", averager.step)
        if step % 2:
            averager.step(16.0 if step < 4 else 1.0)
        else:
            refused("average_gradients: the method follows the loss", averager.average_gradients)
            averager.average_gradients(16.0 if step < 4 else 1.0)
            averager.step()
        calls.append(averager.spent[2])
    exchanged = [step for step in range(1, 12) if calls[step] > calls[step - 1]]
    assert eave.size() == 1 or exchanged == [3, 7, 8, 9, 10, 11], exchanged
    with averager.join():
        loss_of(model, 0).backward()
        averager.step(1.0)


def hold_the_local_gradient_is_clipped_where_replicas_train_alone():
    model = network(0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    averager = open_averager(model, optimizer, *LOCAL[:1], **LOCAL[1])
    loss_of(model, 0).backward()
    before = [each.grad.clone() for each in model.parameters()]
    assert averager.average_gradients()
    assert all(torch.equal(each.grad, own) for each, own in zip(model.parameters(), before))
    averager.step()
    model = torch.nn.Linear(4, 3)
    averager = open_averager(model, torch.optim.SGD(model.parameters(), lr=0.5), "mdownpour")
    loss_of(model, 0).backward()
    refused("clip them before averager.step()", averager.average_gradients)
    averager.step()


def hold_tied_and_frozen_parameters_train_as_in_pytorch():
    def tie(model):
        model.append(torch.nn.Linear(3, 4))
        model.append(torch.nn.Linear(4, 6))
        model[5].weight = model[0].weight
        model[3].weight.requires_grad_(False)
        return model

    alone, model = tie(network(0)), tie(network())
    train_alone(alone, torch.optim.SGD(alone.parameters(), lr=0.1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    take_steps(model, optimizer, open_averager(model, optimizer))
    assert model[5].weight is model[0].weight and is_close(model, alone)


def hold_statistics_of_batch_norm_stay_local_or_are_merged():
    for kind in ("local", "average"):
        model = torch.nn.Sequential(torch.nn.BatchNorm1d(4, momentum=1.0), torch.nn.Linear(4, 3))
        model[1].running_mean = model[1].running_var = 0.0  # of another kind than statistics of batch norm
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        averager = open_averager(model, optimizer, *LOCAL[:1], batch_norm_statistics=kind, **LOCAL[1])
        model(batch(0) + 3 * eave.rank()).sum().backward()
        averager.step()
        model[0].num_batches_tracked += 2 * eave.rank()
        own = [each.clone() for each in model.buffers()]
        with averager.consensus():
            mean, variance, count = model.buffers()
            if kind == "average":  # those of all samples together, but for Bessel's correction
                together = torch.cat([batch(0, rank) + 3 * rank for rank in range(eave.size())])
                assert torch.allclose(mean, together.mean(0), atol=1e-5) and int(count) == eave.size()
                assert torch.allclose(variance, together.var(0, correction=0), rtol=0.2) and is_same_everywhere(model.buffers())
            else:
                assert all(torch.equal(*pair) for pair in zip(own, model.buffers()))
        assert all(torch.equal(*pair) for pair in zip(own, model.buffers()))
        averager.close()
    refused("'mean': expected \"local\" or \"average\"", lambda: open_averager(model, optimizer, batch_norm_statistics="mean"))


def hold_a_sync_batch_norm_without_torch_distributed_is_refused():
    model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(network(norm=lambda: torch.nn.BatchNorm1d(6)))
    make = lambda: open_averager(model, torch.optim.SGD(model.parameters(), lr=0.1))
    refused("'1' is a SyncBatchNorm", make)
    with all_ranks_of_gloo():
        make()


def hold_copies_and_averaged_models_are_their_own():
    model = network(norm=lambda: torch.nn.BatchNorm1d(6))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    averager = open_averager(model, optimizer)
    average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.5))
    take_steps(model, optimizer, averager, after=lambda: average.update_parameters(model))
    assert is_same_everywhere(average.parameters()) and not is_close(average.module, model)
    saved = io.BytesIO()
    torch.save(average.module, saved)
    saved.seek(0)
    loaded = torch.load(saved, weights_only=False)
    for other in (copy.deepcopy(average.module), loaded):
        loss_of(other, 0).backward()
        refused("computed nothing", averager.step)
    take_steps(model, optimizer, averager)


def hold_a_state_assigned_before_the_optimizer_trains_and_after_it_is_refused():
    model = network()
    early = torch.optim.SGD(model.parameters(), lr=0.1)
    model.load_state_dict(network(3).state_dict(), assign=True)
    refused("the optimizer has none of the model's parameters", lambda: open_averager(model, early))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    take_steps(model, optimizer, open_averager(model, optimizer))
    assert is_same_everywhere(model.parameters())


def hold_two_models_of_a_gan_train_side_by_side():
    for communicator, options in (("allreduce", {}), ("easgd", {"tau": 2}), ("gossip", {})):
        maker, judge = network(), torch.nn.Sequential(torch.nn.Linear(3, 1))
        of_maker, of_judge = (torch.optim.Adam(each.parameters(), lr=0.01) for each in (maker, judge))
        making = open_averager(maker, of_maker, communicator, **options)
        judging = open_averager(judge, of_judge, communicator, **options)
        for step in range(5):
            of_judge.zero_grad()
            (judge(torch.ones(8, 3)).mean() - judge(maker(batch(step)).detach()).mean()).backward()
            judging.step()
            of_maker.zero_grad()
            judge(maker(batch(step))).mean().backward()
            making.step()
        with making.consensus(), judging.consensus():
            assert is_same_everywhere(maker.parameters()) and is_same_everywhere(judge.parameters())
        making.close()
        judging.close()


def hold_distributed_data_parallel_averages_within_groups_and_eave_over_all_ranks():
    """In groups of two ranks if there are more than two. Every rank has the values that one process would have."""
    if eave.size() == 1:
        return
    with all_ranks_of_gloo(size=2 if eave.size() > 2 else 1):
        alone = network(0)
        train_alone(alone, torch.optim.SGD(alone.parameters(), lr=0.1))
        for communicator, options in (("allreduce", {}), ("easgd", {"tau": 2}), LOCAL):
            model = torch.nn.parallel.DistributedDataParallel(network())
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            averager = open_averager(model, optimizer, communicator, **options)
            take_steps(model, optimizer, averager)
            if communicator == "allreduce":
                assert is_close(model, alone)
            with averager.consensus():
                assert is_same_everywhere(model.parameters())
            texts = eave._ranks.texts_of_ranks(str([each.tolist() for each in model.parameters()]))
            assert eave.size() == 2 or all(texts[rank] == texts[rank + 1] for rank in range(0, eave.size(), 2)), communicator
            averager.close()
        for communicator in ("gossip", "easgd-async"):
            refused("exchanges with each rank by itself", lambda: open_averager(model, optimizer, communicator))


def hold_two_centers_answer_requests_at_a_time():
    """As in a GAN: two averagers of asynchronous methods end with the bits that each has by itself."""
    def train(makes):
        made = []
        for seed, communicator in makes:
            model = network(seed)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            made.append((model, optimizer, open_averager(model, optimizer, communicator, tau=2, async_order="round-robin")))
        for step in range(6):
            for model, optimizer, averager in made:
                averager.begin_step()
                optimizer.zero_grad()
                loss_of(model, step).backward()
                averager.step()
        found = []
        for model, _, averager in made:
            with averager.consensus():
                found.append(torch.nn.utils.parameters_to_vector(model.parameters()).detach().clone())
        made[0][2].close()
        for _, _, averager in made[1:]:
            with averager.consensus():
                pass
            averager.close()
        return found

    makes = (1, "easgd-async"), (2, "downpour")
    both = train(makes)
    assert torch.equal(both[0], train(makes[:1])[0]) and torch.equal(both[1], train(makes[1:])[0])


run_cases({**globals(), **vars(pytorch_input_rows), **vars(pytorch_memory_rows), **vars(pytorch_precision_rows),
           **vars(pytorch_sampler_rows)})
