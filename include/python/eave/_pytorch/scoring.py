"""The models that a run scores: the consensus, the mean of the workers, and each worker."""
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Callable, ContextManager, Iterator, Sequence

from .._ranks import size
from .statistics import statistics_of_all_ranks

if TYPE_CHECKING:
    import torch

    from .._averager import Averager


@contextlib.contextmanager
def _keeping_memory(parameters: Sequence[torch.nn.Parameter]) -> Iterator[None]:
    """A context at whose end the parameters lie in the memory that they have now. model.bfloat16() or param.data = … may
    give them other memory within it."""
    before = [each.data for each in parameters]
    try:
        yield
    finally:
        for each, data in zip(parameters, before):
            if (each.data_ptr(), each.dtype) != (data.data_ptr(), data.dtype):
                each.data = data


@contextlib.contextmanager
def holding(averager: Averager, values: torch.Tensor) -> Iterator[torch.nn.Module]:
    """Collective. A context in which the model has these parameters, and is only evaluated."""
    own = averager._vector.values
    mine = own.clone()
    own.copy_(values)
    averager._vector.low.write()
    averager._is_evaluating = True
    try:
        is_merged = averager._statistics == "average"
        with _keeping_memory(averager._vector.parameters), \
                statistics_of_all_ranks(averager._model) if is_merged else contextlib.nullcontext():
            yield averager._model
    finally:
        averager._is_evaluating = False
        own.copy_(mine)
        averager._vector.low.write()
    averager._keep_place()


def models_to_score(averager: Averager, has_center: bool) -> list[Callable[[], ContextManager[torch.nn.Module]]]:
    """Returns collective contexts in which the model is the consensus, the mean of the workers, and this rank's own. If
    all of them are equal, only the first is returned. Call them in this order."""
    @contextlib.contextmanager
    def hold_mean() -> Iterator[torch.nn.Module]:
        import torch
        with averager._vector.reading("run.evaluate_workers"):
            values = torch.empty_like(averager._vector.values)
            averager._settle()
            averager._call("mean_of_workers", values.data_ptr())
            with holding(averager, values):
                yield averager._model

    @contextlib.contextmanager
    def hold_own() -> Iterator[torch.nn.Module]:
        averager._is_evaluating = True
        try:
            yield averager._model
        finally:
            averager._is_evaluating = False
        averager._keep_place()

    differ = size() > 1 and (has_center or any(True for _ in averager._model.buffers()))
    return [averager.consensus, hold_mean, hold_own] if differ else [averager.consensus]
