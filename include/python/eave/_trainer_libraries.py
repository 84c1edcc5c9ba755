"""The parts that callbacks for training libraries have in common: the library calls optimizer.step() itself, and
starts ranks of its own if it finds a launcher's environment variables."""
from __future__ import annotations

import copy
import os
import types
from typing import TYPE_CHECKING, Any, Callable, Optional

from ._averager import Averager
from ._error import USAGE, Error
from ._library import MOVES_PARAMETERS, WANTS_LOSS
from ._ranks import start

if TYPE_CHECKING:
    import torch

_LAUNCHERS = ("OMPI_COMM_WORLD_", "PMI_", "PMIX_", "MPI_LOCAL", "MV2_COMM_WORLD_", "TORCHELASTIC_", "GROUP_", "ROLE_")
_NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID")


def start_alone() -> None:
    """Collective. Starts eave, and then takes the launcher's variables out of the environment. By them Accelerate and
    Lightning would set up ranks of their own, and average gradients a second time."""
    start()
    for name in [name for name in os.environ if name in _NAMES or name.startswith(_LAUNCHERS)]:
        del os.environ[name]


def refuse_scaler(scaler: Any) -> None:
    """Raises an Error if the library steps through a GradScaler, as it does with fp16 on a GPU. A scaler decides on each
    rank by itself whether to take the step, so one rank would leave out a step for which the other ones wait."""
    if scaler is not None and scaler.is_enabled():
        raise Error(USAGE, "fp16 in a training library steps through its own GradScaler, on each rank by itself: train with "
                           "bf16, or in a loop of your own with scaler.step(averager)", is_shared=True)


def average_gradients(averager: Averager) -> bool:
    """Collective, before gradients are clipped. Returns False if the step is left out. A method that moves the parameters
    itself has no averaged gradient, so each rank's own is clipped."""
    return averager._has(MOVES_PARAMETERS) or averager.average_gradients()


def step_through(averager: Averager, optimizer: torch.optim.Optimizer, longest: float = 0.0) -> None:
    """Makes optimizer.step() call averager.step(), which calls what optimizer.step() was before. If `longest` is above 0,
    averaged gradients are clipped to this norm before."""
    from torch.nn.utils import clip_grad_norm_ as clip
    if averager._has(WANTS_LOSS):
        raise Error(USAGE, "adaptive_tau follows the loss, and a training library does not tell it: leave adaptive_tau out, or "
                           "train in a loop of your own with averager.step(loss_sum)", is_shared=True)
    own_step, is_inside = optimizer.step, False

    def step(_: Any, closure: Optional[Callable[[], Any]] = None) -> Any:
        nonlocal is_inside
        if is_inside:
            return own_step()
        loss = closure() if closure else None
        is_inside = True
        try:
            if longest > 0 and average_gradients(averager):
                clip([each for group in optimizer.param_groups for each in group["params"]], longest)
            averager.step()
        finally:
            is_inside = False
        return loss

    vars(step).update(vars(own_step))  # a scheduler has marked it, and would warn if the mark were gone
    vars(step)["__wrapped__"] = own_step
    setattr(optimizer, "step", types.MethodType(step, optimizer))


def end_with_consensus(averager: Averager, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Collective. Closes the averager and leaves the consensus in the model, equal on all ranks."""
    with averager.consensus():
        values = copy.deepcopy(model.state_dict())
    averager.close()
    setattr(optimizer, "step", getattr(optimizer.step, "__wrapped__"))
    model.load_state_dict(values)
