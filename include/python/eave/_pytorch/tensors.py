"""Puts the tensors of a PyTorch model into one vector, and makes them equal on all ranks."""
from __future__ import annotations

from typing import TYPE_CHECKING, Iterable, NoReturn, Optional, Sequence

from .._error import USAGE, Error
from .._ranks import broadcast, require_same
from .wrapped import describe_groups

if TYPE_CHECKING:
    import torch

    Trained = list[tuple[str, torch.nn.Parameter]]
    Named = Sequence[tuple[str, torch.Tensor]]
    Span = tuple[str, int, int, str, bool, torch.Tensor]  # device, addresses, name, whether it is trained


def list_trained(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> Trained:
    """Returns [(name, parameter)]: the trained parameters of the model, then the other ones of the optimizer."""
    trained = [(name, each) for name, each in model.named_parameters() if each.requires_grad]
    known = {id(each) for _, each in trained}
    for number, group in enumerate(optimizer.param_groups):
        for place, each in enumerate(group["params"]):
            if each.requires_grad and id(each) not in known:
                known.add(id(each))
                trained.append((f"the optimizer's group {number}, parameter {place}", each))
    return trained


def _others(model: torch.nn.Module, trained: Named) -> Named:
    """Returns [(name, tensor)]: the frozen parameters and the buffers of the model."""
    known = {id(each) for _, each in trained}
    frozen: list[tuple[str, torch.Tensor]] = [(name, each) for name, each in model.named_parameters() if id(each) not in known]
    return frozen + list(model.named_buffers())


def _refuse(name: str, tensor: torch.Tensor, why: str) -> NoReturn:
    raise Error(USAGE, f"parameter '{name}' ({str(tensor.dtype).removeprefix('torch.')} on {tensor.device}): {why}")


def require_fit(model: torch.nn.Module, trained: Trained) -> None:
    """Raises an Error that names the first parameter that cannot become a part of one vector."""
    import torch
    if torch.is_inference_mode_enabled():
        raise Error(USAGE, "Averager within torch.inference_mode(), where no tensor can be made that is trained: make it "
                           "outside of that")
    for name, each in trained:
        if torch.nn.parameter.is_lazy(each):
            raise Error(USAGE, f"parameter '{name}' has no shape yet: run a batch through the model before")
        if type(each.data) is not torch.Tensor:
            _refuse(name, each, f"expected a plain tensor, not {type(each.data).__name__}")
        if each.layout != torch.strided:
            _refuse(name, each, f"expected a dense tensor, not {each.layout}")
        if each.dtype not in (torch.float32, torch.bfloat16, torch.float16):
            _refuse(name, each, "expected float32, bfloat16 or float16: call model.float() before the optimizer is made")
        if each.device.type not in ("cpu", "cuda") or each.device != trained[0][1].device:
            _refuse(name, each, "expected all in the host's memory, or all on one GPU")
    if not any(each.numel() for _, each in trained):
        raise Error(USAGE, "a model without parameters that are trained")
    _refuse_shared_memory(trained, _others(model, trained))


def _span(tensor: torch.Tensor) -> tuple[int, int]:
    """Returns the addresses of the tensor's first byte and of the byte after its last element."""
    last = sum((length - 1) * stride for length, stride in zip(tensor.shape, tensor.stride()))
    return tensor.data_ptr(), tensor.data_ptr() + (last + 1) * tensor.element_size()


def _shares_memory(tensor: torch.Tensor) -> bool:
    """Whether elements of the tensor share memory with each other, as after expand."""
    begin, end = _span(tensor)
    return bool(end - begin < tensor.numel() * tensor.element_size())


def _overlap(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether the tensors have an element in common. Their spans overlap."""
    import torch
    begin, end = min(one.data_ptr(), other.data_ptr()), max(_span(one)[1], _span(other)[1])
    marks = torch.zeros(end - begin, dtype=torch.bool, device="cpu")  # of each byte
    parts = []
    for each in (one, other):
        size = each.element_size()
        strides = [size * stride for stride in each.stride()]
        parts.append(marks.as_strided([*each.shape, size], [*strides, 1], each.data_ptr() - begin))
    parts[0].fill_(True)
    return bool(parts[1].any())


def _refuse_shared_memory(trained: Named, others: Named) -> None:
    """Raises an Error if a trained parameter shares memory with itself or another tensor. The parameter becomes a view
    of another vector, so it would no longer share that memory."""
    import torch
    spans: list[Span] = []
    for is_trained, group in ((True, trained), (False, others)):
        for name, each in group:
            if torch.nn.parameter.is_lazy(each) or each.layout != torch.strided or each.is_meta or each.numel() == 0:
                continue
            begin, end = _span(each)
            if is_trained and _shares_memory(each):
                _refuse(name, each, "its elements share memory (expand)")
            spans.append((str(each.device), begin, end, name, is_trained, each))
    spans.sort(key=lambda span: span[:3])
    furthest: Optional[Span] = None
    for span in spans:
        if furthest and span[0] == furthest[0] and span[1] < furthest[2] and (span[4] or furthest[4]):
            first, second = sorted((furthest, span), key=lambda each: (not each[4], each[3]))
            if not _overlap(first[5], second[5]):
                raise Error(USAGE, f"'{first[3]}' and '{second[3]}' are parts of one tensor that lie between each other: give "
                                   "each memory of its own, such as torch.nn.Parameter(part.clone())")
            raise Error(USAGE, f"'{first[3]}' and '{second[3]}' share memory, and would no longer do so: to tie them, "
                               "assign the same Parameter to both modules")
        if furthest is None or span[0] != furthest[0] or span[2] > furthest[2]:
            furthest = span


def place_in(flat: torch.Tensor, at: int, parameter: torch.Tensor) -> torch.Tensor:
    """Returns a view of `flat` from index `at` on that has the memory layout in which PyTorch allocates the parameter's
    gradient and momentum. Fused optimizers take the values of all of them in the order of memory."""
    import torch
    part = flat[at:at + parameter.numel()].view(parameter.shape)
    if part.stride() == parameter.stride():
        return part
    return part.as_strided(parameter.shape, torch.empty_like(parameter, device="meta").stride())


def describe_layout(parameter: torch.Tensor) -> str:
    """In which order the dimensions of a parameter lie in memory; "contiguous" is the usual one. The vectors of two ranks, or
    of a rank and a checkpoint, have their values at the same places only if these orders are the same."""
    import torch
    longer = [number for number, length in enumerate(parameter.shape) if length > 1]
    order = sorted(longer, key=lambda number: -parameter.stride(number))
    if order == longer or not parameter.numel():
        return "contiguous"
    kinds = ((torch.channels_last, 4), (torch.channels_last_3d, 5))
    if any(parameter.dim() == count and parameter.is_contiguous(memory_format=kind) for kind, count in kinds):
        return "channels_last"
    return f"dimensions in the order {order}"


def parts_of(flat: torch.Tensor, parameters: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """Returns a view of `flat` for each parameter; the views follow each other without gaps."""
    parts, at = [], 0
    for each in parameters:
        parts.append(place_in(flat, at, each))
        at += each.numel()
    return parts


def flatten(parameters: Sequence[torch.Tensor]) -> torch.Tensor:
    """Makes all parameters of float32 views of one vector, each in its own layout, and returns it. Copies the values of
    the other ones into it."""
    import torch
    flat = torch.empty(sum(each.numel() for each in parameters), dtype=torch.float32, device=parameters[0].device)
    for part, each in zip(parts_of(flat, parameters), parameters):
        part.copy_(each.data)
        if each.dtype == torch.float32:
            each.data = part
    return flat


def _describe_optimizer(optimizer: torch.optim.Optimizer, trained: Trained) -> list[str]:
    names = {id(each): name for name, each in trained}
    lines = [f"optimizer {type(optimizer).__name__}, with a state of {len(optimizer.state)} parameters"]
    for number, group in enumerate(optimizer.param_groups):
        values = {name: float(value) if name == "lr" else value for name, value in sorted(group.items())
                  if name == "lr" or isinstance(value, (bool, int, float, str, tuple))}
        lines.append(f"group {number} of {len(group['params'])} parameters, {values}: " +
                     ", ".join(sorted(names.get(id(each), "frozen") for each in group["params"])))
    return lines


def require_same_model(model: torch.nn.Module, optimizer: torch.optim.Optimizer, trained: Trained) -> None:
    """Collective. Raises an Error with code 78, which names the first difference, unless model and optimizer are the
    same on all ranks."""
    lines = [f"parameter '{name}' of shape {tuple(each.shape)}, {each.dtype}, trained, {describe_layout(each)}"
             for name, each in trained]
    lines += describe_groups(model)
    lines += [f"'{name}' of shape {tuple(each.shape)}, {each.dtype}, not trained" for name, each in _others(model, trained)]
    require_same("\n".join(lines + _describe_optimizer(optimizer, trained)))


def require_values(model: torch.nn.Module, trained: Trained) -> None:
    """Raises an Error if a frozen parameter or a buffer cannot be made equal on all ranks."""
    import torch
    for name, each in _others(model, trained):
        if torch.nn.parameter.is_lazy(each):
            raise Error(USAGE, f"'{name}' has no shape yet: run a batch through the model before")
        if each.layout != torch.strided or each.is_meta or (each.numel() and not each.data_ptr()):
            raise Error(USAGE, f"'{name}' is neither trained nor a dense tensor with values ({type(each.data).__name__} on "
                               f"{each.device}): it cannot be made equal on all ranks; give the model its values before")


def share_others(model: torch.nn.Module, trained: Trained) -> list[str]:
    """Collective. Replaces the frozen parameters and the buffers by rank 0's. Returns the names of those of this rank that
    cannot take rank 0's values."""
    import torch
    wrong = []
    for name, each in _others(model, trained):
        with torch.no_grad():
            host = each.detach().to("cpu", copy=True).contiguous()
            broadcast(host.data_ptr(), host.numel() * host.element_size())
            if not torch.equal(each.detach().cpu(), host) and not _write(each, host):
                wrong.append(name)
    return wrong


def _write(tensor: torch.Tensor, values: torch.Tensor) -> bool:
    """Writes the values. Returns False if the tensor does not have them then, because elements share memory."""
    import torch
    target, part = tensor.detach(), values
    if not _shares_memory(tensor):
        target.copy_(part)
        return True
    for dimension, stride in enumerate(tensor.stride()):
        if stride == 0:  # expand
            target, part = target.narrow(dimension, 0, 1), part.narrow(dimension, 0, 1)
    try:
        target.copy_(part)
    except RuntimeError:
        return False
    written = (each.contiguous().flatten().view(torch.uint8) for each in (tensor.detach().cpu(), values))
    return bool(torch.equal(*written))  # as bytes, because NaN is not equal to NaN


def refuse_unequal(names: list[str]) -> None:
    """Raises an Error if share_others has returned names."""
    if names:
        raise Error(USAGE, f"'{names[0]}' differs from rank 0's, and its elements share memory (expand), so it cannot take "
                           "rank 0's values: give it memory of its own before, by .clone()")
