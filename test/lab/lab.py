"""What the faults and the cluster tests share: places to run in, jobs of several ranks, and what a run left."""
import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import tempfile
import time
from typing import Callable

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Times, and what comes of them: all else in metrics.jsonl is the same in two runs that compute the same. Bytes too: the
# watch for slow ranks sends some when a run begins, also again, and services answer whenever somebody asks.
# Exchanges and checkpoints are counted from where a run was resumed.
TIMES = {"bytes", "bytes_per_rank", "seconds", "computing", "exchanging", "waiting", "loading", "evaluation_seconds",
         "samples_per_second", "tokens_per_second", "flops_per_core", "share_of_peak", "waiting_share", "times_of_ranks",
         "exchanges", "staleness", "peak_memory_bytes", "ranks", "config", "overlap", "checkpoints", "checkpoint_seconds"}


class Skip(Exception):
    """The fault cannot be tried here; the text says why."""


class Failed(Exception):
    """A promise was not kept; the text says which, and how."""


class Late(Failed):
    """A promise of time was not kept: of the program, or of a machine that stood still for a while."""


@dataclasses.dataclass
class Fault:
    name: str                                # "F1"
    title: str                               # what is done, and what is promised
    trial: Callable[["Place"], None]         # raises Failed or Skip; may return figures: {"exit_s": 1.2}
    quick: int                               # trials
    full: int
    lane: str = "rest"                       # with --quick: tried beside other lanes; "alone": after them, beside nothing


class Place:
    """A directory for one trial, and what is drawn at random for it."""

    def __init__(self, directory, eave, index, seed, is_full):
        self.directory, self.eave, self.index, self.is_full = pathlib.Path(directory), eave, index, is_full
        self.random = random.Random(f"{seed} {index}")

    def run_dir(self, name="run"):
        return self.directory / name

    def eave_words(self, *words):
        return [str(self.eave), *map(str, words)]

    def start(self, ranks, words, launcher=None, environment=None):
        """eave with these words: under mpirun with `ranks` ranks, by `launcher` (a list of words), or alone with 0."""
        before = launcher if launcher is not None else ["mpirun", "-np", str(ranks)] if ranks else []
        return Job([*before, *self.eave_words(*words)], self.directory, environment)

    def run(self, ranks, words, limit=150, **others):
        job = self.start(ranks, words, **others)
        job.wait(limit)
        return job


class Job:
    """A started command. What it prints is kept in files; .code and .seconds are there once it has ended."""

    def __init__(self, command, directory, environment=None):
        self.command = command
        number = len(list(pathlib.Path(directory).glob("output-*")))
        self.output, self.errors = (pathlib.Path(directory) / f"{name}-{number}" for name in ("output", "errors"))
        settings = {name: value for name, value in os.environ.items() if not name.startswith("EAVE_")}
        settings |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                     "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
                     "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
        self.started, self.code = time.monotonic(), None
        with open(self.output, "wb") as output, open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(command, stdout=output, stderr=errors, stdin=subprocess.DEVNULL,
                                            cwd=directory, env=settings | (environment or {}), start_new_session=True)

    @property
    def pid(self):
        return self.process.pid

    def ranks(self):
        """Process ids by rank: those of the processes below this one that MPI has given a rank."""
        found = {}
        for pid in [self.pid, *descendants(self.pid)]:
            rank = environment_of(pid).get("OMPI_COMM_WORLD_RANK")
            if rank is not None and pathlib.Path(executable_of(pid)).name == pathlib.Path(self.program()).name:
                found[int(rank)] = pid
        return found

    def program(self):
        return next(word for word in self.command if word.endswith("eave"))

    def is_running(self):
        if self.code is None and self.process.poll() is not None:
            self.code, self.seconds = self.process.returncode, time.monotonic() - self.started
        return self.code is None

    def wait(self, limit=150):
        """Its exit code. A job that is still running after `limit` seconds has left somebody waiting: Failed."""
        try:
            self.process.wait(limit)
        except subprocess.TimeoutExpired:
            self.keep_stacks()
            self.end()
            raise Failed(f"still running after {limit} s: {self.tail()}") from None
        self.is_running()
        return self.code

    def wait_until(self, holds, limit=30):
        """Polls; False where the job ended first. Failed after `limit` seconds."""
        end = time.monotonic() + limit
        while not holds():
            if not self.is_running():
                return False
            if time.monotonic() > end:
                self.end()
                raise Failed(f"waited {limit} s in vain: {self.tail()}")
            time.sleep(0.01)
        return True

    def signal(self, pid, number):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    def end(self):
        """Ends all that it started; for cleaning up."""
        for pid in [*descendants(self.pid), self.pid]:
            self.signal(pid, signal.SIGCONT)
            self.signal(pid, signal.SIGKILL)
        self.process.wait()
        self.is_running()

    def keep_stacks(self):
        """Where each of its processes stands, in the file `stacks` beside its output; where there is a gdb."""
        if not shutil.which("gdb"):
            return
        with self.errors.with_name("stacks").open("w") as file:
            for pid in [self.pid, *descendants(self.pid)]:
                command = ["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt 20"]
                subprocess.run(command, stdout=file, stderr=subprocess.DEVNULL, timeout=60, check=False)

    def says(self):
        return self.output.read_text(errors="replace")

    def complains(self):
        return self.errors.read_text(errors="replace")

    def messages(self):
        """Its lines of failure, one for each thing that went wrong; warnings are others."""
        return [line for line in self.complains().splitlines()
                if line.startswith("eave: ") and not line.startswith("eave: warning: ")]

    def tail(self):
        return f"{' '.join(self.command)[-300:]}\nends with {self.code}\n{self.complains()[-1500:]}"


