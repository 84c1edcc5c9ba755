"""DiLoCo, EASGD or all-reduce for a small language model?

Trains nanoGPT's model for a CPU (0.8 million parameters, windows of 64 bytes) on Shakespeare's plays, with 8 windows a step on
each of 2 and 4 ranks, for 768 steps, by the average of gradients in each step, EASGD and DiLoCo with tau 1, 8, 32 and 128, three
seeds each; and one rank alone. Each method has for each tau the best of three rates or more, found with 2 ranks and seed 1.

What these methods compute does not depend on the network, so each run is made once, and its seconds are its steps times those of
a step on hosts of a netlab, whose links carry 50 Mbit/s, 200 Mbit/s or 1 Gbit/s. A step computes for 30 ms there, asleep, so
that hosts need no processors of their own. `eave plan` predicts the same seconds from one short run. Without a netlab (or with
--quick) the seconds are those of the plan. The step of one rank alone needs no network and is always measured. About 2 hours of
CPU, and 12 minutes for the steps.
"""
import math
import pathlib
import subprocess

import clocked
import eave_runs
import link_times
import picture
import rates
import table
from trial import Trial

OPTIONS = ("lab",)
TARGET = 9.0  # perplexity of a byte
SMALL = "embedding 32 positions 32; residual(layer_norm; linear 96; attention 2; linear 32); layer_norm; tied_output"
LEARNING_RATES = (0.001, 0.003, 0.01)
PERIODIC = ("easgd", "diloco")
ALONE, SYNCHRONOUS = "one rank alone", "allreduce"


def case_name(method, tau):
    return f"{method}, tau {tau}" if tau else method


def shakespeare():
    """The folder of the plays; fetches them if they are not there."""
    script = eave_runs.ROOT / "mpi_launch" / "install_text"
    subprocess.run([script], check=True, stdout=subprocess.DEVNULL)
    return pathlib.Path(subprocess.run([script, "--where"], check=True, capture_output=True, text=True).stdout.strip())


class Experiment:
    def __init__(self, eave, quick):
        self.eave, self.quick = eave, quick
        self.steps, self.seeds, self.ranks = (64, (1,), (2,)) if quick else (768, (1, 2, 3), (2, 4))
        self.periods = (1, 8) if quick else (1, 8, 32, 128)
        self.batch, self.target = (4, 100.0) if quick else (8, TARGET)
        text = eave_runs.ROOT / "mpi_launch" / "guide" if quick else shakespeare()
        self.words = ["--data", "text", "--data-dir", text, "--text-test-share", 0.01, "--model", SMALL if quick else "nanogpt-cpu",
                      "--batch", self.batch, "--optimizer", "adamw", "--adam-beta2", 0.99, "--weight-decay", 0.1, "--clip-norm", 1,
                      "--device", "cpu"]

    def training(self):
        return [*self.words, "--lr-schedule", "cosine", "--warmup", f"{self.steps // 16}steps", "--warmup-from", 0.1,
                "--evaluations", 12, "--evaluate-workers", "off", "--epochs", 1000, "--max-steps", self.steps]

    def run(self, ranks, method, tau, rate, seed=1):
        communicator = [SYNCHRONOUS] if method == ALONE else [method, *(["--tau", tau] if tau else [])]
        return Trial(self.eave, ranks, ["--communicator", *communicator, "--lr", rate, "--seed", seed, *self.training()])

    def find_rate(self, method, tau):
        def worth_of(rate):
            score = self.run(1 if method == ALONE else self.ranks[0], method, tau, rate).score
            return -score if score else float("-inf")
        return rates.find(worth_of, LEARNING_RATES[1:2] if self.quick else LEARNING_RATES, may_widen=not self.quick)

    def cases(self):
        """(ranks, method, tau) of each case."""
        yield 1, ALONE, None
        for ranks in self.ranks:
            yield ranks, SYNCHRONOUS, None
            yield from ((ranks, method, tau) for method in PERIODIC for tau in self.periods)

    def describe(self, case, rate, trials):
        row = {"ranks": case[0], "method": case[1], "tau": case[2], "rate": rate, "diverged": any(trial.diverged for trial in trials)}
        if not row["diverged"]:
            row |= {"bytes_per_rank": trials[0].summary["bytes_per_rank"], "curves": [curve_of(trial) for trial in trials]}
        return row


def curve_of(trial):
    return [{"step": line["step"], "samples": line["samples"], **line["center"]} for line in trial.evaluations]


def answer(eave, quick, lab):
    lab = link_times.find_lab(None if quick else lab, eave)
    experiment = Experiment(eave, quick)
    cases = list(experiment.cases())
    found = {name: experiment.find_rate(*name) for name in dict.fromkeys(case[1:] for case in cases)}
    trials = {case: [experiment.run(*case, found[case[1:]]["rate"], seed) for seed in experiment.seeds] for case in cases}
    rows = [experiment.describe(case, found[case[1:]]["rate"], each) for case, each in trials.items()]
    head = next(iter(trials.values()))[0].header
    steps = link_times.measure(eave, experiment, lab, Trial.kept)
    return {"steps": experiment.steps, "batch": experiment.batch, "seeds": experiment.seeds, "target": experiment.target,
            "test_labels": head["test_labels"], "train_samples": head["train_samples"],
            "rates": {case_name(*name): each for name, each in found.items()}, "rows": rows, **steps,
            "wrong": list(wrongs(experiment, rows))}


