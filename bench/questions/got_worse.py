"""Why did my multi-GPU run get worse?

First 8 ranks with 16 samples each train one pass over the data as they should, with averaged gradients and a rate
scaled by the ranks. Then each run makes one usual mistake. The answer says what each mistake does to the test accuracy
and the losses, and whether eave warns. data_order.py writes the sets for orders of samples that eave itself never uses.
"""
import pathlib
import shutil
import statistics
import tempfile

import data_order
import judged
import picture
import refused
import table
from trial import NETWORK, Trial, training_losses

RANKS, TEST_SAMPLES = 8, 10000
NORMS = NETWORK.replace("5x5;", "5x5; batch_norm;")
RIGHT = {"data": "fashion-mnist", "model": NETWORK, "epochs": 1, "momentum": 0.9, "lr": 0.005, "lr-scaling": "linear",
         "warmup-epochs": 0.1, "lr-schedule": "step", "lr-step-epochs": 0.7, "evaluate-every": 0, "on-nonfinite": "abort"}
LOCAL = {"communicator": "local-sgd", "tau": 20, "lr-scaling": None, "warmup-epochs": None, "lr": 0.02}
SUMMED, UNSHUFFLED = "gradients summed, and rate times p", "sorted by class, not shuffled"
BATCHES, NO_DROP = "sorted by class, batches shuffled", "rate drops by one rank's steps: never"
AS_IT_SHOULD, LOCALLY, NORMED = "right", "right, local-sgd", "right, batch norm"
PASSES = "right, 3 passes over a third of the data"
# (mistake, options that differ from the right ones, order of samples, name of the case to compare with)
CASES = [
    (AS_IT_SHOULD, {}, None, None),
    ("one rank, its own batch and rate", {"ranks": 1}, None, AS_IT_SHOULD),
    (SUMMED, {"reduction": "sum"}, None, AS_IT_SHOULD),
    ("rate 4 times too high", {"lr": 0.02}, None, AS_IT_SHOULD),
    ("rate not scaled", {"lr-scaling": None, "warmup-epochs": None}, None, AS_IT_SHOULD),
    ("no warm-up", {"warmup-epochs": None}, None, AS_IT_SHOULD),
    (NO_DROP, {"lr-step-epochs": 0.7 * RANKS}, None, AS_IT_SHOULD),
    ("rate drops 4 times too early", {"lr-step-epochs": 0.7 / 4}, None, AS_IT_SHOULD),
    ("all ranks train on the same samples", {}, "same", AS_IT_SHOULD),
    (UNSHUFFLED, {}, "sorted", AS_IT_SHOULD),
    (BATCHES, {}, "batches", AS_IT_SHOULD),
    ("each rank its own classes", {}, "classes", AS_IT_SHOULD),
    ("each rank its own order of all", {"sampling": "whole"}, None, AS_IT_SHOULD),
    ("last batch dropped", {"drop": True}, None, AS_IT_SHOULD),
    (LOCALLY, LOCAL, None, None),
    ("local-sgd, each rank its own classes", LOCAL, "classes", LOCALLY),
    (NORMED, {"model": NORMS}, None, None),
    ("batch norm of 2 samples (more ranks)", {"model": NORMS, "few": True}, None, NORMED),
    ("batch norm, each rank its own classes", {"model": NORMS}, "classes", NORMED),
    (PASSES, {}, "passes", None),
    ("the same order in each of the 3", {}, "again", PASSES),
    ("right, dropout", {"model": NETWORK.replace("64; relu", "64; relu; dropout 0.5")}, None, None),
]


