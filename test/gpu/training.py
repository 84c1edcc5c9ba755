"""Runs of `eave train` on the GPU beside the same on the CPU, and those that must be refused."""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import tempfile

from record import LEFT_OUT, execute, last_words

STEPS = 60
COMMON = ["--data", "synthetic", "--synthetic-samples", "4096", "--synthetic-test-samples", "512", "--model", "lenet",
          "--batch", "32", "--lr", "0.003", "--epochs", "1000", "--max-steps", str(STEPS), "--log-every", "1",
          "--evaluate-every", "0", "--progress", "off"]
ON_GPU = ["--device", "cuda", "--precision", "fp32"]

# How far two correct runs may be apart. Between two instruction sets of one CPU, which add in other orders, losses
# differ by 1e-7 at first, by 3e-5 at most within 10 steps and 0.03 within 60 (relu and max-pool decide otherwise here
# and there), and accuracies by 0.004. A wrong gradient or a wrong average shows in the first ten steps.
FIRST_STEPS, OF_FIRST_LOSSES, OF_LAST_LOSSES, OF_ACCURACY = 10, 1e-3, 0.05, 0.03

# Each method by the words that make its numbers independent of who comes first.
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


def mpirun(eave, ranks, words, each=()):
    """The command line; `each`: for every rank, words of mpirun and of eave that it alone gets."""
    if not each:
        return ["mpirun", "-np", ranks, eave, "train", *words]
    command = ["mpirun"]
    for number, (own, more) in enumerate(each):
        command += ([":"] if number else []) + ["-np", 1, *own, eave, "train", *words, *more]
    return command


def has_mpi(record):
    """Whether there is an mpirun; notes what cannot be run without."""
    if shutil.which("mpirun") is not None:
        return True
    return record.note("runs under mpirun", LEFT_OUT, 0, "there is no mpirun: see test/gpu/pack")


class Outcome:
    """What a run has left behind."""

    def __init__(self, folder):
        lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        self.losses = [line["loss"] for line in lines if line["type"] == "step" and line["rank"] == 0]
        self.devices = [rank["device"] for rank in lines[0]["ranks"]]
        self.accuracy = json.loads((folder / "summary.json").read_text())["test_accuracy"]


def compare(mine, other):
    """What is wrong with a run on the GPU, given the same on the CPU; "" for nothing."""
    if not all(name.startswith("cuda") for name in mine.devices):
        return f"it ran on {', '.join(mine.devices)}"
    if len(mine.losses) != len(other.losses):
        return f"{len(mine.losses)} steps, on the CPU {len(other.losses)}"
    apart = [abs(a - b) / abs(b) for a, b in zip(mine.losses, other.losses)]
    first = max(apart[:FIRST_STEPS])
    if not first <= OF_FIRST_LOSSES:  # also where it is not a number
        step = apart.index(first) + 1
        return f"the loss of step {step} is {mine.losses[step - 1]:.6g}, on the CPU {other.losses[step - 1]:.6g}"
    last = [sum(losses[-20:]) / 20 for losses in (mine.losses, other.losses)]
    if not abs(last[0] - last[1]) <= OF_LAST_LOSSES * last[1]:
        return f"the mean loss of the last 20 steps is {last[0]:.4g}, on the CPU {last[1]:.4g}"
    if not abs(mine.accuracy - other.accuracy) <= OF_ACCURACY:
        return f"the test accuracy is {mine.accuracy:.3f}, on the CPU {other.accuracy:.3f}"
    return ""


def count_ranks(ranks):
    return "1 rank" if ranks == 1 else f"{ranks} ranks"


class Pool(concurrent.futures.ThreadPoolExecutor):
    """Runs what it is given; what one of them raises is raised at its end."""

    def __enter__(self):
        self.futures = []
        return super().__enter__()

    def submit(self, *call):
        self.futures.append(super().submit(*call))

    def __exit__(self, *raised):
        super().__exit__(*raised)
        for future in self.futures:
            future.result()


