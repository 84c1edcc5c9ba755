"""A rank that checks what eave.Averager promises of ranks that end their data, or the job, together.

    pytorch_together_job.py cases        each function hold_... is a case; at the end all ranks leave
    pytorch_together_job.py signal METHOD  trains until the last rank gets SIGUSR1, which is not caught
    pytorch_together_job.py silent       the last rank stops in the middle of its steps
"""
import json
import math
import os
import signal
import sys
import time

from pytorch_cases import eave, folder_of_all_ranks, is_same_everywhere, open_averager, refused, run_cases, torch

TAU = {"allreduce": {}, "none": {}, "easgd-tree": {"tau": 2, "groups": 2, "global_tau": 4}, "mdownpour": {}}


def make(communicator="allreduce", kind=torch.optim.SGD, **options):
    torch.manual_seed(eave.rank())
    model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3))
    optimizer = kind(model.parameters(), lr=0.05)
    return model, optimizer, open_averager(model, optimizer, communicator, **options)


def batches_of(rank):
    """Unequal numbers; the last of several ranks has none."""
    return 7 if rank == 0 else 0 if rank == eave.size() - 1 else 3 * rank + 1


def batch(rank, step):
    return torch.randn(2 + rank, 4, generator=torch.Generator().manual_seed(10 * step + rank))


def loss_of(model, rank, step):
    return model(batch(rank, step)).square().mean()


def train(model, optimizer, averager, steps, first=0, after_step=None):
    for step in range(first, first + steps):
        optimizer.zero_grad()
        loss_of(model, eave.rank(), step).backward()
        averager.step()
        if after_step:
            after_step()


def hold_joined_steps_take_the_mean_over_ranks_with_data():
    """Every rank simulates all ranks, with a schedule that each of them follows."""
    model, optimizer, averager = make(kind=torch.optim.AdamW)
    alone = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3))
    alone.load_state_dict(model.state_dict())
    expected = torch.optim.AdamW(alone.parameters(), lr=0.05)
    rates = [torch.optim.lr_scheduler.ExponentialLR(each, 0.7) for each in (optimizer, expected)]
    for step in range(max(map(batches_of, range(eave.size())))):
        ranks = [rank for rank in range(eave.size()) if step < batches_of(rank)]
        expected.zero_grad()
        sum(loss_of(alone, rank, step) / len(ranks) for rank in ranks).backward()
        expected.step()
        last_rate = expected.param_groups[0]["lr"]
        rates[1].step()
    with averager.join():
        train(model, optimizer, averager, batches_of(eave.rank()), after_step=rates[0].step)
    assert is_same_everywhere(model.parameters())
    for mine, theirs in zip(model.parameters(), alone.parameters()):
        assert torch.allclose(mine, theirs, rtol=0, atol=1e-5), (mine, theirs)
    # The scheduler of a rank without data has not gone on. Its last step had the rate of rank 0, which then took one more.
    if eave.rank() > 0:
        assert optimizer.param_groups[0]["lr"] == last_rate, (optimizer.param_groups[0]["lr"], last_rate)


def hold_joined_steps_call_back_on_ranks_without_data():
    model, optimizer, averager = make()
    calls = []
    with averager.join(after_step=lambda: calls.append(1)):
        train(model, optimizer, averager, batches_of(eave.rank()))
    assert len(calls) == (0 if eave.size() == 1 else 7 - batches_of(eave.rank())), calls


def clip_of(model):
    return lambda: torch.nn.utils.clip_grad_norm_(model.parameters(), 0.02)


def joined_with_clipping(communicator, average, step_by=lambda averager: averager.step(), scale=lambda loss: loss, **options):
    """Trains in join() with the averaged gradient clipped. Every rank simulates all ranks, and compares."""
    model, optimizer, averager = make(communicator, torch.optim.AdamW, **options)
    alone = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3))
    alone.load_state_dict(model.state_dict())
    expected, ended = torch.optim.AdamW(alone.parameters(), lr=0.05), []
    for step in range(7):
        ranks = [rank for rank in range(eave.size()) if step < batches_of(rank)]
        expected.zero_grad()
        sum(loss_of(alone, rank, step) / len(ranks) for rank in ranks).backward()
        assert clip_of(alone)() > 0.02
        expected.step()
    with averager.join(after_step=lambda: ended.append(1), before_update=clip_of(model)):
        for step in range(batches_of(eave.rank())):
            optimizer.zero_grad()
            scale(loss_of(model, eave.rank(), step)).backward()
            average(averager)
            clip_of(model)()
            step_by(averager)
    assert is_same_everywhere(model.parameters()), communicator
    for mine, theirs in zip(model.parameters(), alone.parameters()):
        assert torch.allclose(mine, theirs, rtol=0, atol=1e-4), (communicator, mine, theirs)
    assert len(ended) == (0 if eave.size() == 1 else 7 - batches_of(eave.rank())), ended
    averager.close()


