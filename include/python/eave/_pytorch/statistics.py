"""The running statistics of batch norm: each rank's own, or merged from all ranks while the model holds the consensus."""
from __future__ import annotations

import contextlib
import ctypes
from typing import TYPE_CHECKING, Any, Iterator, Optional

from .._error import USAGE, Error
from .._library import call
from .._ranks import size

if TYPE_CHECKING:
    import torch

    Pair = tuple[torch.Tensor, torch.Tensor, Optional[torch.Tensor]]


def refuse_statistics(kind: Any) -> None:
    if kind not in ("local", "average"):
        raise Error(USAGE, f'batch_norm_statistics={kind!r}: expected "local" or "average"')


def _list_statistics(model: torch.nn.Module) -> list[Pair]:
    """Returns (running_mean, running_var, num_batches_tracked) of each module that has them as tensors."""
    import torch
    found = []
    for module in model.modules():
        mean, variance = getattr(module, "running_mean", None), getattr(module, "running_var", None)
        if isinstance(mean, torch.Tensor) and isinstance(variance, torch.Tensor):
            found.append((mean, variance, getattr(module, "num_batches_tracked", None)))
    return found


def _mean_over_ranks(values: torch.Tensor) -> torch.Tensor:
    """Collective. `values` are of float64 in host memory."""
    numbers = (ctypes.c_double * values.numel()).from_address(values.data_ptr())
    call("sum", numbers, values.numel())
    return values.div_(size())


@contextlib.contextmanager
def statistics_of_all_ranks(model: torch.nn.Module) -> Iterator[None]:
    """Collective. A context in which each batch norm has the mean and the variance of all ranks' samples, if ranks had
    equally many: the variance is the mean of the ranks' variances plus the variance of their means, as in `eave train`.
    num_batches_tracked becomes the mean number."""
    import torch
    found = _list_statistics(model)
    if not found:
        yield
        return
    columns = [[mean.double(), variance.double() + mean.double() ** 2, mean.new_zeros(1) if count is None else count.view(1)]
               for mean, variance, count in found]
    parts = [part.detach().to("cpu", torch.float64).flatten() for column in columns for part in column]
    means = torch.split(_mean_over_ranks(torch.cat(parts)), [part.numel() for part in parts])
    own = [[None if each is None else each.clone() for each in pair] for pair in found]
    with torch.no_grad():
        for (mean, variance, count), of_all in zip(found, zip(means[0::3], means[1::3], means[2::3])):
            mean.copy_(of_all[0].view_as(mean))
            variance.copy_((of_all[1] - of_all[0] ** 2).clamp_(min=0).view_as(variance))
            if count is not None:
                count.copy_(of_all[2].round().view_as(count))
    try:
        yield
    finally:
        with torch.no_grad():
            for pair, before in zip(_list_statistics(model), own):  # model.bfloat16() makes other tensors
                for each, value in zip(pair, before):
                    if each is not None and value is not None:
                        each.copy_(value)
