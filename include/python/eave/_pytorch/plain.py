"""The values that a checkpoint may hold: load() reads them back without running code of the file."""
from __future__ import annotations

import copy
import io
import sys
from collections import OrderedDict
from typing import Any, Callable, Iterator

from .._error import USAGE, Error

_CONTAINERS = (dict, OrderedDict, list, tuple)  # exactly these: load() does not know what is derived from them


def bytes_of(content: Any) -> bytes:
    import torch
    file = io.BytesIO()
    torch.save(content, file)
    return file.getvalue()


def content_of(saved: bytes) -> Any:
    """Runs no code of the file: it may hold tensors, numbers, text, and lists and dicts of them."""
    import torch
    return torch.load(io.BytesIO(saved), map_location="cpu", weights_only=True)


def with_plain_numbers(value: Any) -> Any:
    """The same with numbers of Python in the place of NumPy's and of members of an IntEnum, whose classes load() does not
    know. Values stay the same."""
    if type(value) in _CONTAINERS:
        return _with_parts(value, with_plain_numbers)
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        value = value.item()
    if isinstance(value, bool):
        return value
    return int(value) if isinstance(value, int) else float(value) if isinstance(value, float) else value


def _with_parts(value: Any, change: Callable[[Any], Any]) -> Any:
    """A copy of a container with changed parts. A state_dict() also has attributes, which it keeps."""
    if isinstance(value, dict):
        result = copy.copy(value)
        result.clear()
        result.update((change(key), change(part)) for key, part in value.items())
        return result
    return type(value)(map(change, value))


def require_readable(**parts: Any) -> None:
    """Raises an Error that names the first value which load() could not read. Tensors are taken as readable, so that
    this takes no time and memory for them."""
    if _is_readable(_without_tensors(parts)):
        return
    leaves = (found for name, value in parts.items() for found in _leaves(name, value))
    place, leaf = next((found for found in leaves if not _is_readable(_without_tensors(found[1]))), ("a part", parts))
    raise Error(USAGE, f"save: {place} is of type {type(leaf).__name__}, which load() cannot read: expected tensors, numbers, "
                       "text, and lists and dicts of them, such as a state_dict()")


def _is_readable(value: Any) -> bool:
    try:
        content_of(bytes_of(value))
    except Exception:  # whatever pickling or reading it raises
        return False
    return True


def _without_tensors(value: Any) -> Any:
    import torch
    if type(value) in (torch.Tensor, torch.nn.Parameter):
        return None
    return _with_parts(value, _without_tensors) if type(value) in _CONTAINERS else value


def _leaves(place: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The keys and values in the dicts and lists of a value, with the place of each."""
    if type(value) in (dict, OrderedDict):
        for key, part in value.items():
            yield f"a key of {place}", key
            yield from _leaves(f"{place}[{key!r}]", part)
    elif type(value) in _CONTAINERS:
        for number, part in enumerate(value):
            yield from _leaves(f"{place}[{number}]", part)
    else:
        yield place, value