def hold_ranks_without_data_clip_the_mean_as_the_others_do():
    joined_with_clipping("allreduce", lambda averager: averager.average_gradients())
    joined_with_clipping("local-sgd", lambda averager: averager.average_gradients(), tau=2, post_local_at=100)


def hold_a_scaler_divides_before_the_mean_of_joined_steps():
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)

    def step(averager):
        scaler.step(averager)
        scaler.update()

    for unscaled in (lambda averager: averager, lambda averager: averager._optimizer):

        def average(averager):
            groups = averager._optimizer.param_groups
            assert type(groups) is list
            scaler.unscale_(unscaled(averager))
            averager.average_gradients()
            assert list(averager._optimizer.param_groups) == groups

        joined_with_clipping("allreduce", average, step, scaler.scale)


def step_scaled(scaler, averager, loss):
    """A step with this GradScaler, or with none."""
    (scaler.scale(loss) if scaler else loss).backward()
    if scaler:
        scaler.step(averager)
        scaler.update()
    else:
        averager.step()


def hold_a_scaler_alone_steps_in_join():
    trained = []
    for scaler in (None, torch.amp.GradScaler("cpu", init_scale=1024.0)):
        model, optimizer, averager = make()
        with averager.join():
            for step in range(batches_of(eave.rank())):
                optimizer.zero_grad()
                step_scaled(scaler, averager, loss_of(model, eave.rank(), step))
        assert is_same_everywhere(model.parameters())
        trained.append([each.detach().clone() for each in model.parameters()])
        averager.close()
    assert all(torch.equal(*pair) for pair in zip(*trained))


def hold_scales_that_have_parted_in_join_change_no_step():
    """A step that is left out lowers the scale of ranks with data only. The next join() trains as without a scaler."""
    trained = []
    for scaler in (None, torch.amp.GradScaler("cpu", init_scale=1024.0)):
        model, optimizer, averager = make()
        for bad in (6, None):
            with averager.join():
                for step in range(batches_of(eave.rank())):
                    optimizer.zero_grad()
                    step_scaled(scaler, averager, loss_of(model, eave.rank(), step) * (math.inf if step == bad else 1))
            if scaler:
                assert scaler.get_scale() == (512.0 if batches_of(eave.rank()) > 6 else 1024.0), scaler.get_scale()
        assert is_same_everywhere(model.parameters()) and averager.steps_left_out == 1
        trained.append([each.detach().clone() for each in model.parameters()])
        averager.close()
    assert all(torch.equal(*pair) for pair in zip(*trained))


def calls_of_before_update(model, optimizer, averager, nan_at=None):
    """How often a rank calls it, if its loop averages gradients and then steps. The loss of one step may be NaN."""
    called = []
    with averager.join(before_update=lambda: called.append(1)):
        for step in range(batches_of(eave.rank())):
            optimizer.zero_grad()
            (loss_of(model, eave.rank(), step) * (float("nan") if step == nan_at else 1)).backward()
            averager.average_gradients()
            averager.step()
    return len(called)


def steps_without_data(steps):
    """The number of the first `steps` steps that this rank follows without a batch."""
    return 0 if eave.size() == 1 else max(0, steps - batches_of(eave.rank()))


def hold_ranks_without_data_exchange_at_the_rate_of_their_step():
    """With Nesterov's momentum ranks exchange a point that depends on the rate, which after_step lowers."""
    def train_all(is_joined):
        model, optimizer, averager = make("gossip", lambda *words, **rate: torch.optim.SGD(
            *words, momentum=0.9, nesterov=True, **rate), tau=2)
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.7)
        steps = batches_of(eave.rank())
        if is_joined:
            with averager.join(after_step=schedule.step):
                train(model, optimizer, averager, steps, after_step=schedule.step)
        else:
            train(model, optimizer, averager, steps, after_step=schedule.step)
            for step in range(steps, 7):
                averager.begin_step(0, 1)
                averager.step()
                schedule.step()
        return [each.detach() for each in model.parameters()]

    assert all(map(torch.equal, train_all(True), train_all(False)))