def descendants(pid):
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                after_name = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                children.setdefault(int(after_name[1]), []).append(int(entry.name))
            except (OSError, IndexError):
                continue
    found, open_ends = [], [pid]
    while open_ends:
        below = children.get(open_ends.pop(), [])
        found += below
        open_ends += below
    return found


def environment_of(pid):
    try:
        pairs = pathlib.Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return {}
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def executable_of(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""


def command_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def is_alive(pid):
    """Zombies are not."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (OSError, IndexError):
        return False


def without(value, names):
    if isinstance(value, dict):
        return {name: without(each, names) for name, each in value.items() if name not in names}
    return [without(each, names) for each in value] if isinstance(value, list) else value


def metrics_of(run_dir):
    """Its whole lines, as objects."""
    text = (pathlib.Path(run_dir) / "metrics.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def digest(run_dir):
    """Of all that two runs have in common that compute the same: the model, and the lines of metrics.jsonl without times,
    however ranks took turns. A run that was resumed has a header for each time, all alike."""
    run_dir = pathlib.Path(run_dir)
    whole = hashlib.sha256((run_dir / "model.safetensors").read_bytes())
    lines = [json.dumps(without(line, TIMES), sort_keys=True) for line in metrics_of(run_dir)]
    headers = {line for line in lines if '"type": "header"' in line}
    for line in sorted(headers) + sorted(line for line in lines if line not in headers):
        whole.update(line.encode())
    return whole.hexdigest()


def checkpoints(run_dir):
    """Those that are committed, the newest last."""
    places = (pathlib.Path(run_dir) / "checkpoint").glob("step-*")
    return sorted(place for place in places if place.suffix != ".partial")


@functools.lru_cache(maxsize=None)
def undisturbed(eave, ranks, *words):
    """Returns digest and duration of a run of eave with these words and no fault."""
    with tempfile.TemporaryDirectory() as directory:
        place = Place(directory, eave, 0, 0, False)
        job = place.run(ranks, [*words, "--run-dir", place.run_dir()])
        require_code(job, 0)
        return digest(place.run_dir()), job.seconds


def last_step(run_dir):
    """Returns the step of rank 0's last line. Those who wait for it ask often, so it looks at the file's end first."""
    with open(pathlib.Path(run_dir) / "metrics.jsonl", "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - 16384))
        end = file.read()
    for line in reversed(end.split(b"\n")[1:-1]):
        if b'"step"' in line and (each := json.loads(line))["type"] == "step" and each["rank"] == 0:
            return each["step"]
    steps = [line["step"] for line in metrics_of(run_dir) if line["type"] == "step" and line["rank"] == 0]
    return max(steps, default=0)


def require(holds, text):
    if not holds:
        raise Failed(text)


def require_in_time(holds, text):
    if not holds:
        raise Late(text)


def require_code(job, *codes):
    require(job.code in codes, f"exit code {job.code}, expected {' or '.join(map(str, codes))}: {job.tail()}")


# A model so small that a run takes a second; several evaluations, momentum, a batch that does not divide the data.
SMALL = ["--data", "synthetic", "--synthetic-size", "8", "--synthetic-samples", "3000", "--synthetic-test-samples", "100",
         "--model", "dense 16; relu; dropout 0.2; dense classes", "--batch", "7", "--momentum", "0.9", "--progress", "off"]
TEXT = ["--data", "text", "--data-dir", ROOT / "src" / "app" / "OPTIONS.md", "--context", "16", "--model",
        "embedding 16 positions 16; residual(layer_norm; linear 48; attention 2; linear 16; dropout 0.2); layer_norm; tied_output",
        "--batch", "7", "--progress", "off"]
# Deterministic methods, and the asynchronous ones in turns.
METHODS = {
    "allreduce": ["--communicator", "allreduce"],
    "local-sgd": ["--communicator", "local-sgd", "--tau", "5"],
    "easgd": ["--communicator", "easgd", "--tau", "4"],
    "easgd-async": ["--communicator", "easgd-async", "--tau", "3", "--async-order", "round-robin"],
}


def lab_program(name):
    """netlab or slurmlab: hosts, and a batch system on them, on this machine."""
    place = pathlib.Path(os.environ.get("EAVE_LAB") or ROOT.parent / "shared" / "lab") / name
    if not place.exists():
        raise Skip(f"no program {place}: set EAVE_LAB")
    if os.geteuid() != 0:
        raise Skip("network namespaces need root")
    return place
