"""Sum or average?

4 ranks with 8 samples each reduce gradients in every way that eave knows (--reduction, --loss-reduction), with the
learning rate of one rank and scaled by the ranks. The answer says which rate each way has in force, and its accuracy.
"""
import picture
import table
from trial import NETWORK, Trial, data_words, distance

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
    steps = 20 if quick else 1500
    rows, references, wrong = [], {}, []
    for name, reduction, loss, given, in_force in CASES:
        trial = Trial(eave, RANKS, [*data_words(quick), *WORDS, "--reduction", reduction, "--loss-reduction", loss,
                                    "--lr", RATE * given, "--epochs", "1000", "--max-steps", steps])
        row = {"what": name, "reduction": reduction, "loss_reduction": loss, "rate": RATE * given,
               "rate_in_force": RATE * in_force, "accuracy": trial.accuracy}
        if not trial.diverged:
            reference = references.setdefault(in_force, trial)
            row["distance"] = distance(trial.parameters, reference.parameters)
            # Powers of two divide out exactly, the sum included.
            if row["distance"] > 0:
                wrong.append(f"{name}: not the bits of the average with {RATE * in_force:g}, but {row['distance']:.1e} from it")
        rows.append(row)
    return {"ranks": RANKS, "batch": BATCH, "model": NETWORK, "steps": steps, "rows": rows, "wrong": wrong}


def show(found):
    print(f"{found['ranks']} ranks with {found['batch']} samples each, {found['steps']} steps\n")
    table.show(["", "`--reduction`", "`--loss-reduction`", "`--lr`", "acts as", "test accuracy"],
               [[row["what"], row["reduction"], row["loss_reduction"], f"{row['rate']:g}", f"{row['rate_in_force']:g}",
                 "diverged" if row["accuracy"] is None else f"{100 * row['accuracy']:.1f} %"] for row in found["rows"]])


def draw(found):
    return picture.dots(f"Test accuracy after {found['steps']} steps, by how gradients and losses are reduced",
                      picture.Scale(0, 1), ["test accuracy"],
                      [(f"{row['what']} (acts as {row['rate_in_force']:g})", [row["accuracy"]]) for row in found["rows"]])