def hold_before_update_is_not_called_where_no_gradients_were_averaged():
    for communicator, options in (("local-sgd", {"tau": 2}), ("easgd", {"tau": 2}), ("easgd-async", {"tau": 2}), ("none", {})):
        made = make(communicator, **options)
        assert calls_of_before_update(*made) == 0, communicator
        made[2].close()
    assert calls_of_before_update(*make("local-sgd", tau=2, post_local_at=5)) == steps_without_data(5)


def hold_a_step_that_is_left_out_calls_no_before_update():
    model, optimizer, averager = make()
    assert calls_of_before_update(model, optimizer, averager, nan_at=6) == steps_without_data(6)
    assert is_same_everywhere(model.parameters()) and averager.steps_left_out == 1


def hold_what_ranks_without_data_would_not_do_is_refused():
    for communicator, options in (("allreduce", {}), ("local-sgd", {"tau": 2, "post_local_at": 1})):
        model, optimizer, averager = make(communicator, **options)
        with averager.join():
            if batches_of(eave.rank()):
                loss_of(model, eave.rank(), 0).backward()
                refused("Pass it: averager.join(before_update=...)", averager.average_gradients)
                averager.step()
        with averager.join(before_update=clip_of(model)):
            if batches_of(eave.rank()):
                scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
                optimizer.zero_grad()
                scaler.scale(loss_of(model, eave.rank(), 0)).backward()
                refused("step within join(before_update=...)", averager.step)
                refused("step within join(before_update=...)", lambda: scaler.step(averager))
                averager.average_gradients()
                refused("scaler.unscale_ within join()", lambda: scaler.unscale_(averager))
                refused("scaler.unscale_ within join()", lambda: scaler.unscale_(optimizer))
                refused("scaler.step within join()", lambda: scaler.step(averager))
                clip_of(model)()
                averager.step()
        assert communicator != "allreduce" or is_same_everywhere(model.parameters())
        averager.close()


def hold_ranks_of_every_method_end_together():
    for communicator in ("local-sgd", "diloco", "easgd", "easgd-tree", "gossip", "easgd-async", "downpour", "mdownpour",
                         "none"):
        model, optimizer, averager = make(communicator, **TAU.get(communicator, {"tau": 2}))
        for epoch in range(2):
            with averager.join():
                train(model, optimizer, averager, batches_of(eave.rank()), first=100 * epoch)
            with averager.consensus():
                assert is_same_everywhere(model.parameters()), communicator
        averager.close()


def hold_joined_steps_weigh_samples():
    model, optimizer, averager = make("allreduce", torch.optim.SGD)
    before = [each.detach().clone() for each in model.parameters()]
    expected, samples = [torch.zeros_like(each) for each in before], 0
    for rank in range(eave.size()):
        optimizer.zero_grad()
        model.eval()
        loss_of(model, rank, 0).backward()
        model.train()
        samples += 2 + rank
        for total, each in zip(expected, model.parameters()):
            total += (2 + rank) * each.grad
    with averager.join():
        optimizer.zero_grad()
        averager.begin_step(2 + eave.rank())
        loss_of(model, eave.rank(), 0).backward()
        averager.step()
    for start, total, each in zip(before, expected, model.parameters()):
        assert torch.allclose(each, start - 0.05 * total / samples, rtol=0, atol=1e-6)


def hold_a_run_counts_the_samples_of_joined_steps():
    all_steps = sum(map(batches_of, range(eave.size())))
    for communicator, told in (("allreduce", 0), ("local-sgd", 0), ("local-sgd", 3)):
        model, _, averager = make(communicator, **TAU.get(communicator, {"tau": 2}))
        with folder_of_all_ranks() as folder:
            with eave.Run(folder / "run", averager, batch=4, train_samples=8, config={"resume": True}) as run:
                with averager.join():
                    refused("5 samples of this rank, but the run's batch is 4", lambda: averager.begin_step(5))
                    for step in range(batches_of(eave.rank())):
                        if told:
                            averager.begin_step(told)
                        loss_of(model, eave.rank(), step).backward()
                        averager.step()
                with averager.consensus():
                    run.evaluate(accuracy=0.5)
            averager.close()
            summary = json.loads((folder / "run" / "summary.json").read_text())
        samples = all_steps * (told or 4)
        assert (summary["samples"], summary["epochs"]) == (samples, samples / 8), (communicator, summary)


