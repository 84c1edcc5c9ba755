"""One training run of a question, and the results that the questions read from it."""
import array
import contextlib
import hashlib
import json
import math
import os
import pathlib
import resource
import statistics
import struct
import subprocess
import tempfile

import eave_runs

DIVERGED = 76
FASHION_MNIST = pathlib.Path("/usr/share/datasets/fashion-mnist")


NETWORK = "conv2d 8 5x5; relu; max_pool 2; conv2d 16 5x5; relu; max_pool 2; flatten; dense 64; relu; dense classes"
LITTLE_DATA = ["--data", "synthetic", "--synthetic-samples", "1024", "--synthetic-test-samples", "100"]


def is_of_machine(warning):
    """Whether the warning is about the machine (ranks that share cores, files of killed jobs) and not about the
    training."""
    return "times are not those of separate cores" in warning or "MPI jobs of yours that were killed" in warning


def data_words(quick):
    """The options for Fashion-MNIST if it is installed, otherwise for digits that eave draws."""
    if quick:
        return LITTLE_DATA
    if FASHION_MNIST.is_dir():
        return ["--data", "fashion-mnist"]
    return ["--data", "synthetic", "--synthetic-samples", "20000", "--synthetic-test-samples", "2000"]


class Trial:
    """Runs eave once with ranks as threads of one process: same bits as under mpirun, and no launcher is needed."""

    # A folder in which trials are kept. A trial whose results lie there is read, not run. None: trials are not kept.
    kept: pathlib.Path | None = None

    def __init__(self, eave, ranks, words, log_every=1000):
        transport = ["--transport", "threads", "--ranks", ranks] if ranks > 1 else []
        words = [*words, *transport, "--progress", "off", "--checkpoint", "off", "--log-every", log_every]
        with self.folder_of(" ".join(map(str, words))) as folder:
            if not (folder / "ended.json").exists():
                run(eave, words, folder)
            self.read(folder)

    def folder_of(self, words):
        if self.kept is None:
            return temporary_folder()
        folder = self.kept / hashlib.sha256(words.encode()).hexdigest()[:16]
        folder.mkdir(parents=True, exist_ok=True)
        return contextlib.nullcontext(folder)

    def read(self, folder):
        ended = json.loads((folder / "ended.json").read_text())
        self.diverged, self.accuracy, self.score = ended["code"] == DIVERGED, None, None
        self.cpu_seconds = ended["cpu_seconds"]
        self.warnings = [line for line in ended["errors"].splitlines() if "warning: " in line and not is_of_machine(line)]
        lines = [json.loads(line) for line in (folder / "run" / "metrics.jsonl").read_text().splitlines()]
        self.header, self.steps = lines[0], eave_runs.step_lines(lines)
        self.evaluations = [line for line in lines if line["type"] == "evaluation"]
        if self.diverged:
            return
        self.summary = json.loads((folder / "run" / "summary.json").read_text())
        self.accuracy, self.score = self.summary.get("test_accuracy"), self.summary.get("test_score")
        self.parameters = read_parameters(folder / "run" / "model.safetensors")


class Timing(Trial):
    """A trial that is never kept: speeds that are compared must be measured one after the other, and each time anew."""
    kept = None


@contextlib.contextmanager
def temporary_folder():
    with tempfile.TemporaryDirectory() as folder:
        yield pathlib.Path(folder)


def run(eave, words, folder):
    """Trains in `folder`. Its ended.json, written last, says how the run ended."""
    inherited = {name: value for name, value in os.environ.items() if name not in eave_runs.OURS}
    command = list(map(str, [eave, "train", *words, "--run-dir", folder / "run", "--overwrite"]))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(command, capture_output=True, text=True, env=inherited)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode not in (0, DIVERGED):
        raise SystemExit(f"{' '.join(command)} ended with {ended.returncode}:\n{ended.stderr}")
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    (folder / "ended.json").write_text(json.dumps({"words": " ".join(command), "code": ended.returncode, "cpu_seconds": seconds,
                                                   "errors": ended.stderr}) + "\n")


def training_losses(trials):
    """For each record line: the steps and samples so far, and the loss since the line before. The loss is the mean over
    ranks and runs."""
    found = {}
    for line in (line for trial in trials for line in trial.steps if line["loss"] is not None):
        found.setdefault((line["step"], line["samples"]), []).append(line["loss"])
    return [{"step": step, "samples": samples, "loss": statistics.mean(found[step, samples])} for step, samples in sorted(found)]


def read_parameters(path):
    """All float32 values of a safetensors file, in file order: 8 bytes of length, that much JSON, then the values."""
    whole = path.read_bytes()
    values = array.array("f")
    values.frombytes(whole[8 + struct.unpack_from("<Q", whole)[0]:])
    return values


def distance(a, b):
    """|a - b| / |b| of two parameter vectors; 0 only if all bits are equal."""
    if a.tobytes() == b.tobytes():
        return 0.0
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b)) / sum(y * y for y in b))
