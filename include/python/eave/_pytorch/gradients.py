"""The gradients of the trained parameters, which lie apart, and the vector that their mean is written to."""
from __future__ import annotations

import ctypes
import weakref
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Sequence

from .._error import USAGE, Error
from .low_precision import LowPrecision
from .tensors import parts_of

if TYPE_CHECKING:
    import torch


_VERSION, _DTYPE = attrgetter("_version"), attrgetter("dtype")


class Gradients:
    """`vector` has a part for each parameter. In host memory the library reads gradients where PyTorch has put them; it
    copies them into the vector only if it averages them. On a GPU, and if a gradient is not of float32 in the parameter's
    layout, it is copied here. backward(create_graph=True) makes gradients that require gradients, so copies are detached.

    `may_be_read_again`: the library may read the gradients once more, after an exchange has written to the vector. Those
    that lie in the vector are then copied elsewhere first."""

    def __init__(self, parameters: Sequence[torch.nn.Parameter], names: Sequence[str], vector: torch.Tensor) -> None:
        import torch
        self.vector, self.names, self._parameters = vector, names, parameters
        self.parts = parts_of(vector, parameters)
        self._lent: list[torch.Tensor] = []  # the same parts, as gradients of the parameters
        self.count = len(parameters)
        self.addresses = (ctypes.c_void_p * self.count)()
        self.counts = (ctypes.c_size_t * self.count)(*(each.numel() for each in parameters))
        self._places: list[int] = [part.data_ptr() for part in self.parts]
        self._dtypes, self._strides = list(map(_DTYPE, self.parts)), [part.stride() for part in self.parts]
        self._fits = [each.dtype is torch.float32 for each in parameters]
        self._are_apart = not vector.is_cuda
        # A gradient of one value may be the view of a conjugate: its memory then has the value with the wrong sign. In a
        # longer gradient such a view skips every second number in memory, which its strides tell.
        self._of_one_value = [number for number, each in enumerate(parameters) if each.numel() == 1]
        self._strided, self._address, self._stride = torch.strided, torch.Tensor.data_ptr, torch.Tensor.stride
        self._is_negated = torch.Tensor.is_neg
        self._last: list[tuple[Any, int]] = []  # the gradients after the last step, and their versions
        self._version = vector._version
        self._begin, self._end = vector.data_ptr(), vector.data_ptr() + vector.numel() * vector.element_size()
        self.may_be_read_again = False
        self._copies: list[torch.Tensor] = []  # of this step's gradients, for the library to read

    def are_new(self) -> bool:
        """Whether a gradient has been computed since the last step."""
        now = [each.grad for each in self._parameters if each.grad is not None]
        if len(now) != len(self._last):
            return bool(now)
        return any(before() is not gradient or gradient._version != version
                   for gradient, (before, version) in zip(now, self._last))

    def end_step(self) -> None:
        gradients = [gradient for each in self._parameters if (gradient := each.grad) is not None]
        self._last = list(zip(map(weakref.ref, gradients), map(_VERSION, gradients)))

    def refuse_sparse(self) -> None:
        for number, each in enumerate(self._parameters):
            if each.grad is not None:
                self._refuse_sparse(number, each.grad)

    def _refuse_sparse(self, number: int, gradient: torch.Tensor) -> None:
        if gradient.layout is not self._strided:
            raise Error(USAGE, f"step: the gradient of '{self.names[number]}' is sparse; expected a dense one (sparse=False)")

    def _place(self, number: int, gradient: torch.Tensor) -> int:
        """Copies the gradient of this parameter into the vector, unless it lies there. Returns its address."""
        self._refuse_sparse(number, gradient)
        if self.may_be_read_again:
            self._copies.append(self._copy(number, gradient))
            return int(self._copies[-1].data_ptr())
        if gradient.data_ptr() != self._places[number]:
            self.parts[number].copy_(gradient.detach())
        return self._places[number]

    def _copy(self, number: int, gradient: torch.Tensor) -> torch.Tensor:
        import torch
        return torch.empty_like(self.parts[number]).copy_(gradient.detach())

    def _is_readable(self, number: int, gradient: torch.Tensor) -> bool:
        """Whether the library can read the gradient where it lies, as long as it has to."""
        return self._are_apart and gradient.layout is self._strided and \
            (gradient.dtype, gradient.stride()) == (self._dtypes[number], self._strides[number]) and \
            not gradient.is_neg() and \
            not (self.may_be_read_again and self._begin <= gradient.data_ptr() < self._end)

    def note_place(self, number: int) -> bool:
        """Notes where this gradient lies. Returns False if the library cannot read it there."""
        gradient = self._parameters[number].grad
        if gradient is not None and not self._is_readable(number, gradient):
            return False
        self.addresses[number] = None if gradient is None else gradient.data_ptr()
        return True

    def move_apart(self, number: int) -> None:
        """Notes where this gradient lies, and gives it memory of its own if the library cannot read it there. If it is
        sparse, or the parameter has another type now, the library gets none: the step will refuse it."""
        each = self._parameters[number]
        gradient, is_of_type = each.grad, each.dtype is self._dtypes[number]
        if gradient is not None and gradient.layout is self._strided and is_of_type and not self._is_readable(number, gradient):
            each.grad = self._copy(number, gradient)
        if not self.note_place(number):
            self.addresses[number] = None

    def collect(self, *further_flags: bool) -> Any:
        """Notes where the gradients lie. Returns a flag per parameter, whether it has a gradient, and then
        `further_flags`."""
        has_gradient = (ctypes.c_uint8 * (self.count + len(further_flags)))()
        has_gradient[self.count:] = [int(flag) for flag in further_flags]
        self._copies = []
        if self._are_apart and (places := self._places_apart()):
            self.addresses = (ctypes.c_void_p * self.count)(*places)
            has_gradient[:self.count] = [1] * self.count
            return has_gradient
        for number, each in enumerate(self._parameters):
            gradient = each.grad
            has_gradient[number] = gradient is not None
            if not self.note_place(number) and gradient is not None:
                self.addresses[number] = self._place(number, gradient)
            elif gradient is None and not self._are_apart:
                self.parts[number].zero_()
        return has_gradient

    def _places_apart(self) -> list[int]:
        """Where the gradients lie, if each parameter has one that the library can read there; otherwise nothing. It makes
        few calls, because most steps need no more."""
        gradients: list[Any] = [each.grad for each in self._parameters]
        try:
            if list(map(self._stride, gradients)) != self._strides or list(map(_DTYPE, gradients)) != self._dtypes:
                return []
            if any(map(self._is_negated, map(gradients.__getitem__, self._of_one_value))):
                return []
        except (TypeError, AttributeError, RuntimeError):  # one is None, or sparse
            return []
        places: list[int] = list(map(self._address, gradients))
        return [] if self.may_be_read_again and any(self._begin <= place < self._end for place in places) else places

    def spread(self, has_gradient: Any, low: LowPrecision) -> None:
        """Makes the gradients of the parameters views of the vector; None where no rank has one."""
        import torch
        if list(map(self._address, self._lent)) != self._places:  # grad.data = … and model.to() give them other memory
            self._lent = list(map(torch.Tensor.detach, self.parts))
        for number, each in enumerate(self._parameters):
            if self._fits[number] or not has_gradient[number]:
                each.grad = self._lent[number] if has_gradient[number] else None
            elif each.grad is None:
                each.grad = torch.empty_like(each)
        low.round_gradients()
