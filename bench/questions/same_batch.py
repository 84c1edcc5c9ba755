"""Is averaging over 2 GPUs the same as one GPU with twice the batch?

p ranks and one rank train with the same total batch of 64, from the same parameters, on the same samples in the same
order. For usual models and options this measures how far their parameters are apart at the end, |x_p - x_1| / |x_1|.
"""
import statistics

import picture
import table
from trial import LITTLE_DATA, Timing, Trial, data_words, distance

RANKS = (2, 4, 8)
WORDS = ["--batch", "64", "--batch-means", "total", "--lr", "0.05", "--momentum", "0.9", "--evaluate-every", "0", "--flip"]
PLAIN = "conv2d 8 5x5; relu; max_pool 2; conv2d 16 5x5; relu; max_pool 2; flatten; dense 64; relu; dropout 0.5; dense classes"
NORMS = ("conv2d 8 5x5; batch_norm; relu; max_pool 2; conv2d 16 5x5; batch_norm; relu; max_pool 2; flatten; dense 64; relu; "
         "dropout 0.5; dense classes")
# (name, options, whether the ranks must compute the same bits as one rank)
CASES = [
    ("dropout, flipped images", ["--model", PLAIN], False),
    ("the same, --reproducible", ["--model", PLAIN, "--reproducible"], True),
    ("batch norm, each rank's own", ["--model", NORMS], False),
    ("batch norm, --batch-norm sync", ["--model", NORMS, "--batch-norm", "sync"], False),
    ("batch norm, --reproducible", ["--model", NORMS, "--reproducible"], True),
    ("--sampling whole: each rank its own order", ["--model", PLAIN, "--sampling", "whole"], False),
]
# Bound of the distance that rounding makes in 20 steps: 2e-4 if a relu switches off a little sooner. Another order of
# samples makes 0.2.
ROUNDING = 1e-3
STEPS = (20, 100, 400)
# With batch norm, rounding grows faster, to 7e-3 in 20 steps. The check therefore judges the moments after 2 steps.
FIRST_STEPS, FIRST_ROUNDING = 2, 1e-5
COLOURED = ["--synthetic-size", "32", "--synthetic-channels", "3", "--crop", "28"]
COST_MODELS = ("cifar7", "lenet", "mlp")
RESNET = ["--model", "resnet20", "--synthetic-size", "32", "--synthetic-channels", "3", "--batch", "32", "--lr", "0.05"]


def compare(eave, words, steps):
    words = [*words, *WORDS, "--epochs", "1000", "--max-steps", steps]
    one = Trial(eave, 1, words)
    trials = [Trial(eave, ranks, words) for ranks in RANKS]
    return {"steps": steps, "distance": [distance(trial.parameters, one.parameters) for trial in trials],
            "accuracy": [one.accuracy] + [trial.accuracy for trial in trials]}


def cost(eave, model, most_ranks, steps, rounds):
    """By number of ranks: CPU seconds of a run with --reproducible divided by those without. The difference of two runs
    cancels start and end."""
    ratios = {}
    words = [*LITTLE_DATA, *(COLOURED if model == "cifar7" else []), "--model", model, *WORDS, "--epochs", "1000"]
    for ranks in (each for each in (1, *RANKS) if each <= most_ranks):
        def seconds(more):
            lasting, brief = (Timing(eave, ranks, [*words, "--max-steps", count, *more]).cpu_seconds for count in (steps, steps // 5))
            return lasting - brief
        ratios[ranks] = statistics.median(seconds(["--reproducible"]) / seconds([]) for _ in range(rounds))
    return ratios


def sync_cost(eave, steps, rounds):
    """CPU time and time of a step of resnet20 with --batch-norm sync divided by those without, on 2 ranks with batch 32
    each. The difference of two runs cancels start and end."""
    words = [*LITTLE_DATA, *RESNET, "--evaluate-every", "0", "--epochs", "1000"]
    def step(more):
        lasting, brief = (Timing(eave, 2, [*words, "--max-steps", count, *more]) for count in (steps, steps // 5))
        return lasting.cpu_seconds - brief.cpu_seconds, lasting.summary["seconds"] - brief.summary["seconds"]
    pairs = [(step(["--batch-norm", "sync"]), step([])) for _ in range(rounds)]
    return {what: statistics.median(sync[i] / own[i] for sync, own in pairs) for i, what in enumerate(("CPU time", "time"))}


def check(row, is_same):
    """Checks that must hold on any machine: equal bits where they are promised, and elsewhere no more than rounding as
    long as it has not grown. Yields a text for each that fails."""
    name, steps, found = row["what"], row["steps"], row["distance"]
    if is_same and any(found):
        yield f"{name}: parameters are not the same bits on {RANKS} ranks: {found}"
    if name == CASES[0][0] and steps == STEPS[0] and max(found) > ROUNDING:
        yield f"{name}: ranks are {found} from one rank, which is not rounding"
    if "sync" in name and steps == FIRST_STEPS and max(found) > FIRST_ROUNDING:
        yield f"{name}: ranks are {found} from one rank, which is not rounding"
    if "each rank's own" in name and min(found) < FIRST_ROUNDING:
        yield f"{name}: as near as with the moments of all; nothing is told apart"
    if name == CASES[-1][0] and min(found) < ROUNDING:
        yield f"{name}: as near as with the same order; nothing is told apart"


def answer(eave, quick):
    rows, wrong = [], []
    for name, words, is_same in CASES:
        first = [FIRST_STEPS] if name.startswith("batch norm") and not is_same else []
        for steps in [*first, *STEPS[:1 if quick else None]]:
            row = {"what": name, **compare(eave, [*data_words(quick), *words], steps)}
            rows.append(row)
            wrong += check(row, is_same)
    costs = {model: cost(eave, model, *((2, 20, 1) if quick else (max(RANKS), 50, 3))) for model in COST_MODELS[:1 if quick else None]}
    of_sync = sync_cost(eave, *((5, 1) if quick else (30, 3)))
    return {"ranks": RANKS, "rows": rows, "cost": costs, "sync_cost": of_sync, "wrong": wrong}


def show(found):
    print("With a batch of 64 in all: distance from one rank's parameters, and test accuracy\n")
    table.show(["", "steps", *(f"{ranks} ranks" for ranks in found["ranks"]), "accuracy on 1, 2, 4, 8"],
               [[row["what"], str(row["steps"]), *("0" if each == 0 else f"{each:.1e}" for each in row["distance"]),
                 ", ".join(f"{100 * each:.1f}" for each in row["accuracy"]) + " %"] for row in found["rows"]])
    print("CPU time of a step with --reproducible over that without\n")
    table.show(["model", *(f"{ranks} rank" + "s" * (int(ranks) > 1) for ranks in next(iter(found["cost"].values())))],
               [[model, *(f"{each:.2f}" for each in of.values())] for model, of in found["cost"].items()])
    print("A step of resnet20 on 2 ranks with --batch-norm sync over one without\n")
    table.show(list(found["sync_cost"]), [[f"{each:.2f}" for each in found["sync_cost"].values()]])


def draw(found):
    return picture.dots("Distance from one rank's parameters, |x_p - x_1| / |x_1| (left edge: 0)",
                      picture.Scale(1e-8, 1, True), [f"{ranks} ranks" for ranks in found["ranks"]],
                      [(f"{row['what']}, {row['steps']} steps", row["distance"]) for row in found["rows"]])
