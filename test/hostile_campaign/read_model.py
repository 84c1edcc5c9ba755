"""Reads safetensors files by a reader of our own, and by the official package if it is installed.

Our reader refuses all that the official package refuses. Both accept a key that stands twice if that makes no
difference.
"""
import math
import sys

import numpy

import install_safetensors
from read_run import Refused, parse, same_pairs

sys.path.append(str(install_safetensors.directory()))
try:
    import safetensors
    import safetensors.numpy
except ImportError:
    safetensors = None

TYPES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1, "U16": 2, "U32": 4, "U64": 8,
         "F8_E4M3": 1, "F8_E5M2": 1}
OF_ARRAYS = "eave_xxh3_128"  # metadata that differ from part to part


def _read_strictly(data):
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > 100_000_000 or 8 + length > len(data):
        raise Refused("its header is longer than the file")
    header = parse(data[8:8 + length], same_pairs)
    if not data[8:9] == b"{" or not isinstance(header, dict):
        raise Refused("its header is no object")
    metadata = header.pop("__metadata__", None) or {}
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise Refused("its metadata are no texts")
    content, arrays, end = data[8 + length:], {}, 0
    for name, entry in sorted(header.items(), key=_place_of):
        end, arrays[name] = _array(content, entry, end)
    if end != len(content):
        raise Refused(f"{len(content) - end} bytes that no array covers")
    return metadata, arrays


def _place_of(item):
    try:
        first, last = item[1]["data_offsets"]
        return int(first), int(last)
    except (TypeError, KeyError, ValueError, OverflowError) as error:
        raise Refused(f"{item[0]}: {error}") from error


def _array(content, entry, begin):
    shape, kind = entry.get("shape"), entry.get("dtype")
    first, last = entry["data_offsets"]
    numbers = [*shape, first, last] if isinstance(shape, list) else [None]
    if not isinstance(kind, str) or kind not in TYPES or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise Refused(f"dtype {kind}, fields {sorted(entry)}")
    if not all(isinstance(each, int) and not isinstance(each, bool) and 0 <= each < 2**64 for each in numbers):
        raise Refused(f"shape {shape}, place {first}, {last}")
    if first != begin or last - first != TYPES[kind] * math.prod(shape) or last > len(content):
        raise Refused(f"shape {shape} at {first} to {last}, behind {begin}")
    if kind != "F32":
        return last, None
    return last, numpy.frombuffer(content[first:last], numpy.float32).reshape(shape)


def _read_file(path):
    data = path.read_bytes()
    metadata, arrays = _read_strictly(data)
    if safetensors is not None:
        try:
            loaded = safetensors.numpy.load(data)
        except Exception as error:
            raise Refused(f"safetensors: {error}") from error
        for name, array in arrays.items():
            if array is not None and not numpy.array_equal(loaded[name], array, equal_nan=True):
                raise AssertionError(f"the two readers differ in {name}")
    return metadata, arrays


def _read_parts(index):
    """Each part has to hold the arrays that the index looks for in it, and parts have to agree on metadata."""
    parsed = parse(index.read_bytes())
    places = parsed.get("weight_map") if isinstance(parsed, dict) else None
    if not isinstance(places, dict) or not places or not all(isinstance(part, str) for part in places.values()):
        raise Refused("its weight_map does not map arrays to files")
    metadata, arrays = {}, {}
    for part in sorted(set(places.values())):
        if part in ("", ".", "..") or "/" in part or "\0" in part:
            raise Refused(f"{part!r} is no name of a file beside it")
        said, found = _read_file(index.parent / part)
        if found.keys() != {name for name, of_name in places.items() if of_name == part}:
            raise Refused(f"{part} holds {sorted(found)}")
        if any(metadata.get(key, value) != value for key, value in said.items() if key != OF_ARRAYS):
            raise Refused(f"{part} says {said}, a part before it {metadata}")
        metadata, arrays = metadata | said, arrays | found
    return metadata, arrays


def read_model(path):
    """Returns metadata and arrays of a file, or of all parts of an index. Raises Refused if either reader refuses a
    file."""
    return (_read_parts if path.name.endswith(".index.json") else _read_file)(path)
