"""Reads a run directory with Python's json, strictly, and checks the ranges that FORMATS.md states."""
import json
import math
import pathlib

OF_ROUNDING = 1e-6  # FORMATS.md allows rounding errors of a millionth
SHARES = {"accuracy", "test_accuracy", "waiting_share", "overlap"}
NOT_NEGATIVE = {"seconds", "samples_per_second", "bytes_per_rank", "ranks", "workers", "steps", "step", "epochs", "epoch", "samples",
                "peak_memory_bytes", "exchanges", "checkpoints", "checkpoint_seconds", "computing", "loading", "exchanging",
                "waiting", "bytes", "nonfinite", "evaluation_seconds", "rank", "parameters", "train_samples", "test_samples",
                "classes", "rollbacks", "repaired", "lines", "min", "mean", "max", "seconds_waited_for",
                "times_waited_for", "waiting_for_ranks"}
WHOLE = {"bytes_per_rank", "ranks", "workers", "steps", "step", "samples", "bytes", "rank", "checkpoints", "exchanges",
         "parameters", "train_samples", "test_samples", "classes", "lines", "nonfinite", "rollbacks", "repaired", "peak_memory_bytes"}
SAFETENSORS_FIELDS = {"__metadata__", "dtype", "shape", "data_offsets"}


class Refused(Exception):
    """A file or a value is not as the documents say."""


def _pairs(pairs):
    keys = [key for key, _ in pairs]
    if len(keys) != len(set(keys)):
        raise Refused(f"a key twice: {max(set(keys), key=keys.count)}")
    return dict(pairs)


def same_pairs(pairs):
    """A name may stand twice if both values are equal, unless it has a meaning in safetensors. In metadata the last
    value holds."""
    if all(isinstance(value, str) for _, value in pairs):
        return dict(pairs)
    for key, value in pairs:
        of_key = [other for name, other in pairs if name == key]
        if len(of_key) > 1 and (key in SAFETENSORS_FIELDS or any(other != value for other in of_key)):
            raise Refused(f"a key twice: {key}")
    return dict(pairs)


def _constant(text):
    raise Refused(f"{text} is no JSON")


def parse(data, pairs=_pairs):
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=pairs, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        raise Refused(str(error)[:200]) from error


def check_ranges(value, name=""):
    """Checks every number for which FORMATS.md states a range. Raises Refused if one is outside."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in ("config", "class_names"):
                check_ranges(inner, key)
    elif isinstance(value, list):
        for inner in value:
            check_ranges(inner, name)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        _check_number(value, name)


def _check_number(value, name):
    if not math.isfinite(value):
        raise Refused(f"{name} is {value}")
    if name in SHARES and not -OF_ROUNDING <= value <= 1 + OF_ROUNDING:
        raise Refused(f"{name} is {value}, no share")
    if name in NOT_NEGATIVE and value < (0 if name in WHOLE else -OF_ROUNDING):
        raise Refused(f"{name} is {value}")
    if name in WHOLE and value != int(value):
        raise Refused(f"{name} is {value}, not whole")


def read_json(path):
    value = parse(pathlib.Path(path).read_bytes())
    check_ranges(value)
    return value


def read_metrics(path):
    """Reads all complete lines. The last line may be incomplete (FORMATS.md), and is then left out."""
    data = pathlib.Path(path).read_bytes()
    lines = data.split(b"\n")
    values = []
    for line in lines[:-1]:
        value = parse(line)
        if not isinstance(value, dict):
            raise Refused("a line that is no object")
        check_ranges(value)
        values.append(value)
    if not values or values[0].get("type") != "header":
        raise Refused("no header")
    return values
