"""Replaces three methods of a Trainer, and its Accelerator's backward(), while it trains, because no callback is called
at these places. Needs transformers 4.46."""
from __future__ import annotations

import contextlib
import functools
from typing import Any, Iterator

import transformers
from transformers import Trainer

from ._error import USAGE, Error
from ._library import AVERAGES_GRADIENTS
from ._ranks import size, sum_over_ranks
from ._trainer_libraries import AveragerOfTrainer


if not hasattr(Trainer, "get_batch_samples"):
    raise Error(USAGE, f"eave.huggingface needs transformers 4.46 or newer, found {transformers.__version__}")


class _InPlace:
    NAMES = ("get_batch_samples", "training_step", "log")

    def __init__(self, trainer: Any, callback: AveragerOfTrainer) -> None:
        self._trainer, self._callback = trainer, callback
        self._own = {name: getattr(trainer, name) for name in self.NAMES}
        self._own_backward = trainer.accelerator.backward
        self._share = 1.0  # label tokens of this rank in this step, divided by the mean over ranks

    def get_batch_samples(self, epoch_iterator: Any, num_batches: int, *arguments: Any, **options: Any) -> tuple[Any, Any]:
        """The Trainer divides a loss by the number of label tokens in the step. If gradients are averaged, backward()
        multiplies it by this rank's share of them, so that each token has the same weight, as with the Trainer's own DDP."""
        batches, tokens = self._own["get_batch_samples"](epoch_iterator, num_batches, *arguments, **options)
        self._share = 1.0
        makes_step = len(batches) == num_batches  # A dataset without a length may end within a step, which is then left out.
        if makes_step and tokens is not None and self._counts_all():
            mine = float(tokens.max() if hasattr(tokens, "max") else tokens)
            mean = sum_over_ranks([mine])[0] / size()
            self._share = mine / mean if mean else 1.0
            tokens = tokens + (tokens == 0)  # The Trainer divides by it.
        return batches, tokens

    def _counts_all(self) -> bool:
        """Older versions of transformers have no `average_tokens_across_devices`, or turn it off for one process."""
        name, arguments = "average_tokens_across_devices", self._trainer.args
        is_off = getattr(type(arguments), name, False) and not getattr(arguments, name)
        return not is_off and self._callback.averager._has(AVERAGES_GRADIENTS)

    def backward(self, loss: Any, *arguments: Any, **options: Any) -> None:
        self._own_backward(loss if self._share == 1 else loss * self._share, *arguments, **options)

    def training_step(self, *arguments: Any, **options: Any) -> Any:
        """Averages the gradients before the Trainer clips them and takes their norm."""
        loss = self._own["training_step"](*arguments, **options)
        if self._trainer.accelerator.sync_gradients:
            self._callback._average()
        return loss

    def log(self, logs: dict[str, float], *arguments: Any, **options: Any) -> None:
        if "train_samples_per_second" in logs:
            logs["train_samples_per_second"] *= size()
        self._own["log"](logs, *arguments, **options)


@contextlib.contextmanager
def standing_in(trainer: Any, callback: AveragerOfTrainer) -> Iterator[None]:
    inside = _InPlace(trainer, callback)
    methods = {name: getattr(inside, name) for name in inside.NAMES}
    with _replacing(trainer, methods), _replacing(trainer.accelerator, {"backward": inside.backward}):
        yield


@contextlib.contextmanager
def _replacing(owner: Any, methods: dict[str, Any]) -> Iterator[None]:
    former = dict(vars(owner))
    vars(owner).update(methods)
    try:
        yield
    finally:
        for name in methods:
            vars(owner).pop(name)
            vars(owner).update({name: former[name]} if name in former else {})


def _train(self: Any, resume_from_checkpoint: Any = None, *arguments: Any, **options: Any) -> Any:
    callback: Any = next((each for each in self.callback_handler.callbacks if isinstance(each, AveragerOfTrainer)), None)
    with callback._training(self, resume_from_checkpoint) if callback else contextlib.nullcontext():
        return _own_train(self, resume_from_checkpoint, *arguments, **options)


_own_train = Trainer.train
Trainer.train = functools.wraps(_own_train)(_train)
