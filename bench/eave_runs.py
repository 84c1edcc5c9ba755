"""Functions shared by the benchmarks that start whole runs of eave."""
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

import limited

NEVER = 10**9  # a step that no run reaches
OURS = ("EAVE_LAB", "EAVE_COMMIT")  # the benchmarks' own variables; eave would take them for its options
ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = {
    "mlp": ["--data", "synthetic"],
    "lenet": ["--data", "synthetic"],
    "cifar7": ["--data", "synthetic", "--synthetic-size", "32", "--synthetic-channels", "3", "--crop", "28"],
    "tf-cifar10": ["--data", "synthetic", "--synthetic-size", "32", "--synthetic-channels", "3", "--crop", "24"],
    "cnn7": ["--data", "synthetic", "--synthetic-size", "32", "--synthetic-channels", "3"],
    "resnet18": ["--data", "synthetic", "--synthetic-size", "224", "--synthetic-channels", "3"],
    "resnet20": ["--data", "synthetic", "--synthetic-size", "32", "--synthetic-channels", "3"],
    "resnet50": ["--data", "synthetic", "--synthetic-size", "224", "--synthetic-channels", "3"],
}


def add_eave_argument(parser):
    parser.add_argument("--eave", default=ROOT / "build" / "eave", type=pathlib.Path)


def require(eave):
    if not eave.exists():
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: no program {eave}; build it with mpi_launch/quickstart")


def environment():
    """The variables that programs get: those of this process but OURS, one thread, and mpirun allowed as root."""
    inherited = {name: value for name, value in os.environ.items() if name not in OURS}
    return {**inherited, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}


def run_command(command, limit_s=None):
    """Runs `command` and returns its output. If it fails, this program exits. After `limit_s` seconds the command and
    all processes that it started are killed, which counts as a failure."""
    command = list(map(str, command))
    if limit_s is not None:
        ended = limited.execute(command, limit_s, environment() | dict.fromkeys(OURS))
        if ended.code != 0:
            what = f"was not done after {limit_s:.0f} s" if ended.code == limited.AT_LIMIT else f"ended with {ended.code}"
            sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {' '.join(command)} {what}:\n{ended.text}")
        return ended.text
    ended = subprocess.run(command, capture_output=True, text=True, env=environment())
    if ended.returncode != 0:
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {' '.join(command)} ended with {ended.returncode}:\n{ended.stderr}")
    return ended.stdout


def run(eave, ranks, model, batch, steps, words, log_every=1, launcher=None, limit_s=None):
    """Trains and returns the parsed lines of metrics.jsonl. Each rank has one thread, on the CPU unless `words` say
    otherwise. `launcher` holds the words before the program that start the ranks; the default is mpirun on this
    machine. The run evaluates only at its end. It writes no timed checkpoints: for these the ranks meet and wait for an
    exchange in flight, and that time would belong to no step."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*(launcher or ["mpirun", "--oversubscribe", "-np", ranks]), eave, "train", *DATA[model],
                   "--synthetic-samples", "4096", "--synthetic-test-samples", "64", "--model", model, "--batch", batch,
                   "--lr", "0.001", "--epochs", "1000000", "--max-steps", steps, "--log-every", log_every,
                   "--evaluate-every", "0", "--checkpoint-every", NEVER, "--progress", "off", "--run-dir", folder, "--overwrite", *words]
        if "--device" not in words:
            command += ["--device", "cpu"]
        run_command(command, limit_s)
        return [json.loads(line) for line in (pathlib.Path(folder) / "metrics.jsonl").read_text().splitlines()]


def step_lines(lines, rank=None):
    return [line for line in lines if line["type"] == "step" and rank in (None, line["rank"])]


def commit():
    described = ""
    if shutil.which("git"):
        described = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], text=True, capture_output=True).stdout
    return described.strip() or os.environ.get("EAVE_COMMIT", "unknown")  # for a copy of the tree without its history


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()
