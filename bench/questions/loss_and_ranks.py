"""Does x GPUs divide the loss by x?

Trains one pass over the data with 1, 2, 4 and 8 ranks in two ways: 32 samples on each rank and the rate times p after a
warm-up, and 64 samples in all with the same rate. Compares the training loss after the same samples, the same steps
and the same time. Ranks share cores here, so the time is that of a machine with a core for each rank: steps times the
CPU time of a rank's step, exchange included.
"""
import math
import statistics

import clocked
import judged
import picture
import run_files
import table
from trial import NETWORK, Timing, Trial, data_words, training_losses

RANKS = (1, 2, 4, 8)
WORDS = ["--model", NETWORK, "--momentum", "0.9", "--evaluate-every", "0", "--on-nonfinite", "abort"]
PLANS = {"32 on each, rate times p": (["--batch", "32", "--lr", "0.01", "--lr-scaling", "linear", "--warmup-epochs", "0.1"],
                                      lambda ranks: 32),
         "64 in all, the same rate": (["--batch", "64", "--batch-means", "total", "--lr", "0.02"], lambda ranks: 64 // ranks)}
ROUNDING = 1e-4  # relative, of the loss in the first steps, if each step has the same samples
FIRST = 5  # steps
TEST_SAMPLES = 10000


def curve(trials):
    """The points of a loss curve. Each recorded loss is a mean over some steps, and lies in the middle of them."""
    before, found = {"step": 0, "samples": 0}, []
    for line in training_losses(trials):
        found.append({"samples": (before["samples"] + line["samples"]) / 2, "steps": (before["step"] + line["step"]) / 2,
                      "loss": line["loss"]})
        before = line
    return found


def loss_at(points, what, value):
    """The loss at `value` by linear interpolation; outside the curve the loss of its nearest end."""
    for before, after in zip(points, points[1:]):
        if before[what] <= value <= after[what]:
            share = (value - before[what]) / (after[what] - before[what])
            return before["loss"] + share * (after["loss"] - before["loss"])
    return points[0 if value < points[0][what] else -1]["loss"]


def loss_until(points, what, value):
    """The mean loss over the last tenth of the way to `value`."""
    return statistics.mean(loss_at(points, what, value * (0.9 + part / 50)) for part in range(6))


def step_costs(eave, words, rounds):
    """Returns two dictionaries. By batch: CPU seconds of a step of a rank alone. By (batch, p): the ratio of a rank's
    CPU seconds among p ranks, exchange included, to those alone. Both are medians over `rounds`. Each time is the
    difference of two runs, which cancels the start and the end."""
    counts = (10, 40) if rounds == 1 else (40, 240)

    def seconds(ranks, batch):
        brief, lasting = (Timing(eave, ranks, [*words, "--batch", batch, "--lr", "0.001", "--epochs", "1000", "--max-steps", steps])
                          .cpu_seconds for steps in counts)
        return (lasting - brief) / (counts[1] - counts[0]) / ranks
    alone, ratios = {}, {}
    for _ in range(rounds):
        for batch, ranks in sorted({(batch_of(ranks), ranks) for _, batch_of in PLANS.values() for ranks in RANKS}):
            alone.setdefault(batch, []).append(seconds(1, batch))
            ratios.setdefault((batch, ranks), []).append(seconds(ranks, batch) / alone[batch][-1] if ranks > 1 else 1)
    return ({batch: statistics.median(each) for batch, each in alone.items()},
            {place: statistics.median(each) for place, each in ratios.items()})


def train(eave, ranks, plan, words, seeds):
    options, batch_of = PLANS[plan]
    words, batch = [*words, *options, "--epochs", "1"], batch_of(ranks)
    # The steps of a record line, so that it covers the same number of samples for any number of ranks.
    window = max((64 if len(seeds) > 1 else 8) * 32 // (ranks * batch), 1)
    trials = [Trial(eave, ranks, [*words, "--seed", seed], log_every=window) for seed in seeds]
    begun = Trial(eave, ranks, [*words, "--max-steps", FIRST], log_every=1)
    return {"plan": plan, "ranks": ranks, "batch": batch, "samples": trials[0].header["train_samples"],
            "steps": trials[0].steps[-1]["step"], "accuracy": [trial.accuracy for trial in trials],
            "wall_seconds": statistics.median(trial.steps[-1]["seconds"] for trial in trials),
            "begins": [line["loss"] for line in training_losses([begun])], "points": curve(trials),
            "curves": [curve([trial]) for trial in trials]}


def compare(rows, alone, ratios):
    """Adds to each row, for each seed, its losses after the same samples, steps and time, up to where every run goes. Chooses a
    loss that all runs reach, as the target."""
    for row in rows:
        row["step_alone_seconds"] = alone[row["batch"]]
        row["step_seconds"] = alone[row["batch"]] * ratios[row["batch"], row["ranks"]]
        for point in (point for points in (row["points"], *row["curves"]) for point in points):
            point["seconds"] = point["steps"] * row["step_seconds"]
    common = {what: min(row["points"][-1][what] for row in rows) for what in ("samples", "steps", "seconds")}
    target = math.ceil(20 * max(min(point["loss"] for point in points) for row in rows for points in row["curves"])) / 20
    places = {"a quarter of the samples": ("samples", common["samples"] / 4),
              **{f"the same {what}": (what, value) for what, value in common.items()}}
    for row in rows:
        row["losses"] = {name: [loss_until(points, *place) for points in row["curves"]] for name, place in places.items()}
    return {"target": target, "common": common}


def begin_alike(losses, of_one):
    return len(losses) == len(of_one) == FIRST and all(abs(a - b) <= ROUNDING * b for a, b in zip(losses, of_one, strict=True))


def mean_loss(row):
    return statistics.mean(row["losses"]["the same samples"])


def check(rows):
    for row in rows:
        name, one = f"{row['plan']}, {row['ranks']} ranks", rows[0]
        if row["steps"] != math.ceil(row["samples"] / (row["ranks"] * row["batch"])):
            yield f"{name}: {row['steps']} steps for {row['samples']} samples"
        if row["ranks"] > 1 and mean_loss(row) <= mean_loss(one) / row["ranks"]:
            yield f"{name}: the loss is divided by the ranks"
        if "in all" in row["plan"] and not begin_alike(row["begins"], one["begins"]):
            yield f"{name}: begins with losses of {row['begins']}, one rank with {one['begins']}"


def judge(rows, costs, seeds):
    found = {"samples": rows[0]["samples"], "seeds": seeds, "rows": rows, "compared": {}, "wrong": []}
    for plan in PLANS:
        of_plan = [row for row in rows if row["plan"] == plan]
        found["compared"][plan] = compare(of_plan, *costs)
        found["wrong"] += check(of_plan)
    return found


def answer(eave, quick):
    words, seeds = [*data_words(quick), *WORDS], (1,) if quick else (1, 2, 3)
    rows = [train(eave, ranks, plan, words, seeds) for plan in PLANS for ranks in RANKS]
    return judge(rows, step_costs(eave, words, 1 if quick else 5), seeds)


def verdicts(eave, found):
    """For each plan and column of its table: the intervals of all ranks, and what is said of them."""
    said = []
    for plan, compared in found["compared"].items():
        rows = [row for row in found["rows"] if row["plan"] == plan]
        columns = {name: ({name_of(row): row["losses"][name] for row in rows}, run_files.TRAINING_LOSS) for name in rows[0]["losses"]}
        columns["accuracy"] = {name_of(row): row["accuracy"] for row in rows}, run_files.ACCURACY
        said += [{"plan": plan, "column": name, **judged.judge(eave, cases, TEST_SAMPLES, metric)}
                 for name, (cases, metric) in columns.items()]
        said.append({"plan": plan, "column": "seconds", **seconds_to_target(eave, rows, compared["target"])})
    return said


def name_of(row):
    return f"p = {row['ranks']}"


def seconds_to_target(eave, rows, target):
    """All rows are one cell of the report, whose time is that of a core for each rank. Points lie in the middle of some steps, so the
    report counts half steps."""
    def of_report(point):
        return {"step": round(2 * point["steps"]), "samples": round(point["samples"]), "loss": point["loss"], "score": point["loss"]}
    cases = [{"name": name_of(row), "ranks": 1, "seconds": row["step_seconds"] / 2, "bytes_per_rank": 0,
              "curves": [list(map(of_report, points)) for points in row["curves"]]} for row in rows]
    answer = clocked.report(eave, cases, {"target": target, "test_labels": TEST_SAMPLES, "train_samples": rows[0]["samples"],
                                          "batch": max(row["ranks"] * row["batch"] for row in rows)}, run_files.TRAINING_LOSS)
    return {"sentence": judged.plain(answer["fastest"]),
            "cases": {name: values["seconds_to_target"] for name, values in answer["cases"].items()}}


def shown(found, row):
    """The row's losses, seconds and accuracy with their intervals."""
    of = {each["column"]: each["cases"][name_of(row)] for each in found["judged"] if each["plan"] == row["plan"]}
    return [*(table.bounded(of[name], 3) for name in row["losses"]), clocked.text(of["seconds"], 2) + " s",
            table.interval(of["accuracy"], row["accuracy"])]


def show(found):
    print(f"One pass over {found['samples']} samples, mean over {len(found['seeds'])} seeds (95 % interval); time: with a core for "
          "each rank\n")
    for plan, compared in found["compared"].items():
        rows = [row for row in found["rows"] if row["plan"] == plan]
        print(f"{plan}: training loss after the same samples ({compared['common']['samples']:.0f}), steps "
              f"({compared['common']['steps']:.0f}) and time ({compared['common']['seconds']:.2f} s)\n")
        table.show(["ranks", "steps", "ms a step (alone)", *rows[0]["losses"], f"time to a loss of {compared['target']:g}",
                    "test accuracy in %", "the pass here"],
                   [[str(row["ranks"]), str(row["steps"]), f"{1e3 * row['step_seconds']:.2f} ({1e3 * row['step_alone_seconds']:.2f})",
                     *shown(found, row), f"{row['wall_seconds']:.1f} s"] for row in rows])
        for each in (each for each in found["judged"] if each["plan"] == plan):
            print(f"- {each['column']}: {each['sentence']}")
        print()


def draw(found):
    plan = next(iter(PLANS))
    rows = [row for row in found["rows"] if row["plan"] == plan]
    return picture.curves(f"Training loss of one pass: {plan} after a warm-up", [f"p = {row['ranks']}" for row in rows],
                          [(along, [[(point[what], point["loss"]) for point in row["points"]] for row in rows])
                           for what, along in (("samples", "samples"), ("steps", "steps"), ("seconds", "seconds, a core for each rank"))])
