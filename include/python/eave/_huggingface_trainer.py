"""What an AveragerCallback changes in Hugging Face's Trainer where that has no callback. While a Trainer with an
AveragerCallback trains, methods of `_InPlace` stand in for its own."""
from __future__ import annotations

import contextlib
import functools
from typing import Any, Iterator

from transformers import Trainer

from ._library import AVERAGES_GRADIENTS
from ._ranks import size, sum_over_ranks
from ._trainer_libraries import AveragerOfTrainer


class _InPlace:
    NAMES = ("get_batch_samples", "training_step", "log")

    def __init__(self, trainer: Any, callback: AveragerOfTrainer) -> None:
        self._trainer, self._callback = trainer, callback
        self._own = {name: getattr(trainer, name) for name in self.NAMES}
        self._share = 1.0  # label tokens of this rank in this step, divided by the mean over ranks

    def get_batch_samples(self, *arguments: Any, **options: Any) -> tuple[Any, Any]:
        """The Trainer divides a loss by the number of label tokens in the step. If gradients are averaged, this number
        becomes the mean over ranks, so that each token has the same weight, as with the Trainer's own DDP."""
        batches, tokens = self._own["get_batch_samples"](*arguments, **options)
        self._share = 1.0
        counts_all = self._trainer.args.average_tokens_across_devices and self._callback.averager._has(AVERAGES_GRADIENTS)
        return batches, self._mean_over_ranks(tokens) if counts_all and tokens is not None else tokens

    def _mean_over_ranks(self, tokens: Any) -> Any:
        import torch
        mine = float(torch.as_tensor(tokens).max())
        mean = sum_over_ranks([mine])[0] / size()
        if mean == mine:
            return tokens
        self._share = mine / mean
        return torch.full_like(torch.as_tensor(tokens), mean, dtype=torch.float32)

    def training_step(self, *arguments: Any, **options: Any) -> Any:
        """Averages the gradients before the Trainer clips them and takes their norm. Returns the mean loss of this rank."""
        loss = self._own["training_step"](*arguments, **options)
        if self._trainer.accelerator.sync_gradients:
            self._callback._average()
        return loss / self._share if self._share else loss

    def log(self, logs: dict[str, float], *arguments: Any, **options: Any) -> None:
        if "train_samples_per_second" in logs:
            logs["train_samples_per_second"] *= size()
        self._own["log"](logs, *arguments, **options)


@contextlib.contextmanager
def standing_in(trainer: Any, callback: AveragerOfTrainer) -> Iterator[None]:
    former, inside = dict(vars(trainer)), _InPlace(trainer, callback)
    vars(trainer).update({name: getattr(inside, name) for name in inside.NAMES})
    try:
        yield
    finally:
        for name in inside.NAMES:
            vars(trainer).pop(name)
            vars(trainer).update({name: former[name]} if name in former else {})


def _train(self: Any, resume_from_checkpoint: Any = None, *arguments: Any, **options: Any) -> Any:
    callback: Any = next((each for each in self.callback_handler.callbacks if isinstance(each, AveragerOfTrainer)), None)
    with callback._training(self, resume_from_checkpoint) if callback else contextlib.nullcontext():
        return _own_train(self, resume_from_checkpoint, *arguments, **options)


_own_train = Trainer.train
Trainer.train = functools.wraps(_own_train)(_train)
