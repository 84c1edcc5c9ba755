"""A callback by which the Trainer of Hugging Face transformers trains with any method of eave.

    from eave.huggingface import AveragerCallback
    averaging = AveragerCallback("easgd", tau=10)                    # before TrainingArguments
    arguments = TrainingArguments(output_dir="out", max_steps=1000)  # the same number of steps on all ranks
    Trainer(model, arguments, train_dataset=data.shard(eave.size(), eave.rank()), callbacks=[averaging]).train()

Afterwards the model is the consensus, equal on all ranks: trainer.save_model() and trainer.evaluate() use it. During
training each rank evaluates its own replica. Only rank 0 logs. A checkpoint of the Trainer has rank 0's replica, and the
callback adds the averager's state in its folder `eave`. So train(resume_from_checkpoint=True) goes on with all of it,
also after SIGUSR1, which lets all ranks save and leave with code 75. include/examples/own_trainer.py is a whole program.
"""
from __future__ import annotations

import os
from typing import Any, Optional

from transformers import TrainerCallback, TrainerState

from ._averager import Averager
from ._error import USAGE, Error
from ._library import AVERAGES_GRADIENTS
from ._pytorch.random_numbers import RandomNumbers, restore, states_to_save
from ._ranks import rank, sum_over_ranks, text_of_first_rank
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
        _refuse_best(args)
        self._optimizer = getattr(optimizer, "optimizer", optimizer)  # without Accelerate's wrapper
        self._averager = Averager(model, self._optimizer, self._method, **self._options)
        self._longest, args.max_grad_norm = args.max_grad_norm or 0.0, 0.0  # the Trainer would clip each rank's own gradient
        step_through(self._averager, self._optimizer, self._longest)
        # The Trainer of every rank would write its random numbers to the same file. This leaves out that part.
        self._saves, args.save_only_model = not args.save_only_model, args.save_only_model or rank() > 0
        self._random: Optional[RandomNumbers] = None
        self._leaves = False
        if state.global_step > 0:
            self._go_on(args, state)

    def _go_on(self, args: Any, state: Any) -> None:
        folder = _folder_to_resume(args, state)
        extra = self._averager.load(os.path.join(folder, "eave"))
        if extra is None:
            if self._averager._has(AVERAGES_GRADIENTS):  # all ranks have the same parameters
                return
            self._averager.close()
            raise Error(USAGE, f"resume_from_checkpoint: {folder} has no state of the averager in its folder 'eave', and the "
                               "Trainer's own has rank 0's replica alone: name it in TrainingArguments("
                               "resume_from_checkpoint=...), or begin with a model that from_pretrained has read", is_shared=True)
        restore(extra)
        self._random = RandomNumbers()  # before the first step the Trainer sets those of its own file, of one rank

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._random:
            self._random.put_back()
            self._random = None
        if self._leaves:
            self._averager._leave()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        if self._is_leaving():
            control.should_save = True
        return control

    def _is_leaving(self) -> bool:
        return self._averager.leaving and self._averager._leaves_by_itself

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if not self._saves:
            return
        # If ranks take steps independently, other ranks may save after other steps, and only some of them because they leave.
        folder = text_of_first_rank(_folder(args, state))
        self._averager.save(os.path.join(folder, "eave"), keep=1, **states_to_save())
        self._leaves = sum_over_ranks([self._is_leaving()]) != [0.0]

    def on_train_end(self, args: Any, state: Any, control: Any, *, model: Any, **_: Any) -> None:
        args.max_grad_norm, args.save_only_model = self._longest, not self._saves
        end_with_consensus(self._averager, model, self._optimizer)


def _folder(args: Any, state: Any) -> str:
    return os.path.join(args.output_dir, f"checkpoint-{state.global_step}")


def _folder_to_resume(args: Any, state: Any) -> str:
    """A callback is not told which folder train() was given. The Trainer does not read the one in `args`, which may be of
    another step."""
    if isinstance(args.resume_from_checkpoint, str):
        file = os.path.join(args.resume_from_checkpoint, "trainer_state.json")
        if os.path.isfile(file) and TrainerState.load_from_json(file).global_step == state.global_step:
            return args.resume_from_checkpoint
    return _folder(args, state)


def _refuse_best(args: Any) -> None:
    if args.load_best_model_at_end or args.save_strategy == "best":
        name = "load_best_model_at_end" if args.load_best_model_at_end else 'save_strategy="best"'
        raise Error(USAGE, f"{name} keeps rank 0's replica, not the consensus, and each rank may find another one best: leave "
                           "it out, and trainer.save_model() after train() saves the consensus", is_shared=True)