def at_once(record):
    """As many runs at a time as there are cores for; of four ranks, each with a thread that communicates."""
    return Pool(1 if record.dry else max(1, min(4, len(os.sched_getaffinity(0)) // 4)))


def check_beside_cpu(record, eave, name, ranks, method, on_gpu, each=()):
    """One run on the GPU and the same on the CPU."""
    words = [*COMMON, *METHODS[method]]
    with tempfile.TemporaryDirectory() as folder:
        gpu, cpu = pathlib.Path(folder) / "gpu", pathlib.Path(folder) / "cpu"
        command = mpirun(eave, ranks, [*words, *ON_GPU, *on_gpu, "--run-dir", gpu], each)
        reference = mpirun(eave, ranks, [*words, "--device", "cpu", "--run-dir", cpu])

        def judge(ended):
            if ended.code != 0:
                return f"exit code {ended.code}: {last_words(ended.text)}"
            on_cpu = execute(reference, 60)
            if on_cpu.code != 0:
                return f"on the CPU: exit code {on_cpu.code}: {last_words(on_cpu.text)}"
            return compare(Outcome(gpu), Outcome(cpu))

        record.run(name, command, 60, judge)


def check_ranks(record, eave, quick):
    if not has_mpi(record):
        return
    every = [("allreduce", 1), ("allreduce", 2), ("easgd", 2), ("local-sgd", 2), ("easgd-async", 2), ("allreduce", 4)]
    if not quick:
        every += [("easgd", 4), ("local-sgd", 4), ("easgd-async", 4), ("easgd-tree", 4)]
        every += [(method, 2) for method in ("bmuf", "slowmo", "diloco", "gossip", "downpour", "mdownpour")]
    with at_once(record) as pool:
        for method, ranks in every:
            shared = ["--share-gpu"] if ranks > 1 else []
            name = f"{method}, {count_ranks(ranks)}"
            pool.submit(check_beside_cpu, record, eave, name, ranks, method, ["--transport", "mpi", *shared])


def check_nccl(record, eave, quick):
    if not has_mpi(record):
        return
    # NCCL refuses two ranks on one GPU unless it takes them for ranks of two hosts, which meet over the loopback network.
    each = [(["-x", f"NCCL_HOSTID=host{rank}", "-x", "NCCL_SOCKET_IFNAME=lo", "-x", "NCCL_IB_DISABLE=1"], [])
            for rank in range(2)]
    methods = ["allreduce", "easgd"] + ([] if quick else ["local-sgd", "bmuf", "slowmo", "diloco", "easgd-tree"])
    with at_once(record) as pool:
        pool.submit(check_beside_cpu, record, eave, "allreduce, 1 rank", 1, "allreduce", ["--transport", "nccl"])
        for method in methods:
            name = f"{method}, 2 ranks as on two hosts"
            pool.submit(check_beside_cpu, record, eave, name, 2, method, ["--transport", "nccl", "--share-gpu"], each)


def refused(code, *says):
    """A judge: one message that says all of this, and this exit code."""
    def judge(ended):
        messages = re.findall(r"^eave: (?!warning: ).*", ended.text, re.MULTILINE)
        if ended.code != code:
            return f"exit code {ended.code}, not {code}: {last_words(ended.text)}"
        if len(messages) != 1:
            return f"{len(messages)} messages, not one: {' / '.join(messages)[:300]}"
        missing = [text for text in says if text not in ended.text]
        return f"the message lacks '{missing[0]}': {messages[0]}" if missing else ""
    return judge


def fails_by_choice(ended):
    """Not by a signal, nor as a bug: 64 usage, 71 resource, 78 configuration."""
    return "" if ended.code in (64, 71, 78) else f"exit code {ended.code}: {last_words(ended.text)}"


def falls_back(ended):
    return "" if ended.code == 0 and "GPU" in ended.text else f"exit code {ended.code}, or no word of the GPU"


def check_errors(record, eave):
    with tempfile.TemporaryDirectory() as folder:
        words = [*COMMON, *ON_GPU, "--run-dir", f"{folder}/run", "--overwrite"]
        alone = [eave, "train", *words]
        record.run("GPU index out of range", [*alone, "--gpu", "99"], 30, refused(64, "--gpu", "99", "counted from 0"))
        record.run("no GPU visible", alone, 30, refused(71, "GPU"), {"CUDA_VISIBLE_DEVICES": ""})
        record.run("sharing without a need", [*alone, "--share-gpu"], 30, refused(64, "--share-gpu"))
        big = ["--model", "resnet50", "--synthetic-size", "224", "--synthetic-channels", "3", "--batch", "4096"]
        record.run("out of memory", [eave, "train", *words, *big], 60, refused(71, "batch"))
        if not has_mpi(record):
            return
        record.run("more ranks than GPUs", mpirun(eave, 2, words), 30, refused(64, "--share-gpu"))
        kinds = [([], ["--device", "cpu"]), ([], ON_GPU)]
        mixed = mpirun(eave, 2, [*COMMON, "--transport", "nccl", "--run-dir", f"{folder}/mixed"], kinds)
        record.run("mixed devices over nccl", mixed, 30, fails_by_choice)
        auto = [eave, "train", *COMMON, "--run-dir", f"{folder}/auto"]
        record.run("auto without a GPU trains on the CPU", auto, 60, falls_back, {"CUDA_VISIBLE_DEVICES": ""})
