"""Sampler: which samples of a dataset each rank has in each step."""
from __future__ import annotations

import ctypes
import weakref
from typing import Any, Iterator, Optional

from ._error import USAGE, Error
from ._library import call, load
from ._ranks import rank, size


class Sampler:
    """Batches of indices for this rank; give it to torch.utils.data.DataLoader(dataset, batch_sampler=...).

    In every epoch each of the `length` samples comes once, on one rank. Their order follows from `seed` and the epoch
    alone, as in `eave train`: step t takes the next size() * batch_size samples, and rank i the i-th part of them. So the
    order is the same for any number of ranks. All ranks have equally many batches, and none is empty: if fewer samples
    than ranks are left for the last step, the step before takes them too, and its batches may have one sample more.

    Each loop over it is the next epoch. state_dict() says where it is; after load_state_dict(), also on another number
    of ranks, the first loop takes the samples that are left of that epoch. If fewer than ranks are left, it leaves them
    out, and is the next epoch."""

    def __init__(self, length: int, batch_size: int, seed: int = 1) -> None:
        load()
        for name, value in (("length", length), ("batch_size", batch_size)):
            if not isinstance(value, int) or value < 1:
                raise Error(USAGE, f"Sampler: {name}={value!r}; expected a whole number from 1 up")
        if not isinstance(seed, int):
            raise Error(USAGE, f"Sampler: seed={seed!r}; expected a whole number")
        if length < size():
            raise Error(USAGE, f"Sampler: {length} samples for {size()} ranks; expected at least one for each", is_shared=True)
        self.length, self.batch_size, self.seed = length, batch_size, seed
        self.epoch = 0         # of the loop that is under way, or comes next
        self._is_begun = False
        self._start = 0        # samples of all ranks before the first batch of this epoch's loop
        self._batches = 0      # batches that have been drawn since
        samplers.add(self)

    def __len__(self) -> int:
        """Batches of this rank in the epoch that is under way, or comes next."""
        batches = len(self._ends(self._start)) - 1
        return batches if self._batches < batches else len(self._ends(0)) - 1

    def _ends(self, start: int) -> list[int]:
        """The place in the epoch's order where each step from `start` on begins, and the end of the last one."""
        begins = list(range(start, self.length, size() * self.batch_size))
        if len(begins) > 1 and self.length - begins[-1] < size():
            begins.pop()
        return [*begins, self.length]

    def __iter__(self) -> Iterator[list[int]]:
        if self._is_begun:
            self.set_epoch(self.epoch + 1)
        self._is_begun = True
        order = shuffled(self.length, self.seed, self.epoch)
        ends = self._ends(self._start)
        for begin, end in zip(ends, ends[1:]):
            self._batches += 1
            yield order[begin + (end - begin) * rank() // size():begin + (end - begin) * (rank() + 1) // size()]

    def set_epoch(self, epoch: int) -> None:
        """The next loop is this epoch, from its first sample. Needed only if the loop before was left early."""
        self.epoch, self._is_begun, self._start, self._batches = epoch, False, 0, 0

    def state_dict(self, batches: Optional[int] = None) -> dict[str, Any]:
        """The seed, and the samples of this epoch that all ranks have taken. A DataLoader with workers draws batches
        ahead: then tell how many `batches` of this loop this rank has trained on, one for each averager.step(). If the
        Averager raises Leaving, a batch that was drawn for the next step counts as not taken."""
        ends = self._ends(self._start)
        taken = ends[min(self._batches if batches is None else batches, len(ends) - 1)]
        return {"length": self.length, "seed": self.seed, "epoch": self.epoch, "samples": taken}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on where state_dict() was called. Raises an Error if the dataset has another length."""
        if state["length"] != self.length:
            raise Error(USAGE, f"Sampler: the state is of {state['length']} samples, the dataset has {self.length}")
        self.seed = int(state["seed"])
        is_over = self.length - int(state["samples"]) < size()
        self.set_epoch(int(state["epoch"]) + is_over)
        self._start = 0 if is_over else int(state["samples"])


samplers: weakref.WeakSet[Sampler] = weakref.WeakSet()  # all that are in use


def shuffled(length: int, seed: int, epoch: int) -> list[int]:
    """0 to length - 1 in the order in which `eave train` takes them in this epoch."""
    order = (ctypes.c_int64 * length)()
    call("shuffle", order, length, seed, epoch)
    return list(order)
