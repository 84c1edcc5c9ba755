"""Models that exchange values between ranks themselves: which ones an Averager takes."""
from __future__ import annotations

from typing import TYPE_CHECKING

from .._error import USAGE, Error
from .._ranks import size

if TYPE_CHECKING:
    import torch


def _kinds(module: torch.nn.Module) -> set[str]:
    return {kind.__name__ for kind in type(module).__mro__}


def refuse_other_kinds(model: object, optimizer: object) -> None:
    """Raises an Error unless these are a model and an optimizer of PyTorch, in this order."""
    import torch
    # A wrapper such as Accelerate's AcceleratedOptimizer is an Optimizer by name alone: it has nothing to hook into, and its
    # step() does nothing while gradients are accumulated.
    is_model = isinstance(model, torch.nn.Module)
    is_optimizer = isinstance(optimizer, torch.optim.Optimizer) and "param_groups" in vars(optimizer)
    if is_model and is_optimizer:
        return
    found = f"{type(model).__name__} and {type(optimizer).__name__}"
    inner = next((name for name, each in getattr(optimizer, "__dict__", {}).items()
                  if isinstance(each, torch.optim.Optimizer)), "")
    hint = ("; they are in the wrong order" if isinstance(optimizer, torch.nn.Module) else
            "; a scheduler keeps its optimizer as scheduler.optimizer"
            if isinstance(optimizer, torch.optim.lr_scheduler.LRScheduler) else
            f"; give it the optimizer inside, which is the {type(optimizer).__name__}'s .{inner}" if inner else "")
    raise Error(USAGE, "Averager(model, optimizer, ...): expected a torch.nn.Module and a torch.optim.Optimizer, found "
                       f"{found}{hint}")


def refuse_wrapped(model: torch.nn.Module) -> None:
    """Raises an Error if the model is sharded, if DistributedDataParallel averages it over all ranks, if it has a
    SyncBatchNorm that would silently compute as BatchNorm does, or a module that takes no hooks."""
    for name, module in model.named_modules():
        kinds = _kinds(module)
        for kind in ("FullyShardedDataParallel", "FSDPModule"):
            if kind in kinds:
                raise Error(USAGE, f"the model is sharded by FSDP ({kind}): no rank has all of its parameters. Give the "
                                   "Averager the model without it; if it does not fit into one GPU, eave cannot train it")
        if "DistributedDataParallel" in kinds:
            _refuse_group(module)
        if any(kind.__name__ == "DDP" and kind.__module__.startswith("torch.distributed") for kind in type(module).__mro__):
            raise Error(USAGE, "the model is under replicate() of torch.distributed, which averages it between ranks: give "
                               "the Averager the model without it, or a DistributedDataParallel over the ranks of one host")
        if "RecursiveScriptModule" in kinds:
            raise Error(USAGE, f"{repr(name) if name else 'the model'} is from torch.jit.script or torch.jit.load, "
                               "whose modules take no hooks: give the Averager the model without it; torch.compile and "
                               "torch.jit.trace work")
        if "SyncBatchNorm" in kinds:
            _refuse_lonely(name)


def _refuse_group(module: torch.nn.Module) -> None:
    group, ranks = group_size(module), size()
    if group >= ranks:
        raise Error(USAGE, "the model is in a DistributedDataParallel, which averages it over all ranks: give the Averager "
                           "the model without it (model.module), or a process_group that is smaller than the job, such as "
                           "the ranks of one host")
    if ranks % group:
        raise Error(USAGE, f"the process group of DistributedDataParallel has {group} ranks, the job {ranks}: expected "
                           "groups of equal size, as gradients have equal weights")


def _refuse_lonely(name: str) -> None:
    import torch
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        raise Error(USAGE, f"'{name}' is a SyncBatchNorm, which computes as BatchNorm does without torch.distributed: call "
                           "torch.distributed.init_process_group before, or take BatchNorm and "
                           'batch_norm_statistics="average", or GroupNorm')


def group_size(module: torch.nn.Module) -> int:
    return int(getattr(module, "process_group").size())


def describe_groups(model: torch.nn.Module) -> list[str]:
    """A line for each DistributedDataParallel in the model, equal on all ranks if the groups have equal sizes."""
    return [f"DistributedDataParallel over {group_size(module)} ranks" for module in model.modules()
            if "DistributedDataParallel" in _kinds(module)]


def why_groups_drift(model: torch.nn.Module) -> str:
    """Why a method whose ranks exchange one by one cannot train this model: it would move the ranks of a group of
    DistributedDataParallel apart. "" if the model has no such group."""
    if not describe_groups(model):
        return ""
    return ("exchanges with each rank by itself, so ranks of one DistributedDataParallel would differ: take a "
            "method in which all ranks exchange together, such as allreduce, easgd or local-sgd")
