"""Compares runs of `eave train` on GPUs with the same runs on the CPU."""
import json
import math
import pathlib
import re
import shutil
import tempfile

from record import ROOT, Wrong, execute, expect_0, last_words

STEPS = 20
COMMON = ["--batch", "32", "--lr", "0.003", "--epochs", "1000", "--max-steps", str(STEPS), "--log-every", "1",
          "--evaluate-every", "0", "--progress", "off"]
IMAGES = ["--data", "synthetic", "--synthetic-samples", "2048", "--synthetic-test-samples", "512"]
MODELS = {"lenet": ["--model", "lenet", *IMAGES],
          "resnet20": ["--model", "resnet20", *IMAGES, "--synthetic-size", "32", "--synthetic-channels", "3"],
          "nanogpt-cpu": ["--model", "nanogpt-cpu", "--optimizer", "adamw", "--data", "text", "--data-dir",
                          str(ROOT / "src" / "app" / "OPTIONS.md")]}
ON_GPU = ["--device", "cuda", "--precision", "fp32"]
ON_CPU = ["--device", "cpu"]
RUN_S = 60
NCCL_S = 90  # NCCL's start takes seconds, and two ranks that spin on one GPU take turns

# The largest relative difference between the losses of two correct runs. In the first steps a wrong gradient or average
# shows. Later, rounding differences grow from step to step. The measurement compared two instruction sets of one CPU
# (oneDNN's SSE 4.1 and AVX-512). resnet20, whose batch norm enlarges differences, was 3e-5 apart at step 5, 2e-4 at
# step 10, and at most 7e-4 in 20 steps. lenet was 6e-8 apart.
FIRST_STEPS = {"lenet": 10, "resnet20": 5, "nanogpt-cpu": 10}
OF_FIRST_LOSSES, OF_EACH_LOSS, OF_ACCURACY = 1e-3, 0.05, 0.03
OF_PERPLEXITY = 0.05  # relative, as of a loss

# The words of each method. With them, its numbers do not depend on the order in which ranks arrive.
METHODS = {
    "allreduce": ["--communicator", "allreduce"],
    "easgd": ["--communicator", "easgd", "--tau", "4"],
    "local-sgd": ["--communicator", "local-sgd", "--tau", "4"],
    "easgd-async": ["--communicator", "easgd-async", "--tau", "4", "--async-order", "round-robin"],
    "easgd-tree": ["--communicator", "easgd-tree", "--tau", "4", "--global-tau", "8", "--groups", "2"],
    "bmuf": ["--communicator", "bmuf", "--tau", "4"],
    "slowmo": ["--communicator", "slowmo", "--tau", "4"],
    "diloco": ["--communicator", "diloco", "--tau", "10"],
    "gossip": ["--communicator", "gossip", "--tau", "4"],
    "downpour": ["--communicator", "downpour", "--tau", "4", "--async-order", "round-robin"],
    "mdownpour": ["--communicator", "mdownpour", "--async-order", "round-robin"],
}
MAIN_OVER_MPI = ("allreduce", "easgd", "easgd-async")
MAIN_OVER_NCCL = ("allreduce", "easgd")
OVER_NCCL = ("allreduce", "easgd", "local-sgd", "bmuf", "slowmo", "diloco", "easgd-tree", "gossip")
# NCCL refuses two ranks on one GPU. With these variables it takes them for ranks of two hosts that are connected by the
# loopback network.
AS_ON_TWO_HOSTS = [(["-x", f"NCCL_HOSTID=host{rank}", "-x", "NCCL_SOCKET_IFNAME=lo", "-x", "NCCL_IB_DISABLE=1"], [])
                   for rank in range(2)]


def mpirun(eave, ranks, words, each=()):
    """Returns the command line. `each` has, for every rank, the words of mpirun and of eave that only this rank
    gets."""
    if not each:
        return ["mpirun", "-np", ranks, eave, "train", *words]
    command = ["mpirun"]
    for number, (own, more) in enumerate(each):
        command += ([":"] if number else []) + ["-np", 1, *own, eave, "train", *words, *more]
    return command


def lacks_mpi(record):
    """Returns why mpirun cannot be used, or "" if it can."""
    return "" if record.planning or shutil.which("mpirun") else "there is no mpirun: see test/gpu/pack"


class Outcome:
    """The results of a run: losses of rank 0, devices, and test accuracy, or perplexity of text."""

    def __init__(self, folder):
        lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        self.losses = [line["loss"] for line in lines if line["type"] == "step" and line["rank"] == 0]
        self.devices = [rank["device"] for rank in lines[0]["ranks"]]
        summary = json.loads((folder / "summary.json").read_text())
        self.accuracy, self.perplexity = summary.get("test_accuracy"), summary.get("test_score")


