"""The trained parameters of a model as one vector, and their gradients as another."""
from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Iterator

from ._error import USAGE, Error
from ._tensors import flatten, list_trained, parts_of, require_fit, require_same_model

if TYPE_CHECKING:
    import torch


class ParameterVector:
    """Makes the trained parameters of a model, and all other parameters of its optimizer, views of `values`. They must
    stay there."""

    def __init__(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        import torch
        self._model, self._optimizer = model, optimizer
        self.trained = list_trained(model, optimizer)
        require_fit(model, self.trained)
        require_same_model(model, optimizer, self.trained)
        self.names = [name for name, _ in self.trained]
        self.parameters = [each for _, each in self.trained]
        self._known = {id(each) for each in self.parameters}
        self.values = flatten(self.parameters)
        self.gradients = torch.zeros_like(self.values)
        self.gradient_parts = parts_of(self.gradients, self.parameters)
        self._places = [(each.data_ptr(), each.shape, each.stride()) for each in self.parameters]

    def holds(self, parameter: torch.Tensor) -> bool:
        return id(parameter) in self._known

    def names_of_not_finite(self) -> Iterator[str]:
        import torch
        return (name for name, each in self.trained if not torch.isfinite(each).all())

    def refuse_changes(self, call: str) -> None:
        """Raises an Error if the model no longer is the one that the vector was made of."""
        self._refuse_unknown(call)
        self._refuse_moved(call)

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

    def _refuse_moved(self, call: str) -> None:
        for name, each, place in zip(self.names, self.parameters, self._places):
            if (each.data_ptr(), each.shape, each.stride()) != place and each.numel():
                raise Error(USAGE, f"{call}: parameter '{name}' lies elsewhere than when the Averager was made; make it "
                                   "after model.to() and whatever else moves the model's parameters")

    def collect_gradients(self) -> Any:
        """Copies gradients that are not views of the gradient vector into it; zero_grad may have dropped the views.
        Returns a flag per parameter: whether it has a gradient."""
        import torch
        has_gradient = (ctypes.c_uint8 * len(self.parameters))()
        for number, (each, part) in enumerate(zip(self.parameters, self.gradient_parts)):
            gradient = each.grad
            if gradient is None:
                part.zero_()
                continue
            if gradient.layout != torch.strided:
                raise Error(USAGE, f"step: the gradient of '{self.names[number]}' is sparse; expected a dense one "
                                   "(sparse=False)")
            if gradient.data_ptr() != part.data_ptr():
                part.copy_(gradient)
            has_gradient[number] = 1
        return has_gradient

    def spread_gradients(self, has_gradient: Any) -> None:
        """Makes the gradients of the parameters views of the gradient vector; None where no rank has one."""
        for each, part, has in zip(self.parameters, self.gradient_parts, has_gradient):
            each.grad = part if has else None
