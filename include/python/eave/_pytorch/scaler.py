"""The functions of an optimizer that torch.amp.GradScaler needs, for scaler.step(averager)."""
from __future__ import annotations

import sys
from types import FrameType
from typing import TYPE_CHECKING, Any, Iterator, Optional, cast

from .._error import USAGE, Error
from .join import Joined

if TYPE_CHECKING:
    import torch

    from .._averager import Averager
    from .parameters import ParameterVector


class _GroupsOfMean(list):  # type: ignore[type-arg]
    """The optimizer's groups between average_gradients() and step() within join(). scaler.unscale_(optimizer) iterates over
    them, and would divide the mean. An unscale_ before average_gradients() finds the optimizer's own list."""
    averager: Averager

    def __iter__(self) -> Iterator[Any]:
        if Joined.current and find_scaler("unscale_"):
            Joined.current.refuse_scaled_mean(self.averager, "scaler.unscale_")
        return super().__iter__()


class ScaledSteps:
    """A GradScaler calls step() of such an object in every step, also if it has found a gradient that is not finite. It
    leaves the scale by which step() divides the gradients in `grad_scale`. That is None if the scaler has already divided
    them."""

    _step_supports_amp_scaling = True
    _optimizer: torch.optim.Optimizer
    _vector: ParameterVector
    _own_groups: Optional[list[dict[str, Any]]] = None  # the optimizer's, while it has others in their place

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """Those of the optimizer. A GradScaler reads them."""
        if Joined.current and find_scaler("unscale_"):
            Joined.current.refuse_scaled_mean(cast("Averager", self), "scaler.unscale_")
        groups: list[dict[str, Any]] = self._optimizer.param_groups
        return groups

    def _keep_mean_from_scaler(self) -> None:
        """Until _give_back_groups(), scaler.unscale_(optimizer) raises an Error if an open join() forbids it."""
        self._own_groups = self._optimizer.param_groups
        groups = _GroupsOfMean(self._own_groups)
        groups.averager = cast("Averager", self)
        self._optimizer.param_groups = groups

    def _give_back_groups(self) -> None:
        own, self._own_groups = self._own_groups, None
        now = self._optimizer.param_groups
        if own is not None and isinstance(now, _GroupsOfMean):  # otherwise load_state_dict() has made others
            own[:] = list.__iter__(now)  # add_param_group() may have added some
            self._optimizer.param_groups = own

    def _factor_of_scaler(self) -> float:
        """Returns the inverse of the scale if scaler.step(averager) has called and nothing has divided the gradients yet, else
        1. Raises an Error if they cannot be divided."""
        import torch
        scale: Optional[torch.Tensor] = getattr(self, "grad_scale", None)
        low = self._vector.low
        if scale is None or _has_unscaled(find_scaler(), self._optimizer):
            return 1.0
        if Joined.current:
            Joined.current.refuse_scaled_mean(cast("Averager", self), "scaler.step")
        self._vector.gradients.refuse_sparse()
        if not low.has_masters and any(each.dtype == torch.float16 for each in low.parameters):
            raise Error(USAGE, "scaler.step(averager) divides gradients by the scale, and in float16 the small ones would "
                               "become 0: make the Averager with master_weights=True, or keep the parameters float32 and "
                               "compute under torch.autocast", is_shared=True)
        return float(scale.double().reciprocal())

    def _forget_scale(self) -> None:
        """Call it if step() raises an exception. The scaler does not delete these then, and its next step() would multiply by
        the scale that it finds here."""
        vars(self).pop("grad_scale", None)
        vars(self).pop("found_inf", None)

    def _divide_gradients(self, factor: float) -> None:
        """Multiplies the gradients by `factor`. Those whose parameters have master weights are divided when they have become
        float32. Call it right before they are averaged: after an Error the gradients must still be those of backward."""
        low = self._vector.low
        low.factor = 1.0
        if factor == 1.0:
            return
        later = set(map(id, low.parameters)) if low.has_masters else set()
        low.factor = factor if later else 1.0
        for group in self._optimizer.param_groups:
            for each in group["params"]:
                if each.grad is not None and id(each) not in later:
                    each.grad.detach().mul_(factor)

    def _tell_scaler(self, is_left_out: bool) -> None:
        """Lets the scaler of each rank lower its scale if the step was left out, so that all ranks keep the same one."""
        if is_left_out and (scaler := find_scaler()):
            for key in (id(self), id(self._optimizer)):
                state = scaler._per_optimizer_states.get(key, {})
                for found in state.get("found_inf_per_device", {}).values():
                    found.fill_(1)


def find_scaler(name: str = "step") -> Optional[torch.amp.GradScaler]:
    """The GradScaler whose function of this name has called the Averager, or None."""
    import torch
    # Before PyTorch 2.3 there is only this one; later it is a class below the other.
    kind = torch.amp.GradScaler if hasattr(torch.amp, "GradScaler") else torch.cuda.amp.GradScaler
    frame: Optional[FrameType] = sys._getframe(1)
    for _ in range(8):
        if frame is None:
            return None
        caller = frame.f_locals.get("self") if frame.f_code.co_name == name else None
        if isinstance(caller, kind):
            return caller
        frame = frame.f_back
    return None


def _has_unscaled(scaler: Optional[torch.amp.GradScaler], optimizer: torch.optim.Optimizer) -> bool:
    """Whether scaler.unscale_(optimizer) has been called in this step. The scaler keeps that apart from
    unscale_(averager)."""
    state = scaler._per_optimizer_states.get(id(optimizer), {}) if scaler else {}
    return bool(state) and state["stage"].name == "UNSCALED"
