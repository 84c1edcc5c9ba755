"""The parts of a model and an optimizer that must stay as they were when an Averager was made."""
from __future__ import annotations

from itertools import chain
from operator import is_, methodcaller
from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    import torch

_VALUES = methodcaller("values")  # a module of torch.jit.script has no dict but an object like one


class Structure:
    """Tells cheaply whether the modules of a model, their parameters, and the parameters of an optimizer are still the
    same objects, and whether those that were frozen still are. A step asks this first, and makes the expensive checks
    only if something has changed."""

    def __init__(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, holds: Callable[[Any], bool]) -> None:
        self._model, self._optimizer, self._holds = model, optimizer, holds
        self.note()

    def note(self) -> None:
        """Takes the structure of now as the one that is known."""
        self._dictionaries: list[Any] = [each for module in self._model.modules()
                                         for each in (module._parameters, module._modules)]
        self._of_modules, self._of_optimizer = self._list_modules(), self._list_optimizer()
        self._frozen = [each for each in chain(self._of_modules, self._of_optimizer)
                        if _is_parameter(each) and not self._holds(each)]

    def _list_modules(self) -> list[Any]:
        return list(chain.from_iterable(map(_VALUES, self._dictionaries)))

    def _list_optimizer(self) -> list[Any]:
        return list(chain.from_iterable(group["params"] for group in self._optimizer.param_groups))

    def is_known(self) -> bool:
        """Call it before the model computes: after backward no module is in a cache, so a call there would cost more."""
        return _are_same(self._list_modules(), self._of_modules) and self.has_known_optimizer()

    def has_known_optimizer(self) -> bool:
        """Whether the parameters that the optimizer moves are still the same, and those that were frozen still are."""
        return _are_same(self._list_optimizer(), self._of_optimizer) and not any(each.requires_grad for each in self._frozen)


def _are_same(now: list[Any], before: list[Any]) -> bool:
    return len(now) == len(before) and all(map(is_, now, before))


def _is_parameter(each: Any) -> bool:
    import torch
    return isinstance(each, torch.Tensor)
