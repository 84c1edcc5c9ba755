"""Facts of the model and the optimizer that a saved state keeps, so that load() refuses a different one."""
from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Iterable, Mapping

from .._error import CONFIGURATION, Error

if TYPE_CHECKING:
    import torch

    from .tensors import Trained

_ANOTHER = ("the model has the values of the checkpoint now: make model, optimizer and Averager anew, as they were when it "
            "was saved")


def _plain(name: str) -> str:
    """The name that a parameter has without torch.compile and DDP."""
    return name.replace("_orig_mod.", "").removeprefix("module.")


def list_parameters(trained: Trained) -> list[str]:
    """A line for each averaged parameter, in the order of their values."""
    return [f"'{_plain(name)}' of shape {tuple(each.shape)}, {str(each.dtype).removeprefix('torch.')}"
            for name, each in trained]


def list_groups(optimizer: torch.optim.Optimizer, trained: Trained) -> list[list[str]]:
    """The names of the parameters in each of the optimizer's groups. The optimizer's state is in their order."""
    names = {id(each): f"'{_plain(name)}'" for name, each in trained}
    return [[names.get(id(each), "a frozen one") for each in group["params"]] for group in optimizer.param_groups]


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


def refuse_other_values(saved: Mapping[str, Any], model: torch.nn.Module, beside: Iterable[str]) -> None:
    """Raises an Error with code 78 if a checkpoint has other values `beside` the averaged ones than the model, such as the
    buffers of another layer."""
    own = model.state_dict()
    for name in sorted({*saved, *beside}):
        theirs, mine = (f"of shape {tuple(getattr(values[name], 'shape', ()))}" if name in values else "missing"
                        for values in (saved, own))
        if theirs != mine:
            raise _refusal("load", f"its '{name}' is {theirs}, this model's is {mine}")


def refuse_other_optimizer(content: Mapping[str, Any], optimizer: torch.optim.Optimizer, trained: Trained) -> None:
    """Raises an Error with code 78 if a checkpoint is of an optimizer of another class, or has other parameters in its
    groups, or in another order. The checkpoint of an older version has no names of them."""
    theirs, mine = content.get("optimizer_class"), type(optimizer).__name__
    if theirs and theirs != mine:
        raise _refusal("load", f"its optimizer is {theirs}, this one is {mine}")
    of_checkpoint, here = (", ".join(str(len(group["params"])) for group in groups)
                           for groups in (content["optimizer"]["param_groups"], optimizer.param_groups))
    if of_checkpoint != here:
        raise _refusal("load", f"its optimizer has groups of {of_checkpoint} parameters, this one of {here}")
    for group, (saved, own) in enumerate(zip(content.get("groups", []), list_groups(optimizer, trained))):
        for place, (name, its) in enumerate(zip(saved, own)):
            if name != its:
                raise _refusal("load", f"parameter {place} in group {group} of its optimizer is {name}, here {its}")


def _refusal(call: str, difference: str) -> Error:
    return Error(CONFIGURATION, f"{call}: the checkpoint is of another model or optimizer: {difference}; {_ANOTHER}",
                 is_shared=True)
