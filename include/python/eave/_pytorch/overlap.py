"""Overlap: hands gradients over to the library while backward computes the other ones."""
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Callable, Iterator, Sequence

from .._error import USAGE, Error

if TYPE_CHECKING:
    import torch

_LEAST = 2**15  # gradients of a part, except the last one: as many as the smallest bucket that allreduce chooses
_LEARNS, _ON, _OFF = range(3)


class Overlap:
    """Calls `hand_over(first, count)` for parts of the gradient vector, from its end to its beginning, as soon as
    backward has finished them. Parameters that are used first lie first in the vector, and backward finishes them last.

    A gradient that has been handed over must not change. So the first step only looks on. If that step runs backward
    several times outside of no_sync(), or changes gradients after backward (unscale_, clipping), gradients stay with the
    caller until step(), in all steps. Otherwise later steps overlap, and raise an Error if they do so. They do not notice
    a GradScaler that only comes later, because unscale_ does not count as a change in PyTorch."""

    def __init__(self, gradients: torch.Tensor, parameters: Sequence[torch.nn.Parameter], parts: Sequence[torch.Tensor],
                 names: Sequence[str], is_in_step: Callable[[], bool], hand_over: Callable[[int, int], None]) -> None:
        self._vector, self._parameters, self._parts, self._names = gradients, parameters, parts, names
        self._is_in_step, self._hand_over = is_in_step, hand_over
        self._places = [0]  # where each part begins in the vector, then where the last one ends
        for each in parts:
            self._places.append(self._places[-1] + each.numel())
        self._mode, self._accumulates = _LEARNS, False
        self.begin()
        self._hooks = [each.register_post_accumulate_grad_hook(self._hook_of(number))
                       for number, each in enumerate(parameters)]

    def remove(self) -> None:
        for hook in self._hooks:
            hook.remove()

    def begin(self) -> None:
        """Begins a step."""
        self._refusal = ""
        self._seen: dict[int, tuple[int, int]] = {}  # by number of the parameter: address and version of its gradient
        self._copies: dict[int, torch.Tensor] = {}  # in the first step, because unscale_ leaves the version as it was
        self._finished = self._handed_over = len(self._parts)  # the parts from here on are finished, handed over
        self._version = self._vector._version

    def end(self) -> None:
        """Call it at the beginning of step(). Raises an Error if a gradient has changed after it was handed over."""
        changed = self._find_changed()
        self._copies = {}
        if self._mode == _LEARNS:
            self._mode = _OFF if self._refusal or changed else _ON
        elif self._handed_over < len(self._parts):
            if changed and not self._refusal:
                self._refusal = (f"{changed} was changed between backward() and averager.step(), when the ranks already "
                                 "exchange it. In the first step it was not: if steps differ in this, make the Averager "
                                 "without overlap=True")
            if self._refusal:
                raise Error(USAGE, f"step: {self._refusal}")

    @contextlib.contextmanager
    def accumulate(self) -> Iterator[None]:
        """A context in which backward hands nothing over, because a further backward follows in this step."""
        before, self._accumulates = self._accumulates, True
        try:
            yield
        finally:
            self._accumulates = before

    def _hook_of(self, number: int) -> Callable[[torch.Tensor], None]:
        return lambda _: self._finish(number)

    def _finish(self, number: int) -> None:
        """PyTorch calls it when backward has added to a parameter's gradient."""
        if self._mode == _OFF or self._accumulates or not self._is_in_step():
            return
        if number in self._seen:
            self._refuse_second(number)
        gradient = self._parameters[number].grad
        assert gradient is not None
        if self._mode == _LEARNS:
            self._copies[number] = gradient.detach().clone()
        elif not gradient.is_sparse:
            gradient = self._place(number, gradient)
        self._seen[number] = (0, 0) if gradient.is_sparse else (gradient.data_ptr(), gradient._version)
        self._version = self._vector._version
        if self._mode == _ON and not gradient.is_sparse:
            self._advance()

    def _place(self, number: int, gradient: torch.Tensor) -> torch.Tensor:
        """Makes the gradient a part of the vector."""
        part = self._parts[number]
        if gradient.data_ptr() != part.data_ptr():
            part.copy_(gradient)
            self._parameters[number].grad = part
        return part

    def _advance(self) -> None:
        while self._finished > 0 and self._finished - 1 in self._seen:
            self._finished -= 1
        first, end = self._places[self._finished], self._places[self._handed_over]
        if end - first >= _LEAST or (self._finished == 0 and end > 0):
            self._hand_over(first, end - first)
            self._handed_over = self._finished

    def _refuse_second(self, number: int) -> None:
        """Backward has added to a gradient a second time in this step."""
        if self._mode == _ON and number < self._handed_over:
            return
        self._refusal = (f"a second backward() has changed the gradient of '{self._names[number]}', which the ranks already "
                         "exchange. In the first step there was one backward: put the backwards of a step, all but the "
                         "last, in `with averager.no_sync():`, or make the Averager without overlap=True")
        if self._mode == _ON:
            raise Error(USAGE, f"backward: {self._refusal}")

    def _find_changed(self) -> str:
        """Returns which gradient has changed since backward finished it; "" if none has. A part of the vector has the
        version of the whole."""
        for number, (address, version) in self._seen.items():
            gradient = self._parameters[number].grad
            if gradient is None or gradient.is_sparse or gradient.data_ptr() != address:
                return f"the gradient of '{self._names[number]}'"
            if number in self._copies and not gradient.equal(self._copies[number]):
                return f"the gradient of '{self._names[number]}'"
            is_part = address == self._parts[number].data_ptr()
            if gradient._version != (self._version if is_part else version):
                return "a gradient" if is_part else f"the gradient of '{self._names[number]}'"
        return ""