def compare(model, mine, other, gpus=1, of_first_losses=OF_FIRST_LOSSES):
    """Compares a run on `gpus` GPUs with the same run on the CPU. Returns in words how near they are, or raises Wrong."""
    if not all(name.startswith("cuda") for name in mine.devices) or len(set(mine.devices)) != gpus:
        raise Wrong(f"it ran on {', '.join(mine.devices)}, not on {gpus} GPU{'s' * (gpus > 1)}")
    if len(mine.losses) != STEPS or len(other.losses) != STEPS:
        raise Wrong(f"{len(mine.losses)} steps on the GPU, {len(other.losses)} on the CPU, not {STEPS}")
    apart = [abs(a - b) / abs(b) if math.isfinite(a) else math.inf for a, b in zip(mine.losses, other.losses)]
    strict = FIRST_STEPS[model]
    for step, share in enumerate(apart):
        allowed = of_first_losses if step < strict else OF_EACH_LOSS
        if not share <= allowed:
            raise Wrong(f"the loss of step {step + 1} is {mine.losses[step]:.6g}, on the CPU {other.losses[step]:.6g}: "
                        f"{share:.1e} apart, allowed {allowed:g}")
    if other.accuracy is None:
        if not abs(mine.perplexity / other.perplexity - 1) <= OF_PERPLEXITY:
            raise Wrong(f"the test perplexity is {mine.perplexity:.3f}, on the CPU {other.perplexity:.3f}")
    elif not abs(mine.accuracy - other.accuracy) <= OF_ACCURACY:
        raise Wrong(f"the test accuracy is {mine.accuracy:.3f}, on the CPU {other.accuracy:.3f}")
    return (f"{STEPS} steps, loss {mine.losses[0]:.4f} to {mine.losses[-1]:.4f}; from the CPU's {max(apart[:strict]):.1e} at "
            f"most in the first {strict} (allowed {of_first_losses:g}), {max(apart):.1e} in all (allowed {OF_EACH_LOSS:g})")


class References:
    """Runs on the CPU. Each is made once, and serves the checks of several transports."""

    def __init__(self, eave, folder):
        self.eave, self.folder, self.made = eave, pathlib.Path(folder), {}

    def find(self, name, words, ranks):
        key = (name, ranks)
        if key not in self.made:
            folder = self.folder / f"cpu-{name}-{ranks}"
            words = [*words, *ON_CPU, "--run-dir", folder]
            command = mpirun(self.eave, ranks, words) if ranks else [self.eave, "train", *words]
            ended = execute(command, RUN_S, folder=ROOT)
            if ended.code != 0:
                raise Wrong(f"the run on the CPU ended with {ended.code}: {last_words(ended.text)}")
            self.made[key] = Outcome(folder)
        return self.made[key]


def check_first_steps(record, eave):
    """Checks a model of each kind without mpirun. Returns whether all passed."""
    passed = []
    with tempfile.TemporaryDirectory() as folder:
        references = References(eave, folder)
        for model in ("resnet20", "lenet", "nanogpt-cpu"):
            words, run = [*COMMON, *MODELS[model]], pathlib.Path(folder) / f"gpu-{model}"

            def judge(ended):
                expect_0(ended)
                return compare(model, Outcome(run), references.find(model, words, 0))

            command = [eave, "train", *words, *ON_GPU, "--run-dir", run]
            passed.append(record.run(f"{model} trains as on the CPU", command, RUN_S, judge))
    return all(passed)


def expect_transport(ended, transport):
    """Requires this transport in the line `communicator` of the card, which every run prints at its start. The files of a
    run have only the words of --transport, and `auto` may become any."""
    found = re.search(r"^communicator +\S+ over (\S+)", ended.text, re.MULTILINE)
    if found is None or found.group(1) != transport:
        raise Wrong(f"it ran over {found.group(1) if found else 'no transport that it names'}, not over {transport}")


def check_pair(record, references, transport, method, ranks, each=(), limit_s=RUN_S, own=()):
    """Checks one method with `ranks` ranks. They share one GPU, or each has one of `own`, words of CUDA_VISIBLE_DEVICES.
    Nothing else runs there. Returns whether it passed."""
    words = [*COMMON, *MODELS["lenet"], *METHODS[method]]
    name = f"{method} over {transport}, {'1 rank' if ranks == 1 else f'{ranks} ranks'}"
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "gpu"
        shared = ["--share-gpu"] if ranks > 1 and not own else []
        gpu_words = [*words, *ON_GPU, "--transport", transport, *shared, "--run-dir", run]

        def judge(ended):
            expect_0(ended)
            expect_transport(ended, "nccl" if transport == "auto" else transport)
            return compare("lenet", Outcome(run), references.find(method, words, ranks), ranks if own else 1)

        environment = {"CUDA_VISIBLE_DEVICES": ",".join(own)} if own else None
        return record.run(name, mpirun(references.eave, ranks, gpu_words, each), limit_s, judge, environment)


def check_over_mpi(record, references, methods):
    if "allreduce" in methods:
        check_pair(record, references, "mpi", "allreduce", 1)
    for method in methods:
        check_pair(record, references, "mpi", method, 2)


def check_over_nccl(record, references, methods):
    if "allreduce" in methods:
        check_pair(record, references, "nccl", "allreduce", 1)
    for method in methods:
        check_pair(record, references, "nccl", method, 2, AS_ON_TWO_HOSTS, NCCL_S)
        if record.was_late:  # the other methods would block the GPU just as long
            record.leave_out(f"{method} over nccl, 2 ranks, did not end", record.section)
