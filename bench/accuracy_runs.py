"""Runs for time_to_accuracy: each trains eave or PyTorch once, to an accuracy or for a number of steps."""
import json
import lzma
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import eave_runs
import netlab_hosts

MOMENTUM = 0.9
PYTORCH = ("ddp", "post-local-sgd")
AVERAGES_GRADIENTS = ("allreduce", "ddp")
PORT = 29700


class Task:
    """A data set, its model, and the settings that all methods share."""

    def __init__(self, dataset, model, parameters, step_seconds, rate, target, most_steps, quick_target):
        self.dataset, self.model, self.parameters, self.step_seconds = dataset, model, parameters, step_seconds
        self.rate, self.target, self.most_steps, self.quick_target = rate, target, most_steps, quick_target
        self.batch, self.evaluate_every, self.directory = 32, 128, None
        self.train_samples = 60000 if dataset == "fashion-mnist" else 50000

    def learning_rate(self, method, ranks):
        """If the method averages gradients, the total batch grows with the ranks, so the rate does too (Goyal et al.,
        2017)."""
        return self.rate * (ranks if method in AVERAGES_GRADIENTS else 1)

    def epochs(self, steps, ranks):
        return steps * self.batch * ranks / self.train_samples


TASKS = {
    "fashion-mnist": Task("fashion-mnist", "lenet", 3274634, 0.015, 0.02, 0.87, 3000, 0.80),
    "cifar10": Task("cifar10", "cifar7", 351946, 0.02, 0.005, 0.50, 8000, 0.35),
}


def find_fashion_mnist():
    place = pathlib.Path("/usr/share/datasets/fashion-mnist")
    return (place, None) if place.is_dir() else (None, f"no {place}: apt install dataset-fashion-mnist")


def find_cifar10(directory):
    """Returns (directory, None), or (None, why there is no CIFAR-10). Unpacks packed files into build/, for eave and
    PyTorch."""
    if sorted(directory.glob("data_batch_*.bin")):
        return directory, None
    packed = sorted(directory.glob("*.bin.xz"))
    if len(packed) != 6:
        return None, f"no CIFAR-10 in {directory}: give --cifar10 DIR"
    place = eave_runs.ROOT / "build" / "data" / "cifar10"
    place.mkdir(parents=True, exist_ok=True)
    for path in packed:
        target = place / path.stem
        if not target.exists():
            with lzma.open(path) as source, open(target.with_suffix(".part"), "wb") as copy:
                shutil.copyfileobj(source, copy)
            target.with_suffix(".part").rename(target)
    return place, None


def eave_words(program, task, ranks, method, tau, seed):
    words = [program, "train", "--data", task.dataset, "--data-dir", task.directory, "--model", task.model, "--batch", task.batch,
             "--communicator", method, "--lr", task.learning_rate(method, ranks), "--momentum", MOMENTUM, "--seed", seed,
             "--device", "cpu", "--progress", "off"]
    return words if method in AVERAGES_GRADIENTS else [*words, "--tau", tau]


def train_eave(program, task, ranks, method, tau, seed, target, launcher=None):
    """Trains to the target accuracy. Without a launcher ranks are threads; except for asynchronous methods they compute
    the same bits as under mpirun."""
    place = [] if launcher else ["--transport", "threads", "--ranks", ranks]
    every = task.epochs(task.evaluate_every, ranks)
    with tempfile.TemporaryDirectory() as folder:
        eave_runs.run_command([*(launcher or []), *eave_words(program, task, ranks, method, tau, seed), *place,
                               "--epochs", task.epochs(task.most_steps, ranks), "--evaluate-every", every,
                               "--evaluate-workers", "off", "--stop-at-accuracy", target, "--log-every", task.evaluate_every, "--run-dir", folder, "--overwrite"])
        summary = json.loads((pathlib.Path(folder) / "summary.json").read_text())
    return {"steps": summary["steps"], "seconds": summary["seconds"], "accuracy": summary["test_accuracy"]}


def time_eave(program, task, ranks, method, tau, warm_up, steps, launcher):
    """Mean seconds of a step after the warm-up. If the method has a tau, `warm_up` and `steps` are multiples of it. The
    end of the run is not timed."""
    every = 1 if method in AVERAGES_GRADIENTS else tau
    with tempfile.TemporaryDirectory() as folder:
        eave_runs.run_command([*launcher, *eave_words(program, task, ranks, method, tau, 1), "--epochs", 1000,
                               "--max-steps", warm_up + steps + every, "--evaluate-every", 0, "--evaluation-batch", 1000,
                               "--log-every", every, "--run-dir", folder, "--overwrite"])
        lines = [json.loads(line) for line in (pathlib.Path(folder) / "metrics.jsonl").read_text().splitlines()]
    at = {line["step"]: line["seconds"] for line in eave_runs.step_lines(lines, 0)}
    return (at[warm_up + steps] - at[warm_up]) / steps


class Ranks:
    """The ranks of one PyTorch run: one on each host of a lab, or all on this machine."""

    def __init__(self, python, lab):
        self.python, self.lab = python, lab

    def start(self, rank, ranks, case):
        script = eave_runs.ROOT / "bench" / "pytorch_training.py"
        address = netlab_hosts.address(0) if self.lab else "127.0.0.1"
        command = list(map(str, [self.python, "-W", "ignore", script, rank, ranks, address, PORT, json.dumps(case)]))
        if self.lab:
            return self.lab.start(rank, ["GLOO_SOCKET_IFNAME=eth0", *command])
        settings = [f"{name}={value}" for name, value in netlab_hosts.SETTINGS.items()]
        return subprocess.Popen(["env", *settings, *command], text=True, stdout=subprocess.PIPE)

    def run(self, ranks, case):
        processes = [self.start(rank, ranks, case) for rank in range(ranks)]
        try:
            while any(process.poll() is None for process in processes):
                if any(process.returncode for process in processes):
                    sys.exit(f"time_to_accuracy: a rank of PyTorch failed at {json.dumps(case)}")
                time.sleep(0.05)
        finally:  # the other ranks would wait for a rank that has ended
            for process in processes:
                process.kill()
        if any(process.returncode for process in processes):
            sys.exit(f"time_to_accuracy: a rank of PyTorch failed at {json.dumps(case)}")
        return json.loads(processes[0].stdout.read())


def pytorch_case(task, ranks, method, tau, seed):
    return {"model": task.model, "dataset": task.dataset, "data": str(task.directory), "batch": task.batch,
            "lr": task.learning_rate(method, ranks), "momentum": MOMENTUM, "seed": seed, "method": method, "tau": tau, "warm_up": 0}


def train_pytorch(python, task, ranks, method, tau, seed, target, lab=None):
    case = pytorch_case(task, ranks, method, tau, seed)
    case |= {"evaluate_every": task.evaluate_every, "target": target, "steps": task.most_steps}
    return Ranks(python, lab).run(ranks, case)


def time_pytorch(python, task, ranks, method, tau, warm_up, steps, lab):
    case = pytorch_case(task, ranks, method, tau, 1)
    case |= {"evaluate_every": 10**9, "target": None, "steps": warm_up + steps, "warm_up": warm_up}
    return Ranks(python, lab).run(ranks, case)["seconds"] / steps
