"""Elastic or synchronous?

Repeats the experiment of Zhang, Choromanska and LeCun 2015, section 5, on CIFAR-10: batch 128, lambda 1e-4, beta 0.9,
delta 0.99, p = 4 workers with tau 1, 4, 16, 64, and p = 4, 8, 16 with tau 10. Adds the synchronous average of gradients
to the paper's methods. All workers take the same number of steps, which is the same time if each has its own core or
GPU and the network costs nothing. Each method has the best of three rates, found at p = 4 and tau 10.

--paper trains cifar7 for 50 epochs of each worker; with --device cuda all workers share a GPU. The default, --short,
trains a network with a quarter of its channels for 1.3 epochs, which takes half an hour on 2 cores.
"""
import dataclasses

import picture
import table
from trial import Trial

OPTIONS = ("paper", "device", "data_dir")
NOT_QUICK = ("data_dir",)  # options that --quick refuses, because it draws digits
NARROW = ("conv2d 16 5x5; relu; max_pool 2; conv2d 32 5x5; relu; max_pool 2; conv2d 16 3x3; relu; "
          "flatten; dense 64; relu; dropout 0.5; dense classes")
BATCH, SAMPLES, PARTS = 128, 50000, 4  # each run evaluates after each of its PARTS parts
PERIODS, RANKS, USUAL = (1, 4, 16, 64), (4, 8, 16), (4, 10)
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
        self.steps = 24 if quick else 50 * SAMPLES // BATCH if paper else 500
        self.periods, self.ranks, self.usual = ((1, 4), (), (2, 4)) if quick else (PERIODS, RANKS, USUAL)
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

    def run(self, name, rate, ranks, period, steps=None):
        method, steps = METHODS[name], steps or self.steps
        epochs = steps * ranks * self.batch / self.of_epoch
        tau = ["--tau", period] if method.has_period else []
        share = ["--share-gpu"] if self.device == "cuda" and ranks > 1 else []
        evaluations = ["--evaluate-every", epochs / PARTS if steps == self.steps else 0]
        return Trial(self.eave, ranks, ["--communicator", *method.words, *tau, "--lr", rate, "--max-steps", steps,
                                        "--epochs", 2 * epochs, *evaluations, *self.words, *share])

    def best_rate(self, name):
        """The learning rate with the best accuracy at p = 4 and tau 10, after a third of a run's steps."""
        ranks, period = self.usual
        rates = METHODS[name].rates[1:2] if self.quick else METHODS[name].rates
        trials = {rate: self.run(name, rate, METHODS[name].ranks or ranks, period, self.steps // 3) for rate in rates}
        return max(trials, key=lambda rate: trials[rate].accuracy or 0)

    def cases(self, name):
        """(ranks, tau) of each run of the method."""
        method = METHODS[name]
        if method.ranks:
            return [(method.ranks, 1)]
        if not method.has_period:
            return [(ranks, 1) for ranks in self.ranks or self.usual[:1]]
        return [*((self.usual[0], period) for period in self.periods), *((ranks, self.usual[1]) for ranks in self.ranks)]


def describe_run(name, rate, ranks, period, trial):
    row = {"method": name, "rate": rate, "p": ranks, "tau": period, "diverged": trial.diverged}
    if not trial.diverged:
        row |= {"accuracy": [each["center"]["accuracy"] for each in trial.evaluations],
                "samples": [each["samples"] for each in trial.evaluations],
                "seconds": [each["seconds"] for each in trial.evaluations], "bytes_per_worker": trial.summary["bytes_per_rank"]}
    return row


def answer(eave, quick, paper, device, data_dir):
    experiment, rows = Experiment(eave, quick, paper, device, data_dir), []
    for name in METHODS:
        rate = experiment.best_rate(name)
        for ranks, period in experiment.cases(name):
            trial = experiment.run(name, rate, ranks, period)
            rows.append(describe_run(name, rate, ranks, period, trial))
    found = {"steps": experiment.steps, "network": "cifar7" if paper else NARROW, "rows": rows}
    return found | {"claims": [] if quick else judge(rows), "wrong": list(wrongs(experiment, rows))}


def wrongs(experiment, rows):
    """Checks that must hold whatever the figures. Yields a text for each that fails."""
    for row in rows:
        want = experiment.samples(row["p"])
        if not row["diverged"] and row["samples"][-1] != want:
            yield f"{row['method']}, p = {row['p']}: {row['samples'][-1]} samples instead of {want}"
    for name in (name for name, method in METHODS.items() if method.has_period):
        often, seldom = (final(rows, name, experiment.usual[0], period, "bytes_per_worker") for period in (1, 4))
        if often and seldom and not 3 < often / seldom < 5:
            yield f"{name} sends {often} bytes with tau 1 and {seldom} with tau 4"


def final(rows, name, ranks, period, what="accuracy"):
    """The final `what` of the run with these settings; None if it diverged or was not made."""
    for row in rows:
        if (row["method"], row["p"], row["tau"]) == (name, ranks, period):
            return None if row["diverged"] else row[what][-1] if what == "accuracy" else row[what]
    return None


def judge(rows):
    """The paper's claims about its figures 2 to 4, and whether each holds here. Differences under 1 % count as none."""
    def at(name, ranks=1, period=1):
        return 100 * (final(rows, name, ranks, period) or 0)

    def claim(text, values, holds):
        return {"claim": text, "accuracy": [round(value, 1) for value in values], "holds": bool(holds)}

    elastic = [at("EASGD", 4, tau) for tau in PERIODS]
    momentum = [at("EAMSGD", 4, tau) for tau in PERIODS]
    pour = [at("DOWNPOUR", 4, tau) for tau in PERIODS]
    more = {name: [at(name, p, 10) for p in RANKS] for name in ("EASGD", "EAMSGD", "DOWNPOUR")}
    sequential = [at("SGD"), at("MSGD")]
    others = [*sequential, *elastic, *pour, at("MDOWNPOUR", 4)]
    return [
        claim("DOWNPOUR gets worse the longer tau is, from 1 to 64", pour, pour[3] < pour[0] - 1 and pour[2] < pour[0] - 1),
        claim("EASGD hardly does: its worst tau loses less than DOWNPOUR's", elastic,
              max(elastic) - min(elastic) < max(pour) - min(pour) - 1),
        claim("with tau 16 and 64 EASGD ends above DOWNPOUR", [*elastic[2:], *pour[2:]],
              elastic[2] > pour[2] + 1 and elastic[3] > pour[3] + 1),
        claim("EAMSGD is the best of the paper's methods at p = 4", [max(momentum), max(others)], max(momentum) > max(others) + 1),
        claim("EASGD and EAMSGD end above one worker with SGD and MSGD", [max(elastic), max(momentum), *sequential],
              min(max(elastic), max(momentum)) > max(sequential) + 1),
        claim("with more workers, 4 to 16, EASGD gains", more["EASGD"], more["EASGD"][2] > more["EASGD"][0] + 1),
        claim("and EAMSGD", more["EAMSGD"], more["EAMSGD"][2] > more["EAMSGD"][0] + 1),
        claim("DOWNPOUR does not", more["DOWNPOUR"], more["DOWNPOUR"][2] < more["DOWNPOUR"][0] + 1),
    ]


def show(found):
    print(f"Test accuracy of the center in %, after each quarter of {found['steps']} steps of every worker\n")
    table.show(["method", "rate", "p", "tau", "1/4", "2/4", "3/4", "end", "samples of all", "MB sent by each"],
               [[row["method"], f"{row['rate']:g}", str(row["p"]), str(row["tau"]), *describe_end(row)] for row in found["rows"]])
    for each in found["claims"]:
        print(f"- {'holds' if each['holds'] else 'does NOT hold'}: {each['claim']}: " + ", ".join(map(str, each["accuracy"])))


def describe_end(row):
    if row["diverged"]:
        return ["diverged", "", "", "", "", ""]
    accuracies = [f"{100 * each:.1f}" for each in row["accuracy"]]
    return [*[""] * (PARTS - len(accuracies)), *accuracies[-PARTS:], f"{row['samples'][-1]:,}", f"{row['bytes_per_worker'] / 1e6:.1f}"]


def draw(found):
    return picture.dots("Test accuracy of the center, after quarters of a run", picture.Scale(0, 0.8),
                        ["1/4", "2/4", "3/4", "end"],
                        [(f"{row['method']}, p = {row['p']}" + (f", tau = {row['tau']}" if METHODS[row['method']].has_period else ""),
                          [None] * PARTS if row["diverged"] else row["accuracy"][-PARTS:]) for row in found["rows"]])
