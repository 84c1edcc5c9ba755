"""Overlap: hands gradients over to the library while backward computes the other ones."""
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Callable, Iterator, Optional

from .._error import USAGE, Error
from .._library import job
from .._ranks import size

if TYPE_CHECKING:
    import torch
    from torch.utils.hooks import RemovableHandle

    from .parameters import ParameterVector

_LEAST = 2**15  # gradients of a part, except the last one: as many as the smallest bucket that allreduce chooses
_LONGEST_PAUSE = 10  # as a power of two, in steps


def refuse_overlap(wanted: object) -> None:
    if wanted not in (None, True, False):
        raise Error(USAGE, f"overlap={wanted!r}: expected True, False or None")


def may_overlap(vector: ParameterVector, wanted: Optional[bool], compression: object) -> bool:
    """Whether gradients that are averaged may be handed over early. Not on a GPU, where every part would have to wait for
    PyTorch's queue. Not with compression, because a repeated exchange would keep wrong rounding errors."""
    if compression not in (None, "none"):
        return False
    return wanted is not False and size() > 1 and not vector.values.is_cuda and vector.is_float32 and \
        hasattr(vector.values, "register_post_accumulate_grad_hook")  # new in PyTorch 2.1


class Overlap:
    """Calls `hand_over(first)` when the gradients of the parameters from `first` on are complete, from the end of the vector
    to its beginning. Parameters that are used first lie first in the vector, and backward finishes them last.

    The library copies what is handed over. If a gradient of any rank changes afterwards, the library notices it in step()
    and exchanges all gradients again, so the result is always that of the gradients in step(). Such a step takes longer.
    So overlap pauses after it: for 2 steps, and twice as many whenever the next try ends in the same way.

    The first step only counts how often backward adds to each gradient. Later a gradient counts as complete when backward
    has added to it as often as in any step before.

    Ranks may hand over at different times. But all ranks must start the sums of gradients on the same side of any other
    collective call: all before it, or all after it. So if backward has begun in this step, such a call first hands over
    all gradients, complete or not. A rank that leaves out backward in this step would start them later than the other
    ranks: then the caller must turn overlap off. This rank cannot know it, because a rank may also compute alone in
    train mode before such a call."""

    def __init__(self, vector: ParameterVector, is_in_step: Callable[[], bool], hand_over: Callable[[int], None]) -> None:
        self._gradients, self._is_in_step, self._hand_over = vector.gradients, is_in_step, hand_over
        self._sizes = [each.numel() for each in vector.parameters]
        self._most = [0] * len(self._sizes)  # how often backward has added to each gradient in a step
        self._steps = self._tries_again = self._failures = 0
        self._is_on = self._accumulates = False
        self._begin_to_count()
        self._hooks: list[RemovableHandle] = []
        for number, each in enumerate(vector.parameters):
            register: Callable[..., RemovableHandle] = each.register_post_accumulate_grad_hook
            self._hooks.append(register(self._hook_of(number)))

    def remove(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._end_hand_over()

    def begin(self, may_hand_over: bool) -> None:
        """Begins a step. `may_hand_over` is the same on all ranks."""
        self._begin_to_count()
        self._steps += 1
        self._is_on = self._gradients.may_be_read_again = \
            may_hand_over and self._steps > 1 and self._steps >= self._tries_again
        if self._is_on:
            job.hand_over_all = self.hand_over_all

    def _begin_to_count(self) -> None:
        self._counts = [0] * len(self._sizes)
        self._has_begun = self._is_blocked = False
        self._finished = self._handed_over = len(self._sizes)  # gradients from here on are complete, are handed over
        self._waiting = 0  # values that are complete and not handed over

    def end(self) -> None:
        """Call it when step() begins. Nothing is handed over after it."""
        self._end_hand_over()
        self._most = list(map(max, self._most, self._counts))

    def judge(self, exchanges: int) -> None:
        """Call it at the end of a step, with the number of its exchanges, which is the same on all ranks."""
        if self._is_on and exchanges > 1:
            self._failures = min(self._failures + 1, _LONGEST_PAUSE)
            self._tries_again = self._steps + 1 + 2**self._failures
        elif self._is_on and self._failures:
            self._failures -= 1
        self._is_on = False

    def _end_hand_over(self) -> None:
        if job.hand_over_all == self.hand_over_all:
            job.hand_over_all = None

    @contextlib.contextmanager
    def accumulate(self) -> Iterator[None]:
        """A context in which backward hands nothing over, because a further backward follows in this step."""
        before, self._accumulates = self._accumulates, True
        try:
            yield
        finally:
            self._accumulates = before

    def _hook_of(self, number: int) -> Callable[[torch.Tensor], None]:
        return lambda _: self._add(number)

    def _add(self, number: int) -> None:
        """PyTorch calls it when backward has added to a parameter's gradient."""
        if not self._is_in_step():
            return
        self._has_begun = True
        if self._accumulates:
            return
        self._counts[number] += 1
        if self._is_on and not self._is_blocked:
            self._advance()

    def _advance(self) -> None:
        first, counts, most = self._finished, self._counts, self._most
        while first > 0 and counts[first - 1] >= most[first - 1]:
            first -= 1
            self._waiting += self._sizes[first]
        self._finished = first
        if self._handed_over and (self._waiting >= _LEAST or first == 0):
            self._is_blocked = not all(map(self._gradients.note_place, range(first, self._handed_over)))
            if not self._is_blocked:
                self._hand_over_from(first)

    def _hand_over_from(self, first: int) -> None:
        self._finished = self._handed_over = first
        self._waiting = 0
        self._hand_over(first)

    def hand_over_all(self) -> None:
        """Call it before another collective call."""
        if self._has_begun and self._handed_over:
            for number in range(self._handed_over):
                self._gradients.move_apart(number)
            self._hand_over_from(0)
