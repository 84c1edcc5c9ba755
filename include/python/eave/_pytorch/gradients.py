"""The gradients of the trained parameters, which lie apart, and the vector that their mean is written to."""
from __future__ import annotations

import ctypes
import weakref
from typing import TYPE_CHECKING, Any, Sequence

from .._error import USAGE, Error
from .low_precision import LowPrecision
from .tensors import parts_of

if TYPE_CHECKING:
    import torch


class Gradients:
    """`vector` has a part for each parameter. In host memory the library reads gradients where PyTorch has put them; it
    copies them into the vector only if it averages them. On a GPU, and if a gradient is not of float32 in the parameter's
    layout, it is copied here."""

    def __init__(self, parameters: Sequence[torch.nn.Parameter], names: Sequence[str], vector: torch.Tensor) -> None:
        import torch
        self.vector, self.names, self._parameters = vector, names, parameters
        self.parts = parts_of(vector, parameters)
        self.count = len(parameters)
        self.addresses = (ctypes.c_void_p * self.count)()
        self.counts = (ctypes.c_size_t * self.count)(*(each.numel() for each in parameters))
        self._places: list[int] = [part.data_ptr() for part in self.parts]
        self._kinds = [(part.dtype, part.stride()) for part in self.parts]  # of gradients that need no copy
        self._fits = [each.dtype is torch.float32 for each in parameters]
        self._are_apart = not vector.is_cuda
        self._strided = torch.strided
        self._last: list[tuple[Any, int]] = []  # the gradients after the last step, and their versions
        self._version = vector._version

    def are_new(self) -> bool:
        """Whether a gradient has been computed since the last step."""
        now = [each.grad for each in self._parameters if each.grad is not None]
        if len(now) != len(self._last):
            return bool(now)
        return any(before() is not gradient or gradient._version != version
                   for gradient, (before, version) in zip(now, self._last))

    def end_step(self) -> None:
        gradients = [each.grad for each in self._parameters if each.grad is not None]
        self._last = [(weakref.ref(gradient), gradient._version) for gradient in gradients]

    def _place(self, number: int, gradient: torch.Tensor) -> int:
        """Copies the gradient of this parameter into the vector, unless it lies there. Returns its address."""
        if gradient.layout is not self._strided:
            raise Error(USAGE, f"step: the gradient of '{self.names[number]}' is sparse; expected a dense one (sparse=False)")
        if gradient.data_ptr() != self._places[number]:
            self.parts[number].copy_(gradient)
        return self._places[number]

    def collect(self, *further_flags: bool) -> Any:
        """Notes where the gradients lie. Returns a flag per parameter, whether it has a gradient, and then
        `further_flags`."""
        has_gradient = (ctypes.c_uint8 * (self.count + len(further_flags)))()
        has_gradient[self.count:] = [int(flag) for flag in further_flags]
        kinds, strided, are_apart = self._kinds, self._strided, self._are_apart
        for number, each in enumerate(self._parameters):
            gradient = each.grad
            if gradient is None:
                self.addresses[number] = None
                if not self._are_apart:
                    self.parts[number].zero_()
                continue
            has_gradient[number] = 1
            if are_apart and gradient.layout is strided and (gradient.dtype, gradient.stride()) == kinds[number]:
                self.addresses[number] = gradient.data_ptr()
            else:
                self.addresses[number] = self._place(number, gradient)
        return has_gradient

    def spread(self, has_gradient: Any, low: LowPrecision) -> None:
        """Makes the gradients of the parameters views of the vector; None where no rank has one."""
        import torch
        for number, each in enumerate(self._parameters):
            if self._fits[number] or not has_gradient[number]:
                each.grad = self.parts[number] if has_gradient[number] else None
            elif each.grad is None:
                each.grad = torch.empty_like(each)
        low.round_gradients()
