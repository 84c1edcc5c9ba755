"""A rank that checks, case by case, that gradients are exchanged during backward, and when they are not.

    pytorch_overlap_job.py        each function hold_... is a case, on any number of ranks
"""
import copy
import ctypes
import io

from pytorch_cases import eave, is_same_everywhere, open_averager, refused, run_cases, torch

STEPS, WIDTH = 5, 220  # three layers of 48400 weights each: a part of the gradients is at least 32768 long
METHODS = [{}, {"compression": "int8"}, {"bucket_bytes": 4096}]


class Net(torch.nn.Module):
    """Layers that backward finishes in another order than that in which they are registered, a tied weight, and a layer
    without a gradient in some steps."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(eave.rank())
        self.inner = torch.nn.Linear(WIDTH, WIDTH)
        self.outer, self.sometimes = torch.nn.Linear(WIDTH, WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.first = torch.nn.Linear(WIDTH, WIDTH)
        self.tied = torch.nn.Linear(WIDTH, WIDTH)
        self.tied.weight = self.first.weight

    def forward(self, x, skips=False):
        inner = torch.tanh(self.inner(torch.tanh(self.first(x))))
        return self.tied(self.outer(inner if skips else torch.relu(self.sometimes(inner))))


def batch(step, part=0):
    generator = torch.Generator().manual_seed(100 * step + 10 * part + eave.rank())
    return torch.randn(4, WIDTH, generator=generator)


def make(overlap=True, **options):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    return model, optimizer, open_averager(model, optimizer, "allreduce", overlap=overlap, **options)


def backward(model, step, part=0, **how):
    model(batch(step, part), **how).square().mean().backward()


def parameters_after(take_step, **options):
    """The parameters after some steps, and how many of the gradients were handed over before step() in each."""
    model, optimizer, averager = make(**options)
    handed_over = watch(averager)
    for step in range(STEPS):
        optimizer.zero_grad()
        take_step(model, optimizer, averager, step)
        handed_over.append(0)
    averager.close()
    return torch.nn.utils.parameters_to_vector(model.parameters()).detach(), handed_over[:-1]


def watch(averager):
    """Returns a list that ends with the number of gradients handed over since its end was appended."""
    counts, call = [0], averager._call

    def count(name, *arguments):
        if name == "gradient_ready":
            counts[-1] += arguments[1]
        call(name, *arguments)

    averager._call = count
    return counts


def expect_same_bits(take_step, overlaps, **options):
    """The bits are those without overlap. `overlaps`: whether gradients are handed over after the first step."""
    expected, none = parameters_after(take_step, overlap=False, **options)
    found, handed_over = parameters_after(take_step, **options)
    assert torch.equal(found, expected), f"overlap gives other bits with {options}"
    assert not any(none) and handed_over[0] == 0, (none, handed_over)
    if eave.size() > 1:
        assert all(handed_over[1:]) == overlaps and any(handed_over) == overlaps, handed_over
    else:
        assert not any(handed_over), handed_over


def one_backward(model, optimizer, averager, step):
    backward(model, step)
    averager.step()


def hold_bits_are_those_without_overlap():
    for options in METHODS:
        expect_same_bits(one_backward, True, **options)


def hold_gradients_that_stay_in_the_vector_are_handed_over_too():
    def keep(model, optimizer, averager, step):
        optimizer.zero_grad(set_to_none=False)
        one_backward(model, optimizer, averager, step)

    expect_same_bits(keep, True)


def hold_all_gradients_go_during_backward():
    model, optimizer, averager = make()
    handed_over = watch(averager)
    for step in range(2):
        optimizer.zero_grad()
        backward(model, step)
        assert handed_over[-1] == (sum(each.numel() for each in model.parameters()) if step and eave.size() > 1 else 0)
        averager.step()


def hold_a_layer_without_a_gradient_waits_for_step():
    def skip(model, optimizer, averager, step):
        backward(model, step, skips=(step + eave.rank()) % 2 == 0)
        averager.step()

    expected, _ = parameters_after(skip, overlap=False)
    found, handed_over = parameters_after(skip)
    assert torch.equal(found, expected) and any(handed_over) == (eave.size() > 1)


def hold_ranks_without_samples_take_part():
    def idle(model, optimizer, averager, step):
        averager.begin_step(0 if eave.rank() else 4, 4)
        if not eave.rank():
            backward(model, step)
        averager.step()

    expected, _ = parameters_after(idle, overlap=False)
    assert torch.equal(parameters_after(idle)[0], expected)


def hold_several_backwards_from_the_first_step_on_hand_nothing_over():
    def accumulate(model, optimizer, averager, step):
        for part in range(3):
            backward(model, step, part)
        averager.step()

    expect_same_bits(accumulate, False)


def hold_no_sync_lets_the_last_backward_overlap():
    def accumulate(model, optimizer, averager, step):
        with averager.no_sync():
            for part in range(2):
                backward(model, step, part)
        backward(model, step, 2)
        averager.step()

    expect_same_bits(accumulate, True)


def hold_a_gradient_that_only_an_earlier_backward_has_is_in_the_mean():
    def accumulate(model, optimizer, averager, step):
        with averager.no_sync():
            backward(model, step)
        backward(model, step, 1, skips=True)
        averager.step()

    expect_same_bits(accumulate, True)


def hold_clipping_and_unscaling_from_the_first_step_on_hand_nothing_over():
    def clip(model, optimizer, averager, step):
        backward(model, step)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        averager.step()

    expect_same_bits(clip, False)
    scaler = [None]

    def unscale(model, optimizer, averager, step):
        if step == 0:
            scaler[0] = torch.amp.GradScaler("cpu", init_scale=2.0**60, growth_interval=2)
        scaler[0].scale(model(batch(step)).square().mean()).backward()
        scaler[0].unscale_(optimizer)
        averager.step()
        scaler[0].update()

    expect_same_bits(unscale, False)


def refuse_after(change, words, where):
    """After a first step that overlap may follow, `change` is refused, by backward or by step()."""
    model, optimizer, averager = make()
    handed_over = watch(averager)
    one_backward(model, optimizer, averager, 0)
    optimizer.zero_grad()
    backward(model, 1)
    assert handed_over[0] > 0
    if where == "step":
        change(model)
        refused(words, averager.step)
    else:
        refused(words, lambda: change(model))
        refused(words, averager.step)
    end_step(averager)
    averager.close()  # with several open, steps would begin at step()


def end_step(averager):
    """Ends the step with gradients that are wrong, so that its averager can be closed."""
    averager._before_update(0.0, (ctypes.c_uint8 * 9)(*[1] * 9))
    averager._after_update()


def hold_what_changes_a_gradient_in_exchange_is_refused():
    if eave.size() == 1:
        return
    refuse_after(lambda model: backward(model, 1, 1), "with averager.no_sync():", "backward")
    refuse_after(lambda model: torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0), "without overlap=True", "step")
    refuse_after(lambda model: model.zero_grad(), "the gradient of 'tied.bias' was changed", "step")


def hold_copies_of_the_model_hand_nothing_over():
    model, optimizer, averager = make()
    handed_over = watch(averager)
    one_backward(model, optimizer, averager, 0)
    optimizer.zero_grad()
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    for each in (copy.deepcopy(model), torch.load(file, weights_only=False)):
        averager.begin_step()
        backward(each, 1)
        assert handed_over == [0]
        backward(model, 1)
        averager.step()
        optimizer.zero_grad()
        handed_over[0] = 0


def hold_a_step_of_one_rank_that_is_not_finite_is_left_out_on_all():
    model, optimizer, averager = make()
    for step in range(4):
        optimizer.zero_grad()
        loss = model(batch(step)).square().mean()
        (loss * float("inf") if step == 2 and eave.rank() == 0 else loss).backward()
        averager.step()
    assert averager.steps_left_out == 1 and is_same_everywhere(model.parameters())


run_cases(globals())
