"""Averager.join(): steps of ranks that have unequal numbers of batches."""
from __future__ import annotations

import contextlib
import ctypes
from typing import TYPE_CHECKING, Any, Callable, Iterator, Optional

from .. import _method
from .._caller import find_line
from .._error import CONFIGURATION, USAGE, Error
from .._leaving import Leaving
from .._library import AVERAGES_GRADIENTS
from .._ranks import sum_over_ranks

if TYPE_CHECKING:
    import torch

    from .._averager import Averager

# The values that schedulers change in an optimizer. A rank without data takes over these values from the ranks that have some.
_SCHEDULED = ("lr", "momentum", "betas", "weight_decay")


class Joined:
    """A join that is open. While it is, steps of its averager begin by begin()."""
    current: Optional[Joined] = None  # a process has at most one

    def __init__(self, averager: Averager, before_update: Optional[Callable[[], object]]) -> None:
        self._averager, self._before_update = averager, before_update
        self._averages = _may_average(averager)
        self._values: list[float] = []

    def begin_step(self, averager: Averager, samples: int, samples_everywhere: int) -> None:
        """Collective. Averager.begin_step while this join is open."""
        if averager is not self._averager:
            raise Error(USAGE, "begin_step within the join() of another averager: a rank whose data has ended could not "
                               "follow both; end that join() first")
        number = _method._whole(samples)
        if samples_everywhere and not number:
            raise Error(USAGE, "begin_step within join(): expected samples above 0; a rank that has no more leaves it")
        self.begin(number or averager._usual_samples)

    def begin(self, samples: int) -> bool:
        """Collective. Begins a step with this many samples of this rank, 0 if its data has ended. Returns False if the data
        of all ranks has ended."""
        averager = self._averager
        optimizer: torch.optim.Optimizer = averager._optimizer
        values = _scheduled_values(optimizer)
        numbers, begins = (ctypes.c_double * len(values))(*values), ctypes.c_int()
        averager._enter("begin_step", _method._BETWEEN_STEPS, _method._COMPUTING)
        try:
            averager._call("begin_joined_step", samples, numbers, len(values), ctypes.byref(begins))
        except Error as error:
            if error.code in (USAGE, CONFIGURATION):  # nothing has been done
                averager._stage = _method._BETWEEN_STEPS
            raise
        if not begins.value:
            averager._stage = _method._BETWEEN_STEPS
            return False
        averager._began, averager._rate = find_line(), numbers[0]
        averager._begin_overlap()
        if samples == 0 and list(numbers) != values:
            _take_over(optimizer, iter(numbers))
            if averager._look_ahead:
                averager._look_ahead.follow_rates()
        self._values = _scheduled_values(optimizer)
        return True

    def follow(self, after_step: Optional[Callable[[], object]]) -> None:
        """Collective. Takes part in the steps of ranks that have data, until the data of all ranks has ended."""
        averager = self._averager
        while self._begin_without_data():
            before = averager.steps
            self._follow_step()
            if averager.steps == before:  # the ranks have met, without a step of this one
                averager._steps_taken -= 1
            elif after_step:
                after_step()

    def _begin_without_data(self) -> bool:
        if self._averager._look_ahead:
            self._averager._look_ahead.follow_rates()  # which after_step may have changed
        return self.begin(0)

    def _follow_step(self) -> None:
        averager = self._averager
        if not (self._before_update and self._averages):
            return averager.step(0.0)
        if averager.average_gradients(0.0):  # otherwise no rank's optimizer takes this step, or none but those with data
            self._before_update()
        averager.step()

    def refuse_mean_alone(self, averager: Averager) -> None:
        """Raises an Error in average_gradients() if ranks whose data has ended would not know what follows it."""
        if self._averages and averager is self._averager and not self._before_update:
            raise Error(USAGE, "average_gradients within join(): ranks whose data has ended cannot repeat what the loop does "
                               "before step(). Pass it: averager.join(before_update=...), or lambda: None if it does "
                               "nothing. With a GradScaler, call scaler.unscale_(averager) first")

    def refuse_step_alone(self, averager: Averager) -> None:
        """Raises an Error in a step() without average_gradients() if ranks whose data has ended call before_update in it."""
        if self._averages and averager is self._averager and self._before_update:
            raise Error(USAGE, "step within join(before_update=...): ranks whose data has ended call before_update between "
                               "average_gradients() and step(): do the same in the loop, or leave before_update out")

    def refuse_scaled_mean(self, averager: Averager, call: str) -> None:
        """Raises an Error when a GradScaler is about to divide what average_gradients() has averaged."""
        if self._averages and averager is self._averager and averager._updates is not None:
            raise Error(USAGE, f"{call} within join(): it would divide the mean on ranks with data only: call "
                               "scaler.unscale_(averager) before average_gradients()")

    def refuse_late_values(self) -> None:
        """Raises an Error if what schedulers change differs from what it was when the step began."""
        if _scheduled_values(self._averager._optimizer) != self._values:
            raise Error(USAGE, "step within join(): the learning rate, momentum or weight decay was set after the step began, "
                               "and ranks whose data has ended have taken over the one before: set it before the model computes")


def _may_average(averager: Averager) -> bool:
    """Whether the method averages gradients in some steps."""
    begins_so = any(name.replace("-", "_") == "post_local_at" and str(value) != "0" for name, value in averager._options.items())
    return averager._has(AVERAGES_GRADIENTS) or begins_so


def _scheduled_values(optimizer: torch.optim.Optimizer) -> list[float]:
    """The learning rate of the first group, then what schedulers may change in each group."""
    values = [float(optimizer.param_groups[0]["lr"])]
    for group in optimizer.param_groups:
        for name in _SCHEDULED:
            if _is_scheduled(group.get(name)):
                values += map(float, group[name]) if isinstance(group[name], tuple) else [float(group[name])]
    return values


def _is_scheduled(value: Any) -> bool:
    import torch
    if isinstance(value, tuple):
        return all(isinstance(each, (int, float)) for each in value)
    return isinstance(value, (int, float)) or (isinstance(value, torch.Tensor) and value.numel() == 1)


def _take_over(optimizer: torch.optim.Optimizer, numbers: Iterator[float]) -> None:
    import torch
    next(numbers)
    for group in optimizer.param_groups:
        for name in _SCHEDULED:
            value = group.get(name)
            if not _is_scheduled(value):
                continue
            if isinstance(value, tuple):
                group[name] = tuple(next(numbers) for _ in value)
            elif isinstance(value, torch.Tensor):
                value.fill_(next(numbers))
            else:
                group[name] = next(numbers)


@contextlib.contextmanager
def join(averager: Averager, after_step: Optional[Callable[[], object]],
         before_update: Optional[Callable[[], object]]) -> Iterator[None]:
    """See Averager.join."""
    if Joined.current:
        raise Error(USAGE, "join() within join(): while a rank without data follows the steps of one averager, it cannot "
                           "follow those of another; take them one after the other")
    averager._refuse_step_under_way("join")
    joined = Joined.current = Joined(averager, before_update)
    try:
        try:
            yield
            averager._refuse_step_under_way("the end of join()")
            joined.follow(after_step)
        except Leaving:  # on all ranks that have data; those without data wait for the other ones
            joined.follow(None)
            sum_over_ranks([1.0])
            raise
    finally:
        Joined.current = None
    if averager.leaving and sum_over_ranks([0.0]) != [0.0]:
        averager._leave()
