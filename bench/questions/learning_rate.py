"""How should the learning rate follow the number of workers?

p ranks take 32 samples each in every step, for one pass over the data, so p ranks make p times fewer steps. Four rules
scale the rate that is best for one rank: not at all, by the root of p, by p, and by p after a warm-up of a tenth of the
pass. The answer says from which p on the test accuracy falls under each rule, with plain SGD and with momentum.
"""
import statistics

import judged
import picture
import table
from trial import NETWORK, Trial, data_words

RANKS = (2, 4, 8, 16, 32)
TEST_SAMPLES = 10000
WORDS = ["--model", NETWORK, "--batch", "32", "--evaluate-every", "0", "--on-nonfinite", "abort"]
OPTIMIZERS = {"plain SGD": (["--momentum", "0"], (0.02, 0.05, 0.1, 0.2, 0.4)),
              "momentum 0.9": (["--momentum", "0.9"], (0.005, 0.01, 0.02, 0.05, 0.1))}
RULES = {"rate as it is": ["--lr-scaling", "none"], "times root of p": ["--lr-scaling", "sqrt"],
         "times p": ["--lr-scaling", "linear"],
         "times p, warm-up": ["--lr-scaling", "linear", "--warmup-epochs", "0.1"]}


class Grid:
    def __init__(self, eave, quick):
        self.eave, self.seeds = eave, (1,) if quick else (1, 2, 3)
        self.words = [*data_words(quick), *WORDS, "--epochs", "1"]

    def accuracies(self, ranks, words):
        """The test accuracy for each seed; None if the run diverged."""
        trials = [Trial(self.eave, ranks, [*self.words, *words, "--seed", seed]) for seed in self.seeds]
        return [trial.accuracy for trial in trials]


def worth(accuracies):
    return statistics.mean(each or 0 for each in accuracies)


def answer(eave, quick):
    grid, rows, wrong = Grid(eave, quick), [], []
    ranks = RANKS[:2] if quick else RANKS
    for name, (momentum, rates) in OPTIMIZERS.items():
        of_one = {rate: grid.accuracies(1, [*momentum, "--lr", rate]) for rate in (rates[1:3] if quick else rates)}
        best = max(of_one, key=lambda rate: worth(of_one[rate]))
        if not quick and best in (rates[0], rates[-1]):
            wrong.append(f"{name}: the best rate of one rank, {best:g}, is at the edge of {rates}")
        for rule, words in RULES.items():
            of_ranks = [grid.accuracies(p, [*momentum, *words, "--lr", best]) for p in ranks]
            rows.append({"optimizer": name, "rate": best, "of_one": {str(rate): each for rate, each in of_one.items()}, "rule": rule,
                         "accuracy": [of_one[best], *of_ranks]})
        alike = [row["accuracy"][1] for row in rows[-len(RULES):]]
        if all(each == alike[0] for each in alike):
            wrong.append(f"{name}: no rule has any effect on {ranks[0]} ranks")
    return {"ranks": (1, *ranks), "seeds": grid.seeds, "rows": rows, "wrong": wrong}


def verdicts(eave, found):
    """For each optimizer and number of ranks: what is said of the rules."""
    return [{"optimizer": name, "ranks": ranks,
             **judged.judge(eave, {row["rule"]: row["accuracy"][place] for row in found["rows"] if row["optimizer"] == name},
                            TEST_SAMPLES)}
            for name in OPTIMIZERS for place, ranks in enumerate(found["ranks"]) if ranks > 1]


def show(found):
    print(f"Test accuracy in %, mean over {len(found['seeds'])} seeds (95 % interval), one pass in all, batch 32 on each rank\n")
    judged_of = {(each["optimizer"], each["ranks"], rule): values for each in found["judged"] for rule, values in each["cases"].items()}
    table.show(["optimizer, rate of one rank", "rule", *(f"p = {p}" for p in found["ranks"])],
               [[f"{row['optimizer']}, {row['rate']:g}", row["rule"], *(
                   table.interval(judged_of.get((row["optimizer"], ranks, row["rule"])), accuracies)
                   for ranks, accuracies in zip(found["ranks"], row["accuracy"]))] for row in found["rows"]])
    for each in found["judged"]:
        print(f"- {each['optimizer']}, p = {each['ranks']}: {each['sentence']}")


def draw(found):
    return picture.dots("Test accuracy after one pass, batch 32 on each of p ranks", picture.Scale(0, 1),
                      [f"p = {p}" for p in found["ranks"]],
                      [(f"{row['optimizer']}, {row['rule']}", [table.mean(each) for each in row["accuracy"]])
                       for row in found["rows"]])