class Bench:
    def __init__(self, eave, quick, folder):
        self.eave, self.folder, self.batch = eave, folder, 4 if quick else 16
        self.seeds = (1,) if quick else (1, 2, 3, 4, 5)
        self.pictures = data_order.Pictures(1000 if quick else 30000, 200 if quick else 10000, quick)
        self.plain = self.pictures.write(folder / "plain")
        self.wrong = []

    def order(self, kind, seed):
        return data_order.wrong_order(kind, self.pictures.labels, RANKS, self.batch, seed) if kind else None

    def trial(self, changes, kind, seed):
        options, size, order = {**RIGHT, **changes}, len(self.pictures.images), self.order(kind, seed)
        ranks, batch = options.pop("ranks", RANKS), self.batch
        if options.pop("drop", False):
            options["max-samples"] = size - size % (ranks * batch)
        if options.pop("few", False):  # keeps the samples of a step and the scaled rate
            ranks, batch, options["lr"] = ranks * batch // 2, 2, options["lr"] * 2 / batch
        folder = self.pictures.write(self.folder / "ordered", order, seed) if order else self.plain
        options = {**options, "data-dir": folder, "batch": batch, "seed": seed}
        words = [word for name, value in options.items() if value is not None for word in (f"--{name}", value)]
        trial = Trial(self.eave, ranks, words, log_every=max(size // (ranks * batch) // 10, 1))
        if order:
            self.check_order(kind, order, trial)
            shutil.rmtree(folder)
        return trial

    def check_order(self, kind, order, trial):
        """Checks that the class counts that each rank recorded are those of the wanted order."""
        planned, step = [[0] * 10 for _ in range(RANKS)], RANKS * self.batch
        for first in range(0, len(order), step):
            for rank, part in enumerate(data_order.in_parts(order[first:first + step], RANKS)):
                for sample in part:
                    planned[rank][self.pictures.labels[sample]] += 1
        if planned != [rank["class_histogram"] for rank in trial.header["ranks"]]:
            self.wrong.append(f"order {kind}: the ranks had other classes than they were to have")

    def row(self, name, changes, kind, against):
        trials = [self.trial(changes, kind, seed) for seed in self.seeds]
        whole = [trial for trial in trials if not trial.diverged]
        test_losses = [trial.summary["evaluation"]["center"]["loss"] for trial in whole]
        return {"what": name, "against": against, "accuracy": [trial.accuracy for trial in trials],
                "losses": [line["loss"] for line in training_losses(whole)],
                "test_loss": statistics.mean(test_losses) if test_losses else None,
                "warnings": trials[0].warnings, "card": trials[0].header["learning_rate"]}


def check(rows):
    """Checks that must hold whatever the figures: eave warns of the right mistakes, and the worst ones cost accuracy.
    Yields a text for each that fails."""
    found = {row["what"]: row for row in rows}
    for row in rows:
        is_told = "each rank its own classes" in row["what"] or row["what"] in (SUMMED, NO_DROP)
        if bool(row["warnings"]) != is_told and row["what"] != BATCHES:  # for BATCHES the warning depends on chance
            yield f"{row['what']}: eave warns of {row['warnings'] or 'nothing'}"
    for name in (SUMMED, UNSHUFFLED):
        if mean(found[name]) > mean(found[AS_IT_SHOULD]) - 0.2:
            yield f"{name}: {mean(found[name]):.2f} is not worse than {mean(found[AS_IT_SHOULD]):.2f}"


def answer(eave, quick):
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(eave, quick, pathlib.Path(folder))
        rows = [bench.row(*case) for case in CASES]
        said = refused.ask(eave, bench.plain, bench.pictures.write(bench.folder / "other", bench.order("sorted", 1), 1))
    return {"ranks": RANKS, "batch": bench.batch, "samples": len(bench.pictures.images), "seeds": bench.seeds, "rows": rows,
            "refusals": said, "wrong": [*bench.wrong, *check(rows), *refused.check(said)]}


def verdicts(eave, found):
    """By case: how much it lies above the right one, and the interval of its accuracy."""
    accuracy = {row["what"]: [each or 0 for each in row["accuracy"]] for row in found["rows"]}
    said = {}
    for row in found["rows"]:
        right, mine = row["against"], accuracy[row["what"]]
        said[row["what"]] = {"against": right and judged.lead(eave, mine, accuracy[right], TEST_SAMPLES),
                             "interval": judged.judge(eave, {"it": mine}, TEST_SAMPLES)["cases"]["it"]}
    judged.correct([each["against"] for each in said.values()])
    return said


def mean(row):
    return statistics.mean(each or 0 for each in row["accuracy"])


def describe(found, row):
    judged_row = found["judged"][row["what"]]
    diverged = f", {row['accuracy'].count(None)} diverged" if None in row["accuracy"] else ""
    return [row["what"], table.interval(judged_row["interval"], row["accuracy"]) + diverged, table.difference(judged_row["against"]),
            *("-" if each is None else f"{each:.2f}" for each in (row["losses"][0], row["losses"][-1], row["test_loss"])),
            "warns" if row["warnings"] else "no"]


def show(found):
    print(f"{found['ranks']} ranks with {found['batch']} samples each, one pass over {found['samples']} samples, "
          f"{len(found['seeds'])} seeds\n")
    table.show(["", "test accuracy in % (95 % interval)", "against right (95 % interval, * told apart)", "training loss at first", "at the end", "test loss", "eave at start"],
               [describe(found, row) for row in found["rows"]])
    for name, each in found["refusals"].items():
        print(f"{name} (exit code {each['code']}): {each['says']}")
    for said in dict.fromkeys(said for row in found["rows"] for said in row["warnings"][:1]):
        print(said)


def draw(found):
    return picture.dots("Test accuracy after one pass, by what is wrong (left edge: 0.5 or less)", picture.Scale(0.5, 0.9),
                        [f"seed {seed}" for seed in found["seeds"]], [(row["what"], row["accuracy"]) for row in found["rows"]])
