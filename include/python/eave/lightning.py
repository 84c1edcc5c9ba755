"""A callback by which Lightning's Trainer trains with any method of eave.

    from eave.lightning import AveragerCallback
    averaging, first = AveragerCallback("easgd", tau=10), eave.rank() == 0     # before the Trainer
    Trainer(max_steps=1000, devices=1, callbacks=[averaging], enable_checkpointing=first, logger=first,
            enable_progress_bar=first).fit(module, DataLoader(part_of(eave.rank())))

The number of steps must be the same on all ranks. Afterwards the module is the consensus, equal on all ranks. During
training each rank validates its own replica. include/examples/own_lightning.py is a whole program.
"""
from __future__ import annotations

import sys
from typing import Any

from lightning.pytorch import Callback
from lightning.pytorch.utilities import rank_zero_only

from ._averager import Averager
from ._library import AVERAGES_GRADIENTS
from ._ranks import rank
from ._trainer_libraries import average_gradients, end_with_consensus, refuse_scaler, start_alone, step_through


class AveragerCallback(Callback):
    """Takes the words of eave.Averager. Make it before the Trainer. For automatic optimization with one optimizer."""

    def __init__(self, communicator: str = "allreduce", **options: Any) -> None:
        start_alone()
        rank_zero_only.rank = rank()
        self._method, self._options = communicator, options

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        refuse_scaler(getattr(trainer.precision_plugin, "scaler", None))
        self._averager = Averager(pl_module, trainer.optimizers[0], self._method, **self._options)
        step_through(self._averager, trainer.optimizers[0])
        if trainer.ckpt_path and rank() == 0 and not self._averager._has(AVERAGES_GRADIENTS):
            print(f"eave: warning: ckpt_path has the replica of rank 0 alone: {self._method} begins anew from it, and the other "
                  "replicas and the center are lost; in a loop of your own averager.save() keeps them", file=sys.stderr)

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        if batch_idx % trainer.accumulate_grad_batches == 0:
            self._averager.begin_step()

    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
        average_gradients(self._averager)  # the Trainer clips after this

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        end_with_consensus(self._averager, pl_module, trainer.optimizers[0])
