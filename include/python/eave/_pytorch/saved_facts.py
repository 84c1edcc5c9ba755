"""Facts of the model and the optimizer that a saved state keeps, so that load() refuses a different one."""
from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Mapping

from .._error import CONFIGURATION, Error

if TYPE_CHECKING:
    import torch

    from .tensors import Trained

_ANOTHER = ("the model has the values of the checkpoint now: make model, optimizer and Averager anew, as they were when it "
            "was saved")


def list_parameters(trained: Trained) -> list[str]:
    """A line for each averaged parameter, in the order of their values. Names are those without torch.compile and DDP."""
    return [f"'{name.replace('_orig_mod.', '').removeprefix('module.')}' of shape {tuple(each.shape)}, "
            f"{str(each.dtype).removeprefix('torch.')}" for name, each in trained]


def refuse_other_parameters(call: str, content: Mapping[str, Any], trained: Trained, layouts: list[str]) -> None:
    """Raises an Error with code 78 if a state has other averaged parameters than the model, or other layouts. States of
    older versions have no such lists. These versions kept channels_last, and made all other layouts contiguous."""
    saved = content.get("parameters")
    if not saved:
        return
    for number, (theirs, mine) in enumerate(zip_longest(saved, list_parameters(trained), fillvalue="none")):
        if theirs != mine:
            raise _refusal(call, f"its parameter {number} is {theirs}, this model's is {mine}")
    former = [each if each == "channels_last" else "contiguous" for each in layouts]
    for parameter, theirs, mine in zip(saved, content.get("layouts", former), layouts):
        if theirs != mine:
            raise _refusal(call, f"its parameter {parameter}, is {theirs} in memory, this model's {mine}")


def refuse_other_optimizer(content: Mapping[str, Any], optimizer: torch.optim.Optimizer) -> None:
    """Raises an Error with code 78 if a checkpoint is of an optimizer of another class, or has other numbers of parameters
    in its groups."""
    theirs, mine = content.get("optimizer_class"), type(optimizer).__name__
    if theirs and theirs != mine:
        raise _refusal("load", f"its optimizer is {theirs}, this one is {mine}")
    of_checkpoint, here = (", ".join(str(len(group["params"])) for group in groups)
                           for groups in (content["optimizer"]["param_groups"], optimizer.param_groups))
    if of_checkpoint != here:
        raise _refusal("load", f"its optimizer has groups of {of_checkpoint} parameters, this one of {here}")


def _refusal(call: str, difference: str) -> Error:
    return Error(CONFIGURATION, f"{call}: the checkpoint is of another model or optimizer: {difference}; {_ANOTHER}",
                 is_shared=True)
