"""A callback by which the Trainer of Hugging Face transformers trains with any method of eave.

    from eave.huggingface import AveragerCallback
    averaging = AveragerCallback("easgd", tau=10)                    # before TrainingArguments
    arguments = TrainingArguments(output_dir="out", max_steps=1000)  # the same number of steps on all ranks
    Trainer(model, arguments, train_dataset=data.shard(eave.size(), eave.rank()), callbacks=[averaging]).train()

Afterwards the model is the consensus, equal on all ranks: trainer.save_model() and trainer.evaluate() use it. During
training each rank evaluates its own replica. If all ranks exchange together, EarlyStoppingCallback and ReduceLROnPlateau
follow rank 0's metrics on all ranks, which then must evaluate equally often. Only rank 0 logs. If gradients are averaged,
each label token has the same weight on every rank. A checkpoint of the Trainer has rank 0's replica, and the callback
adds the averager's state in its folder `eave`. So train(resume_from_checkpoint=True) goes on with all of it, also after
SIGUSR1, which lets all ranks save and leave with code 75. include/examples/own_trainer.py is a whole program.
"""
from __future__ import annotations

import contextlib
import fcntl
import glob
import inspect
import os
import shutil
from typing import Any, Iterator, Optional

from transformers import EarlyStoppingCallback, TrainerCallback

from ._error import USAGE, Error
from ._huggingface_trainer import standing_in
from ._library import AVERAGES_GRADIENTS
from ._pytorch.random_numbers import RandomNumbers, restore, states_to_save
from ._ranks import rank, sum_over_ranks, text_of_first_rank
from ._trainer_libraries import AveragerOfTrainer, numbers_of_first_rank


class AveragerCallback(AveragerOfTrainer, TrainerCallback):
    """Takes the arguments of eave.Averager. Make it before TrainingArguments."""

    _is_told = False  # of the training by Trainer.train()

    def on_init_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        _number_ranks(args, state)

    @contextlib.contextmanager
    def _training(self, trainer: Any, resumed: Any) -> Iterator[None]:
        """The context of trainer.train(resumed)."""
        # add_callback() calls no on_init_end, and another TrainingArguments numbers all ranks 0.
        _number_ranks(trainer.args, trainer.state)
        # Otherwise Accelerate lets rank 0 alone read a dataset without a length.
        trainer.accelerator.dataloader_config.dispatch_batches = False
        self._resumed, self._is_told = resumed, True
        self._stops_early = any(isinstance(each, EarlyStoppingCallback) for each in trainer.callback_handler.callbacks)
        try:
            with standing_in(trainer, self), self._open:
                yield
        finally:
            self._is_told = False

    def on_train_begin(self, args: Any, state: Any, control: Any, *, model: Any, optimizer: Any, lr_scheduler: Any,
                       **_: Any) -> None:
        if not self._is_told:
            raise Error(USAGE, "this Trainer's train() does not call transformers.Trainer.train(), in which the AveragerCallback "
                               "averages gradients before they are clipped: let it call super().train()", is_shared=True)
        _refuse_best(args)
        follows_metrics = self._stops_early or "metrics" in inspect.signature(type(lr_scheduler).step).parameters
        self._begin(model, getattr(optimizer, "optimizer", optimizer), getattr(optimizer, "scaler", None), follows_metrics)
        # The Trainer of every rank would write its random numbers to the same file. This leaves out that part.
        self._saves = not args.save_only_model
        self._open.callback(setattr, args, "save_only_model", not self._saves)
        args.save_only_model = args.save_only_model or rank() > 0
        self._random: Optional[RandomNumbers] = None
        self._leaves = False
        self._own: set[str] = set()  # folders with a state of this training
        if state.global_step > 0:
            self._go_on(_folder(args, state) if self._resumed in (None, True) else os.fspath(self._resumed))

    def _go_on(self, folder: str) -> None:
        extra = self.averager.load(os.path.join(folder, "eave"))
        if extra is None:
            if self.averager._has(AVERAGES_GRADIENTS):  # all ranks have the same parameters
                return
            raise Error(USAGE, f"resume_from_checkpoint: {folder} has no state of the averager in its folder 'eave', and the "
                               "Trainer's own has rank 0's replica alone: take a checkpoint that has it, or begin with a model "
                               "that from_pretrained has read", is_shared=True)
        self._own.add(os.path.realpath(folder))
        restore(extra)
        self._random = RandomNumbers()  # before the first step the Trainer sets those of its own file, of one rank

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._random:
            self._random.put_back()
            self._random = None
        if self._leaves:
            self.averager._leave()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        if self._is_leaving():
            control.should_save = True
        return control

    def _is_leaving(self) -> bool:
        return self.averager.leaving and self.averager._leaves_by_itself

    def on_evaluate(self, args: Any, state: Any, control: Any, *, metrics: dict[str, Any], **_: Any) -> None:
        if self._decides_together():
            mine = {name: value for name, value in metrics.items() if isinstance(value, (int, float))}
            metrics.update(numbers_of_first_rank(mine))
            # A callback that is called before this one has seen other numbers.
            control.should_training_stop = bool(numbers_of_first_rank({"stop": control.should_training_stop})["stop"])

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if not self._saves:
            return
        # If ranks take steps independently, other ranks may save after other steps, and only some of them because they leave.
        folder = text_of_first_rank(_folder(args, state))
        self._remove_former(folder)
        self.averager.save(os.path.join(folder, "eave"), keep=1, **states_to_save())
        self._leaves = sum_over_ranks([self._is_leaving()]) != [0.0]

    def _remove_former(self, folder: str) -> None:
        """The Trainer has just replaced its checkpoint of an earlier training, so the averager's state beside it goes too.
        If another job saves there now, it stays, and averager.save() will name that job."""
        place = os.path.realpath(folder)
        if rank() == 0 and place not in self._own and not _is_locked(os.path.join(folder, "eave")):
            for former in glob.glob(os.path.join(glob.escape(folder), "eave", "checkpoint", "step-*")):
                shutil.rmtree(former, ignore_errors=True)
        self._own.add(place)

    def on_train_end(self, args: Any, state: Any, control: Any, *, model: Any, **_: Any) -> None:
        self._end(model)


def _number_ranks(args: Any, state: Any) -> None:
    """Tells the Trainer which rank this is, so that rank 0 alone writes."""
    if args.world_size > 1:
        raise Error(USAGE, "TrainingArguments was made before the AveragerCallback, and has set up ranks of its own: "
                           "make the AveragerCallback first", is_shared=True)
    args.distributed_state.process_index = args.distributed_state.local_process_index = rank()
    state.is_world_process_zero = state.is_local_process_zero = rank() == 0


def _folder(args: Any, state: Any) -> str:
    return os.path.join(args.output_dir, f"checkpoint-{state.global_step}")


def _is_locked(folder: str) -> bool:
    """Whether somebody has the lock of this folder by which averager.save() keeps other jobs out."""
    for place in (folder, os.path.join(folder, "checkpoint")):
        try:
            with open(os.path.join(place, "run.lock"), "rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # there is none, or the file system has no locks
            pass
    return False


def _refuse_best(args: Any) -> None:
    if args.load_best_model_at_end or args.save_strategy == "best":
        name = "load_best_model_at_end" if args.load_best_model_at_end else 'save_strategy="best"'
        raise Error(USAGE, f"{name} keeps rank 0's replica, not the consensus, and each rank may find another one best: leave "
                           "it out, and trainer.save_model() after train() saves the consensus", is_shared=True)
