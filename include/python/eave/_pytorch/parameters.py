"""The trained parameters of a model as one vector, and their gradients as another."""
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Iterator

from .._error import USAGE, Error
from .gradients import Gradients
from .low_precision import LowPrecision
from .structure import Structure
from .tensors import describe_layout, flatten, parts_of, require_same_model

if TYPE_CHECKING:
    import torch

    from .tensors import Trained


class ParameterVector:
    """The trained parameters of a model, and all other parameters of its optimizer, as `values`. Parameters of float32
    become views of it; `low` are the other ones."""

    def __init__(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, trained: Trained,
                 has_masters: bool = False) -> None:
        import torch
        self._model, self._optimizer = model, optimizer
        self.trained = trained
        require_same_model(model, optimizer, self.trained)
        self.names = [name for name, _ in self.trained]
        self.parameters = [each for _, each in self.trained]
        self._known = {id(each) for each in self.parameters}
        moved = {id(each) for group in optimizer.param_groups for each in group["params"]}
        self._outside = [each for each in self.parameters if id(each) not in moved]
        self.values = flatten(self.parameters)
        self._address = self.values.data_ptr()
        self._parts = parts_of(self.values, self.parameters)
        self.layouts = list(map(describe_layout, self._parts))
        self.gradients = Gradients(self.parameters, self.names, torch.empty_like(self.values))
        self._kinds = [(each.shape, each.dtype, each.device) for each in self.parameters]
        self._places = [(part.data_ptr(), part.shape, part.stride()) for part in self._parts]
        self._full = [each for each in self.parameters if each.dtype == torch.float32]
        self._addresses = [each.data_ptr() for each in self._full]
        self.is_float32 = len(self._full) == len(self.parameters)
        self.low = LowPrecision(self.parameters, self._parts, self.gradients.parts, has_masters)
        self._structure = Structure(model, optimizer, self.holds)
        self._layout = self._list_layout()

    def holds(self, parameter: torch.Tensor) -> bool:
        return id(parameter) in self._known

    def forget_gradients_outside(self) -> None:
        """Call it after a step that the optimizer has not taken, perhaps because of a gradient that is not finite. In
        a parameter that the optimizer does not have, the gradient would stay: optimizer.zero_grad() does not reach it, and
        backward adds to it."""
        for each in self._outside:
            each.grad = None

    def names_of_not_finite(self) -> Iterator[str]:
        return (name for name, each in self.trained if not _is_finite(each))

    def read(self, call: str) -> None:
        """Makes `values` those of the parameters, wherever they lie now. Raises an Error if the model no longer is the one
        that the vector was made of."""
        self._read(call, self.is_known())

    def is_known(self) -> bool:
        """Whether the model still has the parameters that the vector was made of. Within torch.func.functional_call it has
        others."""
        return self._structure.is_known()

    def read_known(self, call: str) -> None:
        """As read, right after is_known() has said so."""
        self._read(call, True)

    def read_in_step(self, call: str) -> None:
        """As read, after a read at the beginning of the step. Modules that have come since are found by the next read: the
        optimizer does not move what it does not know."""
        self._read(call, self._structure.has_known_optimizer())

    def _read(self, call: str, is_known: bool) -> None:
        if not is_known:
            self.low.take_back(self._optimizer)  # an exception in load_state_dict has left it the master weights
            self._refuse_unknown(call)
            self._structure.note()
        if self._list_layout() != self._layout:
            self._take_moved(call)
            self._layout = self._list_layout()
        self.low.read()

    @contextlib.contextmanager
    def reading(self, call: str) -> Iterator[None]:
        """As read, for a call between steps. At the end, parameters whose memory the program has replaced get that memory back,
        and their parts of `values` get their former values. A program may put a moving average in the place of its parameters
        to evaluate it. It then keeps their own memory, which is in `values`, to put it back."""
        layout = self._layout
        moved = [(self.parameters[number], self.parameters[number].data, self._parts[number], self._parts[number].clone())
                 for number in self._list_moved()]
        try:
            self.read(call)
            yield
        finally:
            for each, data, part, values in moved:
                if each.data_ptr() == part.data_ptr():
                    each.data = data
                part.copy_(values)
            if moved:
                self._layout = layout

    def _list_moved(self) -> list[int]:
        """The numbers of the parameters that lie elsewhere, or otherwise, than after the last read."""
        now = self._list_layout()
        if now == self._layout:
            return []
        count = len(self.parameters)
        differs = [one != other for one, other in zip(now[1:], self._layout[1:])]
        return [number for number in range(count) if any(differs[number::count])]

    def _list_layout(self) -> list[Any]:
        """Where the parameters lie and how. It differs from self._layout if one of them has changed in this."""
        import torch
        every = self.parameters
        return [self.values.data_ptr(), *map(torch.Tensor.data_ptr, every), *map(torch.Tensor.size, every),
                *map(torch.Tensor.stride, every)]

    def read_again(self, call: str) -> None:
        """As read(), but cheaper: call it if only the optimizer's step has run since the last read, so no parameter is
        new and none has another shape."""
        if [each.data_ptr() for each in self._full] != self._addresses:
            self._take_moved(call)
        self.low.read()

    def _refuse_unknown(self, call: str) -> None:
        """Raises an Error if a parameter is trained but not averaged: it would make the ranks differ."""
        for each in self._model.parameters():
            if each.requires_grad and not self.holds(each):
                name = next(name for name, other in self._model.named_parameters() if other is each)
                self._refuse_new(call, f"parameter '{name}'")
        for number, group in enumerate(self._optimizer.param_groups):
            for place, each in enumerate(group["params"]):
                if not self.holds(each) and each.requires_grad:
                    self._refuse_new(call, f"parameter {place} of the optimizer's group {number}")

    def _refuse_new(self, call: str, what: str) -> None:
        raise Error(USAGE, f"{call}: {what} is trained, but was not when the Averager was made. It was unfrozen, put in the "
                           "place of another (as load_state_dict(assign=True) does with all) or added to the optimizer: "
                           "close() this Averager and make a new one, on all ranks")

    def _take_moved(self, call: str) -> None:
        """Takes the values of parameters that have got other memory, as by param.data = …, and makes them views again."""
        for number, (each, part, place) in enumerate(zip(self.parameters, self._parts, self._places)):
            if (each.data_ptr(), each.shape, each.stride()) == place or not each.numel():
                continue
            name, (shape, dtype, device) = self.names[number], self._kinds[number]
            if (each.shape, each.dtype, each.device) != (shape, dtype, device):
                raise Error(USAGE, f"{call}: parameter '{name}' has become {_describe(each.shape, each.dtype, each.device)}, "
                                   f"it was {_describe(shape, dtype, device)} when the Averager was made. Make it after "
                                   "model.to() and whatever else changes the model's parameters")
            if each.dtype == self.values.dtype:
                part.copy_(each.data)
                each.data = part
        if self.values.data_ptr() != self._address:
            raise Error(USAGE, f"{call}: the parameters lie elsewhere than when the Averager was made, as after "
                               "share_memory(): call that before")


def _is_finite(parameter: torch.Tensor) -> bool:
    """Whether all values are finite. torch.isfinite() of a whole parameter would take 1.75 times its memory."""
    import torch
    return not parameter.numel() or bool(torch.isfinite(torch.stack(torch.aminmax(parameter.detach()))).all())


def _describe(shape: torch.Size, dtype: torch.dtype, device: torch.device) -> str:
    return f"{str(dtype).removeprefix('torch.')} of shape {tuple(shape)} on {device}"