def wrongs(experiment, rows):
    """Checks that must hold whatever the figures. Yields a text for each that fails."""
    sent = {(row["ranks"], row["method"], row["tau"]): row.get("bytes_per_rank") for row in rows}
    for row in rows:
        if not row["diverged"] and row["curves"][0][-1]["samples"] != row["ranks"] * experiment.batch * experiment.steps:
            yield f"{row['method']}, {row['ranks']} ranks: {row['curves'][0][-1]['samples']} samples"
    tau = experiment.periods[1]
    for method in PERIODIC:
        often, seldom = sent[2, method, 1], sent[2, method, tau]
        if often and seldom and not 0.7 * tau < often / seldom < 1.3 * tau:
            yield f"{method} on 2 ranks sends {often} bytes with tau 1 and {seldom} with tau {tau}"


def verdicts(eave, found):
    """The report's figures for each number of hosts and link."""
    said = []
    for place in found["places"]:
        cases = [row | {"name": case_name(row["method"], row["tau"]), "seconds": seconds_of(found, place, row)}
                 for row in found["rows"] if row["ranks"] in (1, place["hosts"]) and not row["diverged"]]
        said.append({"hosts": place["hosts"], "link": place["link"], **clocked.report(eave, cases, found)})
    return said


def seconds_of(found, place, row):
    """Seconds of a step: measured where they were, else planned."""
    if row["ranks"] == 1:
        return found.get("alone_seconds", found["compute_seconds"])  # older records did not measure it
    step = place["steps"][case_name(row["method"], row["tau"])]
    return step["measured"] or step["planned"]


def show(found):
    last = f"after {found['steps']} steps of {found['batch']} windows on each rank"
    print(f"Perplexity of a byte of the test set {last}, mean over {len(found['seeds'])} seeds (95 % interval)\n")
    ranks = sorted({row["ranks"] for row in found["rows"]} - {1})
    ends = {(judged["hosts"], name): values["perplexity"] for judged in found["judged"] for name, values in judged["cases"].items()}
    names = list(dict.fromkeys(case_name(row["method"], row["tau"]) for row in found["rows"]))
    table.show(["case", "rate", *(f"{each} ranks" for each in ranks)],
               [[name, f"{rate_of(found, name):g}", *(clocked.text(ends[each, name], 2) if (each, name) in ends else "" for each in ranks)]
                for name in names])
    for hosts in ranks:
        print(f"- {next(judged['sentence'] for judged in found['judged'] if judged['hosts'] == hosts)}")
    print()
    for judged in found["judged"]:
        show_place(found, judged)
    table.show(["method", "perplexity by rate, seed 1"],
               [[name, ", ".join(f"{rate}: {-worth:.2f}" for rate, worth in each["tried"].items())]
                for name, each in found["rates"].items()])


def rate_of(found, name):
    return next(row["rate"] for row in found["rows"] if case_name(row["method"], row["tau"]) == name)


def show_place(found, judged):
    place = next(each for each in found["places"] if (each["hosts"], each["link"]) == (judged["hosts"], judged["link"]))
    print(f"{judged['hosts']} hosts, {judged['link']}: seconds and megabytes of each host until perplexity {found['target']:g}\n")
    rows = []
    for name, values in judged["cases"].items():
        step = place["steps"].get(name, {"planned": None, "measured": found.get("alone_seconds")})
        rows.append([name, clocked.milliseconds(step["planned"]), clocked.milliseconds(step["measured"]),
                     clocked.text(values["seconds_to_target"], 1), clocked.text(values["bytes_to_target"], 1, 1e6)])
    for name, step in place.get("pytorch", {}).items():
        rows.append([name, "", clocked.milliseconds(step["seconds"]), clocked.scaled(judged, place, step), ""])
    table.show(["case", "ms a step, planned", "measured", "seconds", "MB"], rows)
    print(f"- {judged['fastest']}\n")


def draw(found):
    """The seconds to the target, by link: for each number of hosts a dot for the plan, then one for what was measured."""
    hosts = sorted({judged["hosts"] for judged in found["judged"]})
    rows = [(f"{link}: {name}", [value for each in hosts for value in planned_and_measured(found, each, link, name)])
            for link in dict.fromkeys(judged["link"] for judged in found["judged"])
            for name in found["judged"][0]["cases"]]
    known = [value for _, values in rows for value in values if value and not math.isnan(value)]
    return picture.dots(f"Seconds until perplexity {found['target']:g}", picture.Scale(min(known) / 1.2, max(known) * 1.2, logarithmic=True),
                        [name for each in hosts for name in (f"{each}: plan", f"{each} hosts")], rows, nothing="not reached")


def planned_and_measured(found, hosts, link, name):
    case = next(each["cases"].get(name) for each in found["judged"] if (each["hosts"], each["link"]) == (hosts, link))
    if case is None:
        return [math.nan, math.nan]
    seconds = case["seconds_to_target"]
    step = next(each["steps"].get(name) for each in found["places"] if (each["hosts"], each["link"]) == (hosts, link))
    if seconds is None or step is None:  # one rank alone has no exchange to plan
        return [seconds and seconds[0]] * 2
    return [seconds[0] * step["planned"] / (step["measured"] or step["planned"]), seconds[0]]
