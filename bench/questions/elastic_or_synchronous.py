"""Elastic or synchronous?

Repeats the experiment of Zhang, Choromanska and LeCun 2015, section 5, on CIFAR-10: batch 128, lambda 1e-4, beta 0.9,
delta 0.99, p = 4 workers with tau 1 to 64, and with --paper p = 8 and 16 with tau 10. Adds the synchronous average of
gradients to the paper's methods. All workers take the same number of steps, which is the same time if each has its own core or
GPU and the network costs nothing. Each method has the best of three rates or more, found at p = 4 and tau 10 with seed 1: if
it lies at an edge, the next one out is tried too.

--paper trains cifar7 for 50 epochs of each worker with one seed; with --device cuda all workers share a GPU. The default,
--short, trains a network with a quarter of its channels for 166 steps with 4 workers and three seeds: 12 minutes of CPU.
"""
import dataclasses

import judged
import paper_claims
import picture
import rates
import table
from trial import Trial

OPTIONS = ("paper", "device", "data_dir")
NOT_QUICK = ("data_dir",)  # options that --quick refuses, because it draws digits
NARROW = ("conv2d 16 5x5; relu; max_pool 2; conv2d 32 5x5; relu; max_pool 2; conv2d 16 3x3; relu; "
          "flatten; dense 64; relu; dropout 0.5; dense classes")
BATCH, SAMPLES, SHORT, TEST_SAMPLES = 128, 50000, 166, 10000
USUAL = (4, 10)  # p and tau
PLAIN, NESTEROV = ["--momentum", "0"], ["--momentum", "0.99", "--nesterov", "on"]


@dataclasses.dataclass(frozen=True)
class Method:
    words: tuple
    rates: tuple
    has_period: bool = False
    ranks: int = 0  # 0: any number of ranks


METHODS = {
    "SGD": Method(("allreduce", *PLAIN), (0.03, 0.1, 0.3), ranks=1),
    "MSGD": Method(("allreduce", *NESTEROV), (0.0003, 0.001, 0.003), ranks=1),
    "synchronous": Method(("allreduce", "--momentum", "0.9", "--nesterov", "on"), (0.01, 0.03, 0.1)),
    "DOWNPOUR": Method(("downpour", *PLAIN), (0.01, 0.03, 0.1), has_period=True),
    "MDOWNPOUR": Method(("mdownpour", "--center-momentum", "0.99"), (0.0001, 0.0003, 0.001)),
    "EASGD": Method(("easgd-async", "--beta", "0.9", *PLAIN), (0.03, 0.1, 0.3), has_period=True),
    "EAMSGD": Method(("easgd-async", "--beta", "0.9", *NESTEROV), (0.0003, 0.001, 0.003), has_period=True),
}


