"""A rank that checks, case by case, that gradients are exchanged during backward, and when they are not.

    pytorch_overlap_job.py        each function hold_... is a case, on any number of ranks
"""
import array
import copy
import io

from pytorch_cases import eave, is_same_everywhere, open_averager, run_cases, torch

STEPS, WIDTH = 5, 220  # five layers of 48400 weights each: a part of the gradients is at least 32768 long
METHODS = [{}, {"overlap": True}, {"bucket_bytes": 4096}]


class Net(torch.nn.Module):
    """Layers that backward finishes in another order than that in which they are registered, a tied weight, and a layer
    without a gradient in some steps."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(eave.rank())
        self.inner, self.outer = torch.nn.Linear(WIDTH, WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.first, self.tied = torch.nn.Linear(WIDTH, WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.tied.weight = self.first.weight
        self.sometimes, self.last = torch.nn.Linear(WIDTH, WIDTH), torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, x, skips=False):
        inner = torch.tanh(self.inner(torch.tanh(self.first(x))))
        tied = self.tied(self.outer(inner))
        return self.last(tied if skips else torch.relu(self.sometimes(tied)))


def batch(step, part=0):
    generator = torch.Generator().manual_seed(100 * step + 10 * part + eave.rank())
    return torch.randn(4, WIDTH, generator=generator)


def make(**options):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    return model, optimizer, open_averager(model, optimizer, "allreduce", **options)


def backward(model, step, part=0, **how):
    model(batch(step, part), **how).square().mean().backward()


class Watched:
    """What an averager has handed over before step(), and how often it has exchanged gradients, for each step."""

    def __init__(self, averager):
        self.handed_over, self.exchanges = [0], []
        self._averager, self._call = averager, averager._call
        averager._call = self._count

    def _count(self, name, *arguments):
        self._call(name, *arguments)
        if name == "gradients_ready":
            self.handed_over[-1] = sum(each.numel() for each in self._averager._vector.parameters[arguments[3]:])
        if name == "before_update_from":
            self.exchanges.append(arguments[6].value)
            self.handed_over.append(0)


def parameters_after(take_step, steps=STEPS, **options):
    """The parameters after some steps, and what the averager was seen to do."""
    model, optimizer, averager = make(**options)
    seen = Watched(averager)
    for step in range(steps):
        optimizer.zero_grad()
        take_step(model, optimizer, averager, step)
    averager.close()
    return torch.cat([each.detach().flatten() for each in model.parameters()]), seen


def expect_same_bits(take_step, steps=STEPS, **options):
    """The bits are those without overlap. Returns what was seen with it."""
    expected, without = parameters_after(take_step, steps, **{**options, "overlap": False})
    found, seen = parameters_after(take_step, steps, **options)
    assert torch.equal(found, expected), f"overlap gives other bits with {options}"
    assert not any(without.handed_over) and without.exchanges == [1] * steps, (without.handed_over, without.exchanges)
    assert seen.handed_over[0] == 0 and (eave.size() > 1 or not any(seen.handed_over)), seen.handed_over
    return seen


def expect_overlap(seen):
    """All steps but the first have handed gradients over, and none has exchanged them again."""
    if eave.size() > 1:
        assert all(seen.handed_over[1:-1]), seen.handed_over
        assert seen.exchanges == [1] * len(seen.exchanges), seen.exchanges


def expect_pauses(seen, steps):
    """Exactly these steps have handed gradients over and exchanged them again."""
    if eave.size() > 1:
        assert [step for step, count in enumerate(seen.handed_over) if count] == steps, seen.handed_over
        assert [step for step, count in enumerate(seen.exchanges) if count == 2] == steps, seen.exchanges


def one_backward(model, optimizer, averager, step):
    backward(model, step)
    averager.step()


def hold_bits_are_those_without_overlap():
    for options in METHODS:
        expect_overlap(expect_same_bits(one_backward, **options))


def hold_compressed_gradients_wait_for_step_so_that_residuals_are_right():
    for options in ({}, {"overlap": True}):
        assert not any(expect_same_bits(one_backward, compression="int8", **options).handed_over)


def hold_gradients_that_stay_in_the_vector_wait_for_step():
    def keep(model, optimizer, averager, step):
        optimizer.zero_grad(set_to_none=False)
        one_backward(model, optimizer, averager, step)

    parameters_after(keep)
    model, optimizer, averager = make()
    kept = None
    for step in range(STEPS):
        model.zero_grad(set_to_none=False)
        backward(model, step)
        kept = kept or [each.grad for each in model.parameters()] if step == 1 else kept
        if kept:  # a caller may go on with the gradients of an earlier step
            assert all(each.grad is before for each, before in zip(model.parameters(), kept))
        averager.step()


def hold_gradients_that_stay_are_right_if_they_change_on_one_rank_and_are_exchanged_again():
    def keep(model, optimizer, averager, step):
        model.zero_grad(set_to_none=eave.rank() == 0 or step == 0)
        backward(model, step)
        if eave.rank() == 0 and step == 3:
            model.first.weight.grad.mul_(0.5)
        averager.step()

    expected, found = (steps_without_zero_grad(keep, overlap=overlap) for overlap in (False, None))
    assert torch.equal(expected, found)


def steps_without_zero_grad(take_step, **options):
    model, optimizer, averager = make(**options)
    for step in range(STEPS):
        take_step(model, optimizer, averager, step)
    averager.close()
    return torch.cat([each.detach().flatten() for each in model.parameters()])


def hold_all_gradients_go_during_backward():
    model, optimizer, averager = make()
    seen = Watched(averager)
    for step in range(2):
        optimizer.zero_grad()
        backward(model, step)
        every = sum(each.numel() for each in model.parameters())
        assert seen.handed_over[-1] == (every if step and eave.size() > 1 else 0), seen.handed_over
        averager.step()


def hold_a_layer_without_a_gradient_waits_for_step():
    def skip(model, optimizer, averager, step):
        backward(model, step, skips=(step + eave.rank()) % 2 == 0)
        averager.step()

    expect_same_bits(skip)


def hold_a_layer_that_never_has_a_gradient_holds_nothing_up():
    def skip(model, optimizer, averager, step):
        backward(model, step, skips=True)
        averager.step()

    expect_overlap(expect_same_bits(skip))


def hold_a_gradient_that_comes_for_the_first_time_is_in_the_mean():
    def skip(model, optimizer, averager, step):
        backward(model, step, skips=step < 3 or eave.rank() == 0)
        averager.step()

    seen = expect_same_bits(skip)
    assert eave.size() == 1 or seen.exchanges == [1, 1, 1, 2, 1], seen.exchanges


def hold_ranks_without_samples_take_part():
    def idle(model, optimizer, averager, step):
        averager.begin_step(0 if eave.rank() else 4, 4)
        if not eave.rank():
            backward(model, step)
        assert eave.sum_over_ranks([1.0]) == [eave.size()]
        averager.step()

    assert not any(expect_same_bits(idle).handed_over)


def hold_ranks_whose_data_has_ended_take_part():
    def steps(overlap):
        model, optimizer, averager = make(overlap=overlap)
        with averager.join():
            for step in range(2 + 2 * eave.rank()):
                optimizer.zero_grad()
                one_backward(model, optimizer, averager, step)
        averager.close()
        return torch.cat([each.detach().flatten() for each in model.parameters()])

    assert torch.equal(steps(False), steps(None))


def hold_several_backwards_overlap_with_the_last_one():
    def accumulate(model, optimizer, averager, step):
        for part in range(3):
            backward(model, step, part)
        averager.step()

    expect_overlap(expect_same_bits(accumulate))


def hold_more_backwards_than_before_exchange_again_and_pause():
    def accumulate(model, optimizer, averager, step):
        for part in range(3 if step == 2 else 1):
            backward(model, step, part)
        averager.step()

    seen = expect_same_bits(accumulate, 8)
    assert eave.size() == 1 or seen.exchanges == [1, 1, 2, 1, 1, 1, 1, 1], seen.exchanges


def hold_a_graph_that_is_retained_may_be_used_twice():
    def again(model, optimizer, averager, step):
        loss = model(batch(step)).square().mean()
        loss.backward(retain_graph=True)
        if step > 1:
            loss.backward()
        averager.step()

    expect_same_bits(again)


def hold_no_sync_lets_the_last_backward_overlap():
    def accumulate(model, optimizer, averager, step):
        with averager.no_sync():
            for part in range(1 + step):
                backward(model, step, part)
        backward(model, step, 2)
        averager.step()

    expect_overlap(expect_same_bits(accumulate))


def hold_a_gradient_that_only_an_earlier_backward_has_is_in_the_mean():
    def accumulate(model, optimizer, averager, step):
        with averager.no_sync():
            backward(model, step)
        backward(model, step, 1, skips=True)
        averager.step()

    expect_overlap(expect_same_bits(accumulate))


def hold_clipping_and_unscaling_give_the_same_bits_and_pause_overlap_for_ever_longer():
    def clip(model, optimizer, averager, step):
        backward(model, step)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1e-5)
        averager.step()

    expect_pauses(expect_same_bits(clip, 14), [1, 4, 9])
    scaler = [None]

    def unscale(model, optimizer, averager, step):
        if step == 0:
            scaler[0] = torch.amp.GradScaler("cpu", init_scale=2.0**60, growth_interval=2)
        scaler[0].scale(model(batch(step)).square().mean()).backward()
        scaler[0].unscale_(optimizer)
        averager.step()
        scaler[0].update()

    expect_pauses(expect_same_bits(unscale), [1, 4])


def hold_what_one_rank_does_to_its_gradients_counts():
    def change(model, optimizer, averager, step):
        backward(model, step)
        if eave.rank() == eave.size() - 1:
            if step == 1:
                model.tied.bias.grad[-1] += 1
            elif step == 4:
                model.outer.weight.grad = None
            elif step == 6:
                model.outer.weight.grad = model.outer.weight.grad.t()  # another layout
        averager.step()

    seen = expect_same_bits(change, 12)
    assert eave.size() == 1 or seen.exchanges.count(2) >= 2, seen.exchanges


def hold_a_backward_that_is_thrown_away_leaves_nothing_behind():
    def anew(model, optimizer, averager, step):
        if step == 2:
            backward(model, step, 1)
            optimizer.zero_grad()
        backward(model, step)
        averager.step()

    expect_same_bits(anew)


def hold_averaged_gradients_may_be_clipped():
    def clip(model, optimizer, averager, step):
        backward(model, step)
        averager.average_gradients()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        averager.step()

    expect_overlap(expect_same_bits(clip))


def hold_other_collectives_fit_between_all_parts_of_a_step():
    def sums(model, optimizer, averager, step):
        assert eave.sum_over_ranks([1.0]) == [eave.size()]
        output = model(batch(step), skips=eave.rank() == 0 and step == 2)  # then ranks have handed over unequal parts
        assert eave.sum_over_ranks([1.0]) == [eave.size()]
        output.square().mean().backward()
        assert eave.sum_over_ranks([float(eave.rank())]) == [sum(range(eave.size()))]
        if step == 3:
            average_a_vector()
        averager.step()

    expect_overlap(expect_same_bits(sums))

    def between(model, optimizer, averager, step):
        backward(model, step)
        assert eave.sum_over_ranks([1.0]) == [eave.size()]
        backward(model, step, 1)
        averager.step()

    expect_same_bits(between)


def average_a_vector():
    values, gradients = array.array("f", [1.0] * 3), array.array("f", [0.0] * 3)
    with eave.VectorAverager(values, gradients, "allreduce") as averager:
        averager.begin_step(0.1)
        gradients[:] = array.array("f", [1.0 + eave.rank()] * 3)
        averager.before_update()
        averager.after_update()
    assert gradients.tolist() == [1 + (eave.size() - 1) / 2] * 3


def hold_an_averager_may_be_closed_between_backward_and_step():
    model, optimizer, averager = make()
    one_backward(model, optimizer, averager, 0)
    optimizer.zero_grad()
    backward(model, 1, skips=eave.rank() == 0)
    averager.close()


def hold_one_rank_may_compute_in_train_mode_before_a_collective_call():
    model, optimizer, averager = make()
    for step in range(3):
        optimizer.zero_grad()
        one_backward(model, optimizer, averager, step)
    if eave.rank() == 0:
        model(batch(3))
    eave.sum_over_ranks([1.0])
    averager.close()


def hold_compiled_models_give_the_same_bits():
    def compiled(model, optimizer, averager, step):
        torch.compile(model, backend="eager")(batch(step)).square().mean().backward()
        averager.step()

    expect_same_bits(compiled)


def hold_gradients_in_another_layout_give_the_same_bits():
    def steps(overlap):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 64, 3), torch.nn.Conv2d(64, 64, 3))
        model.to(memory_format=torch.channels_last)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        averager = open_averager(model, optimizer, "allreduce", overlap=overlap)
        for step in range(STEPS):
            optimizer.zero_grad()
            images = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(step + 10 * eave.rank()))
            model(images).square().mean().backward()
            model[1].weight.grad = model[1].weight.grad.contiguous()
            if step == 2:
                eave.sum_over_ranks([1.0])
            averager.step()
        averager.close()
        return torch.cat([each.detach().flatten() for each in model.parameters()])

    assert torch.equal(steps(False), steps(None))


def hold_copies_of_the_model_hand_nothing_over():
    model, optimizer, averager = make()
    seen = Watched(averager)
    one_backward(model, optimizer, averager, 0)
    optimizer.zero_grad()
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    for each in (copy.deepcopy(model), torch.load(file, weights_only=False)):
        averager.begin_step()
        backward(each, 1)
        assert seen.handed_over[-1] == 0
        backward(model, 1)
        assert seen.handed_over[-1] > 0 or eave.size() == 1
        averager.step()
        optimizer.zero_grad()


def hold_a_step_of_one_rank_that_is_not_finite_is_left_out_on_all():
    model, optimizer, averager = make()
    for step in range(4):
        optimizer.zero_grad()
        loss = model(batch(step)).square().mean()
        (loss * float("inf") if step == 2 and eave.rank() == 0 else loss).backward()
        averager.step()
    assert averager.steps_left_out == 1 and is_same_everywhere(model.parameters())


run_cases(globals())
