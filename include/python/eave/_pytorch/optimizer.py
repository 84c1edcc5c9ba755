"""The PyTorch optimizer of an Averager: which ones are refused, and Nesterov's momentum in SGD."""
from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Sequence

from .._error import USAGE, Error
from .._method import Option, number_in
from .tensors import parts_of

if TYPE_CHECKING:
    import torch


def refuse_optimizer(optimizer: torch.optim.Optimizer) -> None:
    """Raises an Error if steps of the optimizer do not fit those of an Averager."""
    import torch
    if isinstance(optimizer, torch.optim.LBFGS):
        raise Error(USAGE, "LBFGS evaluates the model several times in a step, which would need an exchange for each: take "
                           "an optimizer whose step() takes no closure")
    if isinstance(optimizer, torch.optim.SparseAdam):
        raise Error(USAGE, "SparseAdam takes sparse gradients, which are not averaged: take Adam and sparse=False")
    closure = inspect.signature(type(optimizer).step).parameters.get("closure")
    if closure and closure.default is closure.empty:
        raise Error(USAGE, f"{type(optimizer).__name__}.step() needs a closure, and steps of an Averager have none: take an "
                           "optimizer whose step() takes no closure")


def refuse_stranger(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Raises an Error if the optimizer has none of the model's trained parameters: the model would stand still."""
    trained = {id(each) for each in model.parameters() if each.requires_grad}
    if trained and not any(id(each) in trained for group in optimizer.param_groups for each in group["params"]):
        raise Error(USAGE, "the optimizer has none of the model's parameters: make it after whatever puts others in their "
                           "place, as load_state_dict(assign=True) does with all")


def why_not_plain(optimizer: torch.optim.Optimizer, options: dict[str, Option]) -> str:
    """Why a method that moves the parameters itself, by plain steps of one rate, would take other steps than the optimizer;
    "" if it would not."""
    import torch
    groups, decay = optimizer.param_groups, float(options.get("weight_decay") or 0)
    if type(optimizer) is torch.optim.SGD and all(
            not group["momentum"] and not group["maximize"] and float(group["weight_decay"]) == decay and
            group["lr"] == groups[0]["lr"] for group in groups):
        return ""
    return ("moves the parameters itself and never asks the optimizer: give it torch.optim.SGD without momentum and without "
            "maximize, with one learning rate in all groups, and weight_decay= to both; keep them so")


def why_not_all(optimizer: torch.optim.Optimizer, trained: Sequence[tuple[str, torch.Tensor]]) -> str:
    """Why a method that moves all trained parameters itself would move more than the optimizer; "" if it would not."""
    held = {id(each) for group in optimizer.param_groups for each in group["params"]}
    left_out = next((name for name, each in trained if id(each) not in held), "")
    return left_out and (f"moves all parameters that require a gradient, and the optimizer does not have '{left_out}': give "
                         "the parameter to the optimizer, or freeze it by requires_grad_(False)")


def refuse_other_values(options: dict[str, Option], optimizer: torch.optim.Optimizer) -> None:
    """Raises an Error if an option of the caller differs from what the optimizer has under that name."""
    group = optimizer.param_groups[0]
    for name in ("lr", "momentum"):
        if name not in options or name not in group:
            continue
        found = number_in(name, options[name])
        first = group.get("initial_lr", group[name]) if name == "lr" else group[name]  # a schedule may begin below it
        if not any(math.isclose(found, float(each), rel_tol=1e-6) for each in (group[name], first)):
            raise Error(USAGE, f"{name}={options[name]}, but the optimizer's is {float(group[name]):g}: leave it out")
    nesterov = is_nesterov(optimizer)
    if options.get("nesterov", nesterov) not in (nesterov, "on" if nesterov else "off"):
        raise Error(USAGE, f"nesterov={options['nesterov']}, but the optimizer's is {nesterov}: leave it out")


def complete_options(options: dict[str, Option], optimizer: torch.optim.Optimizer,
                     values: torch.Tensor) -> dict[str, Option]:
    """Returns `options` with those added that follow from the optimizer and from where the averaged values lie."""
    options, group = dict(options), optimizer.param_groups[0]
    if values.is_cuda:
        options.update(device="cuda", gpu=values.device.index)
    options.setdefault("lr", float(group["lr"]))
    if group.get("momentum"):
        options.setdefault("momentum", float(group["momentum"]))
    options.setdefault("nesterov", is_nesterov(optimizer))
    return options


def is_nesterov(optimizer: torch.optim.Optimizer) -> bool:
    """Whether the optimizer is SGD with Nesterov's momentum. Only SGD uses the form of EAMSGD:
    w <- m w - lr g(x + m w); x <- x + w, with parameters x + m w."""
    import torch
    return isinstance(optimizer, torch.optim.SGD) and any(group["nesterov"] for group in optimizer.param_groups)


class LookAhead:
    """The vector from the parameters to the iterate: lr * momentum * buffer, with the rates that the optimizer has now, as
    in `eave train`. The parameters of SGD with Nesterov's momentum are ahead of the iterate, on which exchanges work."""

    def __init__(self, flat: torch.Tensor, parameters: Sequence[torch.Tensor], optimizer: torch.optim.Optimizer) -> None:
        import torch
        self._optimizer = optimizer
        self.values = torch.zeros_like(flat)
        self._parts = {id(each): part for each, part in zip(parameters, parts_of(self.values, parameters))}
        self._factors: list[float] = []  # of the groups, in `values`
        self.update()

    @property
    def address(self) -> int:
        return int(self.values.data_ptr())

    def restore(self, values: torch.Tensor) -> None:
        self.values.copy_(values)
        self._factors.clear()

    def _factors_now(self) -> list[float]:
        return [float(group["lr"]) * group["momentum"] if group["nesterov"] else 0.0 for group in self._optimizer.param_groups]

    def follow_rates(self) -> None:
        """Computes the vector again if a scheduler has changed a rate. Call it when a step begins."""
        if self._factors != self._factors_now():
            self.update()

    def update(self) -> None:
        """Computes the vector again. Call it after each step of the optimizer."""
        self._factors = self._factors_now()
        for factor, group in zip(self._factors, self._optimizer.param_groups):
            for each in group["params"]:
                if id(each) in self._parts:
                    self._write(each, factor)

    def _write(self, parameter: torch.Tensor, factor: float) -> None:
        import torch
        buffer = self._optimizer.state.get(parameter, {}).get("momentum_buffer")
        if buffer is None:
            self._parts[id(parameter)].zero_()
            return
        if buffer.shape != parameter.shape:
            raise Error(USAGE, "the optimizer's momentum does not have the parameters' shapes")
        torch.mul(buffer, factor, out=self._parts[id(parameter)])
