"""One training run of a question, and what is looked at of it."""
import array
import json
import math
import os
import pathlib
import resource
import struct
import subprocess
import tempfile

import eave_runs

DIVERGED = 76
FASHION_MNIST = pathlib.Path("/usr/share/datasets/fashion-mnist")


NETWORK = "conv2d 8 5x5; relu; max_pool 2; conv2d 16 5x5; relu; max_pool 2; flatten; dense 64; relu; dense classes"
LITTLE_DATA = ["--data", "synthetic", "--synthetic-samples", "1024", "--synthetic-test-samples", "100"]


def data_words(quick):
    """Fashion-MNIST where it is installed; else digits that eave makes."""
    if quick:
        return LITTLE_DATA
    if FASHION_MNIST.is_dir():
        return ["--data", "fashion-mnist"]
    return ["--data", "synthetic", "--synthetic-samples", "20000", "--synthetic-test-samples", "2000"]


class Trial:
    """Ranks are threads of one process: the arithmetic is that of mpirun, bit by bit, and nothing needs to be launched."""

    def __init__(self, eave, ranks, words):
        transport = ["--transport", "threads", "--ranks", ranks] if ranks > 1 else []
        inherited = {name: value for name, value in os.environ.items() if name not in eave_runs.OURS}
        with tempfile.TemporaryDirectory() as folder:
            command = [eave, "train", *words, *transport, "--progress", "off", "--checkpoint", "off", "--log-every", 1000,
                       "--run-dir", f"{folder}/run"]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            ended = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=inherited)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if ended.returncode not in (0, DIVERGED):
                raise SystemExit(f"{' '.join(map(str, command))} ended with {ended.returncode}:\n{ended.stderr}")
            self.diverged = ended.returncode == DIVERGED
            self.cpu_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            if self.diverged:
                return
            summary = json.loads((pathlib.Path(folder) / "run" / "summary.json").read_text())
            self.accuracy, self.bytes_per_rank = summary["test_accuracy"], summary["bytes_per_rank"]
            self.samples_per_second = summary["samples_per_second"]
            self.evaluations = read_records(pathlib.Path(folder) / "run" / "metrics.jsonl", "evaluation")
            self.seconds = summary["seconds"]
            self.parameters = read_parameters(pathlib.Path(folder) / "run" / "model.safetensors")


def read_records(path, kind):
    """Of metrics.jsonl, as FORMATS.md of src/report describes them."""
    return [record for record in map(json.loads, path.read_text().splitlines()) if record["type"] == kind]


def read_parameters(path):
    """All float32 of a safetensors file, in its order: a length of 8 bytes, so much JSON, then the numbers."""
    whole = path.read_bytes()
    values = array.array("f")
    values.frombytes(whole[8 + struct.unpack_from("<Q", whole)[0]:])
    return values


def distance(a, b):
    """Of parameters, relative to b: |a - b| / |b|. 0: the same bits."""
    if a.tobytes() == b.tobytes():
        return 0.0
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b)) / sum(y * y for y in b))
