"""When an Averager raises Leaving: before the next step, when the program has ended the last one."""
from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Collection, Iterable, Optional

from .. import _leaving
from .._sampler import samplers
from .random_numbers import RandomNumbers

if TYPE_CHECKING:
    import torch

    from .._averager import Averager

_LONGEST_WAIT = 100  # steps after which all ranks leave, wherever an iteration of several averagers has come to


class _Place:
    """Random numbers, samplers and buffers after a step. Before it leaves, a program may have drawn the next batch, and a
    model whose step begins in step() has computed. The job that goes on does both again."""

    def __init__(self, models: Iterable[torch.nn.Module]) -> None:
        self._random = RandomNumbers()
        self._samplers = [(sampler, dict(vars(sampler))) for sampler in samplers]
        self._buffers = [(model, name, each.detach().clone()) for model in models for name, each in model.named_buffers()]

    def go_back(self, has_computed: bool) -> None:
        self._random.put_back()
        for sampler, counts in self._samplers:
            vars(sampler).update(counts)
        for model, name, value in self._buffers if has_computed else ():
            model.get_buffer(name).detach().copy_(value)


class _Turns:
    """Iterations of a loop in which several averagers step, as those of a GAN. One begins when the averager that steps
    first steps again after another one."""

    def __init__(self) -> None:
        self._first = self._last = -1  # numbers of averagers; -1: none
        self._stepped: set[int] = set()   # in this iteration
        self._length = self._longest = 0  # steps of this iteration, and of the longest one before

    def begin_with(self, number: int) -> bool:
        """Whether the step that this averager is about to take begins an iteration."""
        if self._is_first_again(number):
            return True
        return self._length >= self._longest if self._longest else number in self._stepped

    def _is_first_again(self, number: int) -> bool:
        return number == self._first != self._last

    def note(self, number: int, numbers: Collection[int]) -> None:
        """Call it after each step, with the numbers of all open averagers."""
        if self._first not in numbers:
            self._begin(number, longest=0)
        elif self._is_first_again(number):
            self._begin(number, longest=max(self._longest, self._length))
        self._last = number
        self._stepped.add(number)
        self._length += 1

    def _begin(self, number: int, longest: int) -> None:
        self._first, self._length, self._longest = number, 0, longest
        self._stepped.clear()


class Departure:
    """Leaves before a step, on all ranks before the same one. Each process has one for all averagers that are open. So what
    follows a step in the program's loop still happens: schedulers, a GradScaler's update, the step of a GAN's other
    averager."""

    def __init__(self, averagers: Collection[Averager]) -> None:
        self._averagers = averagers
        self._turns = _Turns()
        self._place: Optional[_Place] = None
        self._waited = 0  # steps since the ranks could have left

    def note_step(self, averager: Averager) -> None:
        if len(self._averagers) > 1:
            self._turns.note(averager.number, [each.number for each in self._averagers])
        if _leaving.is_leaving():
            self._waited += self._is_leaving()
            self.keep_place()

    def keep_place(self) -> None:
        """Call it when the program may have drawn random numbers that belong to the last step."""
        if _leaving.is_leaving():
            self._place = _Place([each._model for each in self._averagers])

    def leave_before_step(self, averager: Averager, has_computed: bool) -> None:
        """Raises Leaving, if all ranks leave now. `has_computed`: the model has computed for the step already."""
        if self._is_leaving() and (self._waited > _LONGEST_WAIT or self._is_between_iterations(averager)):
            self.leave(has_computed)

    def _is_leaving(self) -> bool:
        return _leaving.is_leaving() and any(each._leaves_by_itself for each in self._averagers)

    def _is_between_iterations(self, averager: Averager) -> bool:
        """Returns False before each averager has taken a step: until then its save() would raise an Error."""
        if not all(each.steps for each in self._averagers):
            return False
        return len(self._averagers) == 1 or self._turns.begin_with(averager.number)

    def leave(self, has_computed: bool = False) -> None:
        if self._place:
            self._place.go_back(has_computed)
        _leaving.leave(self._averagers)


open_averagers: weakref.WeakSet[Averager] = weakref.WeakSet()  # those that are not closed
departure = Departure(open_averagers)