class Experiment:
    def __init__(self, eave, quick, paper, device, data_dir):
        self.eave, self.quick, self.paper = eave, quick, paper
        self.steps = 24 if quick else 50 * SAMPLES // BATCH if paper else SHORT
        self.seeds = (1,) if quick or paper else (1, 2, 3)
        self.usual = (2, 4) if quick else USUAL
        self.periods = (1, 4) if quick else (1, 4, 10, 16, 64) if paper else (1, 10, 64)
        self.ranks = (8, 16) if paper else ()
        where = ["--data-dir", data_dir] if data_dir else []
        data = ["--data", "synthetic", "--synthetic-samples", "512", "--synthetic-test-samples", "64", "--synthetic-size", "32",
                "--synthetic-channels", "3"] if quick else ["--data", "cifar10", *where]
        self.of_epoch = 512 if quick else SAMPLES
        self.words = [*data, "--model", "cifar7" if paper else NARROW, "--crop", "28", "--flip", "on", "--weight-decay", "1e-4",
                      "--batch", 16 if quick else BATCH, "--on-nonfinite", "abort", "--device", device]
        self.batch, self.device = 16 if quick else BATCH, device

    def samples(self, ranks):
        """The samples of all ranks together in a run. The last step of an epoch has only the samples that are left."""
        of_step = ranks * self.batch
        epochs, steps = divmod(self.steps, -(-self.of_epoch // of_step))
        return epochs * self.of_epoch + steps * of_step

    def run(self, name, rate, ranks, period, seed=1, steps=None):
        method, steps = METHODS[name], steps or self.steps
        epochs = steps * ranks * self.batch / self.of_epoch
        tau = ["--tau", period] if method.has_period else []
        share = ["--share-gpu"] if self.device == "cuda" and ranks > 1 else []
        return Trial(self.eave, ranks, ["--communicator", *method.words, *tau, "--lr", rate, "--max-steps", steps,
                                        "--epochs", 2 * epochs, "--evaluate-every", 0, *self.words, *share, "--seed", seed])

    def find_rate(self, name):
        """The learning rate with the best accuracy at p = 4 and tau 10 with seed 1, and all that were tried. If the best one
        lies at an edge, the next one out is tried too."""
        ranks, period = self.usual
        steps = self.steps // 3 if self.paper else self.steps
        tried = METHODS[name].rates[1:2] if self.quick else METHODS[name].rates
        return rates.find(lambda rate: self.run(name, rate, METHODS[name].ranks or ranks, period, steps=steps).accuracy or 0, tried,
                          may_widen=not self.quick)

    def cases(self, name):
        """(ranks, tau) of each run of the method."""
        method = METHODS[name]
        if method.ranks:
            return [(method.ranks, 1)]
        if not method.has_period:
            return [(ranks, 1) for ranks in (self.usual[0], *self.ranks)]
        return [*((self.usual[0], period) for period in self.periods), *((ranks, self.usual[1]) for ranks in self.ranks)]


def describe_run(name, rate, ranks, period, trials):
    row = {"method": name, "rate": rate, "p": ranks, "tau": period,
           "final": [trial.accuracy for trial in trials], "diverged": any(trial.diverged for trial in trials)}
    if not row["diverged"]:
        row |= {"samples": trials[0].evaluations[-1]["samples"], "bytes_per_worker": trials[0].summary["bytes_per_rank"]}
    return row


def answer(eave, quick, paper, device, data_dir):
    experiment = Experiment(eave, quick, paper, device, data_dir)
    found = {name: experiment.find_rate(name) for name in METHODS}
    cases = [(name, *case) for name in METHODS for case in experiment.cases(name)]
    trials = {case: [] for case in cases}
    for seed in experiment.seeds:
        for name, ranks, period in cases:
            trials[name, ranks, period].append(experiment.run(name, found[name]["rate"], ranks, period, seed))
    rows = [describe_run(case[0], found[case[0]]["rate"], *case[1:], trials[case]) for case in cases]
    whole = {"steps": experiment.steps, "network": "cifar7" if paper else NARROW, "seeds": experiment.seeds, "rates": found,
             "rows": rows}
    return whole | {"claims": [] if quick else paper_claims.judge(eave, rows), "wrong": list(wrongs(experiment, rows))}


def wrongs(experiment, rows):
    """Checks that must hold whatever the figures. Yields a text for each that fails."""
    for row in rows:
        want = experiment.samples(row["p"])
        if not row["diverged"] and row["samples"] != want:
            yield f"{row['method']}, p = {row['p']}: {row['samples']} samples instead of {want}"
    sent = {(row["method"], row["p"], row["tau"]): row.get("bytes_per_worker") for row in rows}
    for name in (name for name, method in METHODS.items() if method.has_period):
        tau = experiment.usual[1]
        often, seldom = (sent[name, experiment.usual[0], period] for period in (1, tau))
        if often and seldom and not 0.75 * tau < often / seldom < 1.25 * tau:
            yield f"{name} sends {often} bytes with tau 1 and {seldom} with tau {tau}"


def verdicts(eave, found):
    """What is said of the cases of all methods: with one worker, with p = 4 by tau, and with p = 4 of the best of each."""
    groups, best = {}, {}
    for row in found["rows"]:
        groups.setdefault(place_of(row), {})[row["method"]] = row["final"]
        if row["p"] == 4 and not row["diverged"]:
            best[row["method"]] = max(best.get(row["method"], [0]), row["final"], key=lambda values: sum(values) / len(values))
    if best:
        groups["p = 4, each method at its best tau"] = best
    return [{"place": place, **judged.judge(eave, cases, TEST_SAMPLES)} for place, cases in groups.items()]


def place_of(row):
    return f"p = {row['p']}" + (f", tau = {row['tau']}" if METHODS[row["method"]].has_period else "")


def show(found):
    print(f"Test accuracy of the center in % after {found['steps']} steps of each worker, mean over seeds (95 % interval)\n")
    intervals = {(each["place"], name): values for each in found["judged"] for name, values in each["cases"].items()}
    table.show(["method", "rate", "p", "tau", "accuracy", "each seed's", "samples of all", "MB sent by each"],
               [[row["method"], f"{row['rate']:g}", str(row["p"]), str(row["tau"]), *describe_end(row, intervals)]
                for row in found["rows"]])
    table.show(["method", "accuracy by rate, seed 1"],
               [[name, ", ".join(f"{rate}: {100 * worth:.1f}" for rate, worth in each["tried"].items())]
                for name, each in found["rates"].items()])
    for each in found["judged"]:
        print(f"- {each['place']}: {each['sentence']}")
    for each in found["claims"]:
        print(f"- {each['holds']}: {each['claim']}: {each['accuracy']}")


def describe_end(row, intervals):
    if row["diverged"]:
        return ["diverged", "", "", ""]
    return [table.interval(intervals.get((place_of(row), row["method"])), row["final"]),
            ", ".join(f"{100 * each:.1f}" for each in row["final"]), f"{row['samples']:,}", f"{row['bytes_per_worker'] / 1e6:.1f}"]


def draw(found):
    return picture.dots(f"Test accuracy of the center after {found['steps']} steps of each worker", picture.Scale(0, 0.6),
                        [f"seed {seed}" for seed in found["seeds"]],
                        [(f"{row['method']}, {place_of(row)}", row["final"]) for row in found["rows"]])
