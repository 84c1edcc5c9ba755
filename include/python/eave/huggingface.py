"""A callback by which the Trainer of Hugging Face transformers trains with any method of eave.

    from eave.huggingface import AveragerCallback
    averaging = AveragerCallback("easgd", tau=10)                    # before TrainingArguments
    arguments = TrainingArguments(output_dir="out", max_steps=1000)  # the same number of steps on all ranks
    Trainer(model, arguments, train_dataset=data.shard(eave.size(), eave.rank()), callbacks=[averaging]).train()

Afterwards the model is the consensus, equal on all ranks: trainer.save_model() and trainer.evaluate() use it. During
training each rank evaluates its own replica. Only rank 0 logs and saves. include/examples/own_trainer.py is a whole
program.
"""
from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from ._averager import Averager
from ._error import USAGE, Error
from ._ranks import rank
from ._trainer_libraries import end_with_consensus, refuse_scaler, start_alone, step_through


class AveragerCallback(TrainerCallback):
    """Takes the words of eave.Averager. Make it before TrainingArguments."""

    def __init__(self, communicator: str = "allreduce", **options: Any) -> None:
        start_alone()
        self._method, self._options = communicator, options

    def on_init_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if args.world_size > 1:
            raise Error(USAGE, "TrainingArguments was made before the AveragerCallback, and has set up ranks of its own: "
                               "make the AveragerCallback first", is_shared=True)
        args.distributed_state.process_index = args.distributed_state.local_process_index = rank()
        state.is_world_process_zero = state.is_local_process_zero = rank() == 0

    def on_train_begin(self, args: Any, state: Any, control: Any, *, model: Any, optimizer: Any, **_: Any) -> None:
        refuse_scaler(getattr(optimizer, "scaler", None))
        self._optimizer = getattr(optimizer, "optimizer", optimizer)  # without Accelerate's wrapper
        self._averager = Averager(model, self._optimizer, self._method, **self._options)
        self._longest, args.max_grad_norm = args.max_grad_norm or 0.0, 0.0  # the Trainer would clip each rank's own gradient
        step_through(self._averager, self._optimizer, self._longest)

    def on_train_end(self, args: Any, state: Any, control: Any, *, model: Any, **_: Any) -> None:
        args.max_grad_norm = self._longest
        end_with_consensus(self._averager, model, self._optimizer)
