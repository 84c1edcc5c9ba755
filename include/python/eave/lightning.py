"""A callback by which Lightning's Trainer trains with any method of eave.

    from eave.lightning import AveragerCallback
    averaging, first = AveragerCallback("easgd", tau=10), eave.rank() == 0     # before the Trainer
    Trainer(max_steps=1000, devices=1, callbacks=[averaging], enable_checkpointing=first, logger=first,
            enable_progress_bar=first).fit(module, DataLoader(part_of(eave.rank())))

The number of steps must be the same on all ranks. Afterwards the module is the consensus, equal on all ranks. During
training each rank validates its own replica. If all ranks exchange together, EarlyStopping and ReduceLROnPlateau follow
rank 0's metrics on all ranks, which then must have equally many epochs and validations. Only rank 0 keeps callbacks
that write checkpoints. include/examples/own_lightning.py is a whole program. """
from __future__ import annotations

import sys
from typing import Any, Optional

from lightning.pytorch import Callback
from lightning.pytorch.callbacks import Checkpoint, EarlyStopping
from lightning.pytorch.utilities import rank_zero_only

from ._error import USAGE, Error
from ._library import AVERAGES_GRADIENTS
from ._ranks import rank
from ._trainer_libraries import AveragerOfTrainer, numbers_of_first_rank


class AveragerCallback(AveragerOfTrainer, Callback):
    """Takes the arguments of eave.Averager. Make it before the Trainer. For automatic optimization with one optimizer."""

    def __init__(self, communicator: Optional[str] = None, **options: Any) -> None:
        super().__init__(communicator, **options)
        rank_zero_only.rank = rank()

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        others = [each for each in trainer.callbacks if rank() == 0 or not isinstance(each, Checkpoint)]
        # EarlyStopping comes after this callback, whose hooks give it rank 0's metrics, and Checkpoint at the end.
        trainer.callbacks = sorted(others, key=lambda each: 2 * isinstance(each, Checkpoint) + isinstance(each, EarlyStopping))

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        if not pl_module.automatic_optimization or len(trainer.optimizers) != 1:
            raise Error(USAGE, "AveragerCallback is for automatic optimization with one optimizer: make one of several, with a "
                               "parameter group for each, or write a loop of your own with an eave.Averager", is_shared=True)
        self._begin(pl_module, trainer.optimizers[0], getattr(trainer.precision_plugin, "scaler", None), _follows_metrics(trainer))
        if trainer.ckpt_path and rank() == 0 and not self.averager._has(AVERAGES_GRADIENTS):
            print(f"eave: warning: ckpt_path has the replica of rank 0 alone: {self.averager._name} begins anew from it, and the "
                  "other replicas and the center are lost; in a loop of your own averager.save() keeps them", file=sys.stderr)

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        if batch_idx % trainer.accumulate_grad_batches == 0:
            self.averager.begin_step()

    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
        self._average()  # the Trainer clips after this

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if self._decides_together():
            metrics = trainer.callback_metrics
            shared = numbers_of_first_rank({name: value.item() for name, value in metrics.items()})
            for name in shared.keys() & metrics.keys():
                metrics[name].fill_(shared[name])  # in place, as the Trainer reads the same tensors

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        self.on_validation_end(trainer, pl_module)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._end(pl_module)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._open.__exit__(type(exception), exception, exception.__traceback__)


def _follows_metrics(trainer: Any) -> bool:
    return (any(isinstance(each, EarlyStopping) for each in trainer.callbacks)
            or any(each.reduce_on_plateau for each in trainer.lr_scheduler_configs))