def hold_what_join_cannot_follow_is_refused():
    model, optimizer, averager = make()
    other_model, _, other = make()
    with averager.join():
        refused("consensus within join()", averager.consensus().__enter__)
        refused("join() within join()", other.join().__enter__)
        other_model(batch(0, 0)).sum().backward()
        refused("within the join() of another averager", other.step)
        refused("expected samples above 0", lambda: averager.begin_step(0, 5))
        train(model, optimizer, averager, 2)
    averager.begin_step()
    model(batch(0, 0)).sum().backward()
    refused("join within a step", averager.join().__enter__)
    averager.step()


def hold_replicas_that_drift_apart_are_named_after_so_many_steps():
    if eave.size() == 1:
        return
    model, optimizer, averager = make(replica_hash_every=5)
    train(model, optimizer, averager, 1)
    if eave.rank() == 1:
        with torch.no_grad():
            model[0].weight[0, 0] += 1
    try:
        train(model, optimizer, averager, 20)
        raise AssertionError("replicas differ, and nobody says so")
    except eave.Error as error:
        assert error.code == 70 and error.is_shared and "rank 1 on" in str(error) or eave.size() == 2, error
    eave._library.job.is_broken = False  # no operation is in flight here
    from eave._pytorch.leaving import open_averagers
    averager._handle = None  # it cannot be closed after this error
    averager._last_facts = ("", (0.0, 0, 0), 0)
    eave._library.job.open -= 1
    averager._let_go()
    assert averager not in open_averagers


def hold_configurations_that_differ_are_refused_with_both():
    if eave.size() == 1:
        return
    is_last = eave.rank() == eave.size() - 1
    for options in ({"tau": 4 if is_last else 2}, {"tau": 2, "seed": 3 if is_last else 2}):
        refused(f"rank {eave.size() - 1} the options", lambda: make("easgd", **options), code=78)
    refused("communicator=local-sgd", lambda: make("local-sgd" if is_last else "easgd"), code=78)
    refused("optimizer Adam", lambda: make(kind=torch.optim.Adam if is_last else torch.optim.SGD), code=78)


def hold_a_handler_of_the_program_stays():
    heard = []
    signal.signal(signal.SIGUSR2, lambda *_: heard.append(1))
    model, optimizer, averager = make(leave_on=(signal.SIGUSR1, signal.SIGUSR2))
    os.kill(os.getpid(), signal.SIGUSR2)
    train(model, optimizer, averager, 3)
    assert heard == [1] and not averager.leaving
    for wrong in ("SIGUSR1", signal.SIGKILL, 1234, True):
        refused("leave_on", lambda: make(leave_on=wrong))


def leave():
    """The last case, which ends the job: all ranks see the same step, and the next averager leaves by itself."""
    model, optimizer, averager = make("easgd", tau=2, leave_on=None)
    steps = 0
    while not averager.leaving:
        train(model, optimizer, averager, 1, first=steps)
        steps += 1
        if steps == 4 and eave.rank() == eave.size() - 1:
            eave.ask_to_leave()
        assert steps < 10000, "nobody leaves"
    assert eave.sum_over_ranks([steps]) == [steps * eave.size()], "not after the same step"
    averager.close()
    try:
        with make("local-sgd", tau=2)[2] as averager:
            try:
                with averager.join():
                    train(averager._model, averager._optimizer, averager, batches_of(eave.rank()))
                raise AssertionError("step() does not leave")
            except eave.Leaving:
                with averager.consensus() as model:
                    assert is_same_everywhere(model.parameters())
                raise
    finally:
        print(f"rank {eave.rank()} leaves", flush=True)


def train_until_signal(communicator):
    """Without `with`, and with an averager that nobody closes."""
    model, optimizer, averager = make(communicator, **TAU.get(communicator, {"tau": 2}))
    is_last, steps = eave.rank() == eave.size() - 1, 0
    try:
        with averager.join():
            while is_last or steps < 3:
                train(model, optimizer, averager, 1, first=steps)
                steps += 1
                if is_last and steps == 5:
                    os.kill(os.getpid(), signal.SIGUSR1)
                assert steps < 100000, "nobody leaves"
    except eave.Leaving:
        sys.stdout.write(f"rank {eave.rank()} leaves\n")
        raise


def be_silent():
    model, optimizer, averager = make(limit_step="1s")
    train(model, optimizer, averager, 3)
    if eave.rank() == eave.size() - 1:
        time.sleep(100)
    train(model, optimizer, averager, 3)


if sys.argv[1] == "cases":
    run_cases(globals())
    leave()
elif sys.argv[1] == "signal":
    train_until_signal(sys.argv[2])
else:
    be_silent()
