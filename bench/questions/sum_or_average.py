"""Sum or average?

4 ranks with 8 samples each reduce gradients in every way that eave knows (--reduction, --loss-reduction), with the
learning rate of one rank and scaled by the ranks. The answer says which rate each way has in force, and its accuracy.
"""
import judged
import picture
import table
from trial import NETWORK, Trial, data_words, distance

SEEDS = (1, 2, 3)
RANKS, BATCH, RATE = 4, 8, 0.005  # the total batch divides the data, so the last batch is not smaller
WORDS = ["--model", NETWORK, "--batch", BATCH, "--momentum", "0.9", "--evaluate-every", "0", "--on-nonfinite", "abort"]
# (--reduction over ranks, --loss-reduction of a rank's losses, rate given, rate in force; both in units of one rank's)
CASES = [
    ("average", "weighted", "mean", 1, 1),
    ("average, rate x p", "weighted", "mean", RANKS, RANKS),
    ("sum", "sum", "mean", 1, RANKS),
    ("sum, rate / p", "sum", "mean", 1 / RANKS, 1),
    ("sum, rate x p", "sum", "mean", RANKS, RANKS * RANKS),
    ("average of summed losses", "mean", "sum", 1, BATCH),
    ("average of summed losses, rate / n", "mean", "sum", 1 / BATCH, 1),
    ("sum of summed losses", "sum", "sum", 1, RANKS * BATCH),
    ("sum of summed losses, rate / (p n)", "sum", "sum", 1 / (RANKS * BATCH), 1),
]


def answer(eave, quick):
    steps, seeds = (20, SEEDS[:1]) if quick else (1500, SEEDS)
    rows, references, wrong = [], {}, []
    for name, reduction, loss, given, in_force in CASES:
        row = {"what": name, "reduction": reduction, "loss_reduction": loss, "rate": RATE * given, "rate_in_force": RATE * in_force,
               "accuracy": [], "distance": []}
        for seed in seeds:
            trial = Trial(eave, RANKS, [*data_words(quick), *WORDS, "--reduction", reduction, "--loss-reduction", loss,
                                        "--lr", RATE * given, "--epochs", "1000", "--max-steps", steps, "--seed", seed])
            row["accuracy"].append(trial.accuracy)
            if trial.diverged:
                continue
            reference = references.setdefault((in_force, seed), trial)
            row["distance"].append(distance(trial.parameters, reference.parameters))
            # Powers of two divide out exactly, the sum included.
            if row["distance"][-1] > 0:
                wrong.append(f"{name}: not the bits of the average with {RATE * in_force:g}, but {row['distance'][-1]:.1e} from it")
        rows.append(row)
    return {"ranks": RANKS, "batch": BATCH, "model": NETWORK, "steps": steps, "seeds": seeds, "rows": rows,
            "test_samples": trial.header["test_samples"], "wrong": wrong}


def verdicts(eave, found):
    """Of the first case of each rate in force; the others with this rate have its bits."""
    first = {}
    for row in found["rows"]:
        first.setdefault(row["rate_in_force"], row)
    return judged.judge(eave, {row["what"]: row["accuracy"] for row in first.values()}, found["test_samples"])


def show(found):
    print(f"{found['ranks']} ranks with {found['batch']} samples each, {found['steps']} steps, seeds {found['seeds']}\n")
    same = {row["rate_in_force"]: found["judged"]["cases"].get(row["what"]) for row in reversed(found["rows"])}
    table.show(["", "`--reduction`", "`--loss-reduction`", "`--lr`", "acts as", "test accuracy in % (95 % interval)"],
               [[row["what"], row["reduction"], row["loss_reduction"], f"{row['rate']:g}", f"{row['rate_in_force']:g}",
                 table.interval(same[row["rate_in_force"]], row["accuracy"])] for row in found["rows"]])
    print(found["judged"]["sentence"])


def draw(found):
    return picture.dots(f"Test accuracy after {found['steps']} steps, by how gradients and losses are reduced",
                      picture.Scale(0, 1), [f"seed {seed}" for seed in found["seeds"]],
                      [(f"{row['what']} (acts as {row['rate_in_force']:g})", row["accuracy"]) for row in found["rows"]])
