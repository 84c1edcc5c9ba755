"""Does x GPUs divide the loss by x?

One pass over the data by 1, 2, 4 and 8 ranks, with 32 samples on each and the rate times p after a warm-up, and with 64
samples in all and the same rate. Training loss after the same samples, the same steps and the same time. Here ranks share
cores; time is also that of a machine with a core for each: steps times the CPU time of a rank's step, exchange included.
"""
import math
import statistics

import picture
import table
from trial import NETWORK, Trial, data_words, training_losses

RANKS = (1, 2, 4, 8)
WORDS = ["--model", NETWORK, "--momentum", "0.9", "--evaluate-every", "0", "--on-nonfinite", "abort"]
PLANS = {"32 on each, rate times p": (["--batch", "32", "--lr", "0.01", "--lr-scaling", "linear", "--warmup-epochs", "0.1"],
                                      lambda ranks: 32),
         "64 in all, the same rate": (["--batch", "64", "--batch-means", "total", "--lr", "0.02"], lambda ranks: 64 // ranks)}
ROUNDING = 1e-3  # of the loss in a run's first lines, where the same samples are in a step


def curve(trials, step_seconds):
    """Each loss stands in the middle of the samples that it is the mean of."""
    lines, before, found = training_losses(trials), {"step": 0, "samples": 0}, []
    for line in lines:
        steps = (before["step"] + line["step"]) / 2
        found.append({"samples": (before["samples"] + line["samples"]) / 2, "steps": steps, "seconds": steps * step_seconds,
                      "loss": line["loss"]})
        before = line
    return found


def loss_at(points, what, value):
    """Between two points on the line through them; outside the nearest point's."""
    for before, after in zip(points, points[1:]):
        if before[what] <= value <= after[what]:
            share = (value - before[what]) / (after[what] - before[what])
            return before["loss"] + share * (after["loss"] - before["loss"])
    return points[0 if value < points[0][what] else -1]["loss"]


def first_at(points, loss):
    """The first point at or below that loss."""
    return next(point for point in points if point["loss"] <= loss)


def step_cost(eave, ranks, batch, words, rounds):
    """CPU seconds of a rank's step by itself and among `ranks`, exchange included: medians. Of the difference of two runs,
    which has neither start nor end in it."""
    counts = (10, 40) if rounds == 1 else (40, 240)

    def seconds(ranks):
        brief, lasting = (Trial(eave, ranks, [*words, "--batch", batch, "--lr", "0.001", "--epochs", "1000", "--max-steps", steps])
                          .cpu_seconds for steps in counts)
        return (lasting - brief) / (counts[1] - counts[0]) / ranks
    pairs = [(seconds(1), seconds(ranks)) for _ in range(rounds)]
    return [statistics.median(each) for each in zip(*pairs)]


def run(eave, ranks, plan, words, seeds, rounds):
    options, batch_of = PLANS[plan]
    batch = batch_of(ranks)
    window = max((64 if rounds > 1 else 8) * 32 // (ranks * batch), 1)  # steps in a line: the same samples whatever the ranks
    trials = [Trial(eave, ranks, [*words, *options, "--epochs", "1", "--seed", seed], log_every=window) for seed in seeds]
    alone, among = step_cost(eave, ranks, batch, words, rounds)
    row = {"plan": plan, "ranks": ranks, "batch": batch, "steps": trials[0].steps[-1]["step"], "step_alone_seconds": alone,
           "step_seconds": among, "accuracy": [trial.accuracy for trial in trials],
           "wall_seconds": statistics.median(trial.steps[-1]["seconds"] for trial in trials), "points": curve(trials, among)}
    return row, trials[0].header["train_samples"]


def compare(rows):
    """Losses after the same samples, steps and time as far as all go, and what it takes to get to a loss that all reach."""
    common = {what: min(row["points"][-1][what] for row in rows) for what in ("samples", "steps", "seconds")}
    target = max(min(point["loss"] for point in row["points"]) for row in rows)
    target = math.ceil(target * 20) / 20
    for row in rows:
        row["loss"] = {"a quarter of the samples": loss_at(row["points"], "samples", common["samples"] / 4),
                       **{f"the same {what}": loss_at(row["points"], what, common[what]) for what in common}}
        row["to_target"] = first_at(row["points"], target)
    return {"target": target, "common": common}


def check(rows, samples):
    for row in rows:
        name, one = f"{row['plan']}, {row['ranks']} ranks", rows[0]
        if row["steps"] != math.ceil(samples / (row["ranks"] * row["batch"])):
            yield f"{name}: {row['steps']} steps for {samples} samples"
        if row["ranks"] > 1 and row["loss"]["the same samples"] <= one["loss"]["the same samples"] / row["ranks"]:
            yield f"{name}: the loss is divided by the ranks"
        first, of_one = row["points"][0]["loss"], one["points"][0]["loss"]
        if "in all" in row["plan"] and abs(first - of_one) > ROUNDING * of_one:
            yield f"{name}: the loss begins with {first}, that of one rank with {of_one}"


def answer(eave, quick):
    words, seeds, rounds = [*data_words(quick), *WORDS], (1,) if quick else (1, 2, 3), 1 if quick else 3
    found, wrong = {"seeds": seeds, "rows": [], "compared": {}}, []
    for plan in PLANS:
        rows = []
        for ranks in RANKS:
            row, samples = run(eave, ranks, plan, words, seeds, rounds)
            rows.append(row)
        found["compared"][plan] = compare(rows)
        wrong += check(rows, samples)
        found["rows"] += rows
    return {**found, "samples": samples, "wrong": wrong}


def show(found):
    print(f"One pass over {found['samples']} samples, mean over {len(found['seeds'])} seeds; time: with a core for each rank\n")
    for plan, compared in found["compared"].items():
        rows = [row for row in found["rows"] if row["plan"] == plan]
        print(f"{plan}: training loss after the same samples ({compared['common']['samples']:.0f}), steps "
              f"({compared['common']['steps']:.0f}) and time ({compared['common']['seconds']:.2f} s)\n")
        table.show(["ranks", "steps", "ms a step (alone)", *rows[0]["loss"], f"time to a loss of {compared['target']:g}", "faster",
                    "the pass here", "test accuracy"],
                   [[str(row["ranks"]), str(row["steps"]), f"{1e3 * row['step_seconds']:.2f} ({1e3 * row['step_alone_seconds']:.2f})",
                     *(f"{loss:.3f}" for loss in row["loss"].values()), f"{row['to_target']['seconds']:.2f} s",
                     f"{rows[0]['to_target']['seconds'] / row['to_target']['seconds']:.1f} times", f"{row['wall_seconds']:.1f} s",
                     f"{100 * statistics.mean(row['accuracy']):.1f} %"] for row in rows])


def draw(found):
    plan = next(iter(PLANS))
    rows = [row for row in found["rows"] if row["plan"] == plan]
    return picture.curves(f"Training loss of one pass: {plan} after a warm-up", [f"p = {row['ranks']}" for row in rows],
                          [(along, [[(point[what], point["loss"]) for point in row["points"]] for row in rows])
                           for what, along in (("samples", "samples"), ("steps", "steps"), ("seconds", "seconds, a core for each rank"))])
