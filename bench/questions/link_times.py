"""Seconds of a training step on hosts of a netlab, by link and method: planned by `eave plan` from one short run, then measured.

Each host has one rank. A step computes on one sample, and its gradient takes COMPUTE at least, asleep: so hosts that share
this machine's processors do not take them from each other. PyTorch's steps compute, on two hosts: what counts is by how much a
step with an exchange is longer than a plain one in the same process.
"""
import json
import os
import pathlib
import statistics
import sys
import tempfile

import eave_runs
import netlab_hosts
import pytorch_environment
import pytorch_ranks
from peers import torchft_diloco

LINKS = ("50mbit", "200mbit", "1gbit")
COMPUTE = 0.030  # seconds; assumed: one core took 33 to 68 ms for 12 windows, and a batch has 8
WARM_UP = 16  # after the tenth step, ranks wait once to find out how long a sum takes (src/train/watch/slow_watch.h)
PLAN_STEPS = 24
# name: case, steps, and the case of eave that computes the same
PYTORCH = {"PyTorch DDP": ("ddp", 12, "allreduce"), "torchft DiLoCo, tau 32": ("torchft", 64, "diloco, tau 32")}


class Memory:
    """Figures by name, kept in a file if there is one, so that a later call measures only what is missing."""

    def __init__(self, kept):
        self.path = kept and kept / "link-times.json"
        self.figures = json.loads(self.path.read_text()) if self.path and self.path.exists() else {}

    def get(self, name, measure):
        if name not in self.figures:
            self.figures[name] = measure()
            if self.path:
                self.path.write_text(json.dumps(self.figures, indent=1) + "\n")
        return self.figures[name]


def words_of(eave, experiment, method, tau, steps, folder):
    words = [eave, "train", *experiment.words, "--batch", 1, "--shape-compute", f"{1e3 * COMPUTE:g}ms", "--communicator", method,
             *(["--tau", tau] if tau else []), "--lr", 0.001, "--max-steps", steps, "--epochs", 1000, "--evaluate-every", 0,
             "--checkpoint", "off", "--progress", "off", "--run-dir", folder, "--overwrite"]
    at = words.index("--batch")  # the first is the experiment's
    return words[:at] + words[at + 2:]


def library_of(eave):
    return eave.parent / "libeave.so"


class Hosts:
    """`count` hosts; without a lab they are threads, whose exchanges take no time, and which only plans can use."""

    def __init__(self, eave, experiment, count, lab_program):
        self.eave, self.experiment, self.count = eave, experiment, count
        self.lab = lab_program and netlab_hosts.Lab(lab_program, count)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.lab:
            self.lab.close()

    def run(self, method, tau, steps, folder):
        launcher = self.lab.launcher() if self.lab else []
        place = [] if self.lab else ["--transport", "threads", "--ranks", self.count]
        eave_runs.run_command([*launcher, *words_of(self.eave, self.experiment, method, tau, steps, folder), *place])

    def step_seconds(self, method, tau):
        """The mean over all ranks' steps of whole periods, after WARM_UP steps and a period."""
        period = tau or 1
        first = WARM_UP + period
        last = first + period * max(1, round(16 / period))
        with tempfile.TemporaryDirectory() as folder:
            self.run(method, tau, last + 4, folder)
            lines = (pathlib.Path(folder) / "metrics.jsonl").read_text().splitlines()
        steps = (line for line in eave_runs.step_lines(map(json.loads, lines)) if first < line["step"] <= last)
        return statistics.mean(line["computing"] + line["waiting"] + line["loading"] for line in steps)

    def plan(self, periods, ranks):
        """Planned seconds of a step by link, number of hosts, method and tau, from a run of `allreduce` on these hosts."""
        with tempfile.TemporaryDirectory() as folder:
            self.run("allreduce", None, PLAN_STEPS, folder)
            return {f"{link} {tau} {plan['communicator']} {row['ranks']}": row["step_seconds"]
                    for link in LINKS for tau in periods
                    for plan in self.ask_plan(folder, ranks, link, tau) for row in plan["rows"]}

    def ask_plan(self, folder, ranks, link, tau):
        path = pathlib.Path(folder) / "plan.json"
        eave_runs.run_command([self.eave, "plan", folder, "--ranks", ",".join(map(str, ranks)), "--communicators",
                               "allreduce,easgd,diloco", "--tau", tau, "--network-rate", link, "--ranks-per-host", 1, "--json", path])
        return json.loads(path.read_text())["plans"]

    def pytorch(self):
        """By name of the case: seconds of a step, plus what the exchange adds to a plain step in the same process."""
        python = pytorch_environment.prepare_pytorch()
        torchft, why = torchft_diloco.prepare(python)
        if not torchft:
            print(f"torchft's DiLoCo is left out: {why}")
        asked = [f"{case}:{steps}" for case, steps, _ in PYTORCH.values() if case != "torchft" or torchft]
        lines = pytorch_ranks.run(library_of(self.eave), torchft, self.lab.launcher(),
                                  ["among", "gpt", netlab_hosts.address(0), "plain:40", *asked])
        seconds = {line["case"]: line["seconds"] for line in lines}
        return {name: {"seconds": COMPUTE + seconds[case] - seconds["plain"], "same_as": same_as}
                for name, (case, _, same_as) in PYTORCH.items() if case in seconds}


def find_lab(lab, eave):
    """The lab's program. None, with the reason printed, if it cannot be used. Ends with 66 if the lab is there and the library that
    PyTorch's steps need is not."""
    program = lab and pathlib.Path(lab) / "netlab"
    if program and program.exists() and os.geteuid() == 0:
        if not library_of(eave).exists():
            print(f"bench/questions/run: no library {library_of(eave)}, which PyTorch's steps on the netlab need; build it with "
                  "cmake --build build", file=sys.stderr)
            sys.exit(66)
        return program
    print(f"steps are planned, not measured: {'--quick' if not lab else 'a netlab needs root' if os.geteuid() else f'no program {program}'}\n")
    return None


def measure(eave, experiment, lab, kept):
    """`lab` is what find_lab returned."""
    memory = Memory(kept)
    alone = memory.get("one rank alone", lambda: Hosts(eave, experiment, 1, None).step_seconds("allreduce", None))
    places = []
    for count in experiment.ranks:
        cases = [(method, tau) for ranks, method, tau in experiment.cases() if ranks == count]
        with Hosts(eave, experiment, count, lab) as hosts:
            if count == experiment.ranks[0]:
                if lab:
                    hosts.lab.set_rate(LINKS[-1])
                planned = memory.get("plan", lambda: hosts.plan(experiment.periods, experiment.ranks))
            places += [measure_link(hosts, link, cases, planned, memory) for link in LINKS]
    return {"compute_seconds": COMPUTE, "alone_seconds": alone, "places": places}


def measure_link(hosts, link, cases, planned, memory):
    steps, count = {}, hosts.count
    if hosts.lab:
        hosts.lab.set_rate(link)
    for method, tau in cases:
        name = f"{method}, tau {tau}" if tau else method
        any_tau = next(int(key.split()[1]) for key in planned)
        measured = hosts.lab and memory.get(f"{count} {link} {name}", lambda: hosts.step_seconds(method, tau))
        steps[name] = {"planned": planned[f"{link} {tau or any_tau} {method} {count}"], "measured": measured}
    place = {"hosts": count, "link": link, "steps": steps}
    if hosts.lab and count == 2:
        place["pytorch"] = memory.get(f"{count} {link} pytorch", hosts.pytorch)
    return place
