"""The parts that callbacks for training libraries have in common: the library calls optimizer.step() itself, and
starts ranks of its own if it finds a launcher's environment variables."""
from __future__ import annotations

import contextlib
import copy
import json
import os
import types
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, Optional

from ._averager import Averager
from ._error import USAGE, Error
from ._library import EXCHANGES_TOGETHER, MOVES_PARAMETERS, WANTS_LOSS
from ._ranks import start, sum_over_ranks, text_of_first_rank

if TYPE_CHECKING:
    import torch

_LAUNCHERS = ("OMPI_COMM_WORLD_", "PMI_", "PMIX_", "MPI_LOCAL", "MV2_COMM_WORLD_", "TORCHELASTIC_", "GROUP_", "ROLE_")
_NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID")


def start_alone() -> None:
    """Collective. Joins the ranks as start() does, and then takes the launcher's variables out of the environment. If
    these variables stayed, Accelerate and Lightning would start ranks of their own and average gradients twice. Call it
    before accelerate.Accelerator(); the callbacks for trainers call it themselves."""
    start()
    for name in [name for name in os.environ if name in _NAMES or name.startswith(_LAUNCHERS)]:
        del os.environ[name]


class AveragerOfTrainer:
    """The part of a callback that is the same for each library: the averager of the current training."""

    def __init__(self, communicator: Optional[str] = None, **options: Any) -> None:
        start_alone()
        self._method, self._options = communicator, options
        self._averager: Optional[Averager] = None
        self._open = contextlib.ExitStack()  # what ends with the training
        self._shares_metrics = False

    @property
    def averager(self) -> Averager:
        """The averager of the training, from its begin on. At the end of the training it is closed."""
        if self._averager is None:
            raise Error(USAGE, "AveragerCallback.averager: the Trainer makes it when training begins", is_shared=True)
        return self._averager

    def close(self) -> None:
        """Collective. Closes the averager. A training does so when it ends, also by an exception."""
        self._open.close()

    def _begin(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, scaler: Any, follows_metrics: bool) -> Averager:
        """Collective. `follows_metrics`: something on this rank decides by metrics, such as early stopping."""
        self.close()
        _refuse_scaler(scaler)
        self._averager = self._open.enter_context(Averager(model, optimizer, self._method, **self._options))
        self._open.enter_context(_stepping(self._averager, optimizer))
        together = self._averager._has(EXCHANGES_TOGETHER)
        self._shares_metrics = together and sum_over_ranks([float(follows_metrics)]) != [0.0]
        return self._averager

    def _decides_together(self) -> bool:
        """Whether a training is under way in which all ranks follow rank 0's metrics, which needs equally many evaluations
        on all of them. If nothing follows metrics, some ranks may evaluate alone."""
        return bool(self._averager and self._averager._handle and self._shares_metrics)

    def _average(self) -> None:
        """Collective, before gradients are clipped. A method that moves the parameters itself has no averaged gradient,
        so each rank's own is clipped."""
        if not self.averager._has(MOVES_PARAMETERS):
            self.averager.average_gradients()

    def _end(self, model: torch.nn.Module) -> None:
        """Collective. Closes the averager and leaves the consensus in the model and the optimizer, equal on all ranks."""
        import torch
        with self.averager.consensus():
            values = copy.deepcopy(model.state_dict())
            trained = [(each, each.detach().clone()) for each in self.averager._vector.parameters]
        self.close()
        model.load_state_dict(values)
        with torch.no_grad():
            for parameter, value in trained:
                parameter.copy_(value)


def numbers_of_first_rank(numbers: Mapping[str, float]) -> dict[str, float]:
    """Collective. Returns rank 0's numbers on all ranks."""
    return dict(json.loads(text_of_first_rank(json.dumps(numbers))))


def _refuse_scaler(scaler: Any) -> None:
    """Raises an Error if the library steps through a GradScaler, as it does with fp16 on a GPU. A scaler decides on each
    rank by itself whether to take the step, so one rank would leave out a step for which the other ones wait."""
    if scaler is not None and scaler.is_enabled():
        raise Error(USAGE, "fp16 in a training library steps through its own GradScaler, on each rank by itself: train with "
                           "bf16, or in a loop of your own with scaler.step(averager)", is_shared=True)


@contextlib.contextmanager
def _stepping(averager: Averager, optimizer: torch.optim.Optimizer) -> Iterator[None]:
    """A context in which optimizer.step() calls averager.step(), which calls what optimizer.step() was before."""
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
            averager.step()
        finally:
            is_inside = False
        return loss

    vars(step).update(vars(own_step))  # a scheduler has marked it, and would warn if the mark were gone
    setattr(optimizer, "step", types.MethodType(step, optimizer))
    try:
        yield
    finally:
        setattr(optimizer, "step", own_step)
