"""Parameters of bfloat16 or float16, which have values of float32 in the vector that eave averages."""
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Iterator, Sequence

if TYPE_CHECKING:
    import torch


class LowPrecision:
    """The parameters that are not of float32, and their parts of the vectors of values and gradients.

    Without master weights the parameters hold the values, and a part is a copy of its parameter. With master weights the
    part holds the value: the optimizer moves it, and the parameter is its rounding."""

    def __init__(self, parameters: Sequence[torch.nn.Parameter], values: Sequence[torch.Tensor],
                 gradients: Sequence[torch.Tensor], has_masters: bool) -> None:
        import torch
        found = [(each, value, gradient) for each, value, gradient in zip(parameters, values, gradients)
                 if each.dtype != torch.float32]
        self.parameters = [each for each, _, _ in found]
        self._values = [value for _, value, _ in found]
        self._gradients = [gradient for _, _, gradient in found]
        self._masters = [torch.nn.Parameter(value) for value in self._values] if has_masters else []
        self.has_masters = bool(self._masters)
        self.factor = 1.0  # by which unscale_gradients() multiplies next; the inverse of a GradScaler's scale

    def read(self) -> None:
        """Copies the parameters' values into the vector. A master weight is replaced only where the parameter no longer is
        its rounding, because somebody else has changed it."""
        if not self.parameters:
            return
        import torch
        with torch.no_grad():
            for each, value in zip(self.parameters, self._values):
                if not self._masters:
                    value.copy_(each)
                elif (changed := each != value.to(each.dtype)).any():
                    value.copy_(torch.where(changed, each.float(), value))

    def write(self) -> None:
        """Rounds the vector's values into the parameters."""
        if not self.parameters:
            return
        import torch
        with torch.no_grad():
            for each, value in zip(self.parameters, self._values):
                each.copy_(value)

    def round_gradients(self) -> None:
        """Rounds the vector's gradients into those of the parameters that have one."""
        for each, gradient in zip(self.parameters, self._gradients):
            if each.grad is not None:
                each.grad.detach().copy_(gradient)

    def read_gradients(self) -> None:
        """Copies the parameters' gradients back into the vector, if the caller may have changed them."""
        for each, gradient in zip(self.parameters, self._gradients):
            if each.grad is not None:
                gradient.copy_(each.grad.detach())

    def unscale_gradients(self) -> None:
        """Multiplies the vector's gradients by `factor`. Parameters of float16 have no room for the small ones."""
        if self.factor != 1.0:
            for each, gradient in zip(self.parameters, self._gradients):
                if each.grad is not None:
                    gradient.mul_(self.factor)
        self.factor = 1.0

    @contextlib.contextmanager
    def lend_masters(self, optimizer: torch.optim.Optimizer) -> Iterator[None]:
        """A context in which the optimizer has the master weights, and their gradients, in place of the parameters. Then
        rounds them into the parameters."""
        if not self._masters:
            yield
            return
        for each, master, gradient in zip(self.parameters, self._masters, self._gradients):
            master.grad = gradient if each.grad is not None else None
        _exchange(optimizer, self.parameters, self._masters)
        try:
            yield
        finally:
            self.take_back(optimizer)
            self.write()

    def lend_to_load(self, optimizer: torch.optim.Optimizer) -> None:
        """Call it before the optimizer's load_state_dict, and take_back() after it. PyTorch rounds the state that it loads
        to the type of the optimizer's parameters, and float16 has no room for the squares of Adam."""
        _exchange(optimizer, self.parameters[:len(self._masters)], self._masters)

    def take_back(self, optimizer: torch.optim.Optimizer) -> None:
        """Puts the parameters in the place of master weights that the optimizer has."""
        _exchange(optimizer, self._masters, self.parameters)


def _exchange(optimizer: torch.optim.Optimizer, old: Sequence[torch.nn.Parameter],
              new: Sequence[torch.nn.Parameter]) -> None:
    """Puts `new` in the place of `old` in the optimizer, with their state. State that load_state_dict has rounded to the
    parameter's type gets the master weight's."""
    import torch
    others = {id(before): after for before, after in zip(old, new)}
    for group in optimizer.param_groups:
        group["params"] = [others.get(id(each), each) for each in group["params"]]
    for before, after in zip(old, new):
        if before not in optimizer.state:
            continue
        state = optimizer.state.pop(before)
        for name, value in state.items():
            if after.dtype == torch.float32 and isinstance(value, torch.Tensor) and value.dtype == before.dtype:
                state[name] = value.float()
        optimizer.state[after] = state
