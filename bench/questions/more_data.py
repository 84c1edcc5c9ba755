"""More GPUs, bigger batches or more data?

A network of seven layers learns ten classes of photographs from a folder of images: 5,000 or 50,000 of them, batches of
32, 128 and 512 on each of 1, 2 and 4 ranks. The time is the same for all: each rank computes as many samples, which takes as
long whatever the batch where a core computes (a GPU likes large ones better). The rate grows with the root of the batch.
"""
import tempfile

import photographs
import picture
import table
from trial import Trial

OPTIONS = ("data_dir",)
# cnn7 with a quarter of its channels.
NETWORK = ("conv2d 16 3x3; relu; conv2d 16 3x3; relu; max_pool 2; conv2d 32 3x3; relu; conv2d 32 3x3; relu; max_pool 2; "
           "flatten; dense 64; relu; dropout 0.5; dense 64; relu; dense classes")
SEEDS = (1, 2)
LEARNT = 0.3  # guesses get 0.1, with 400 photographs in the test 13 standard deviations below


class Experiment:
    def __init__(self, eave, quick, folder):
        self.eave, self.quick, self.folder = eave, quick, folder
        self.sizes, self.batches, self.ranks = ((100, 400), (32, 64), (1, 2)) if quick else ((5000, 50000), (32, 128, 512), (1, 2, 4))
        self.of_rank, self.seeds = (1920, (1,)) if quick else (25000, SEEDS)

    def accuracies(self, size, batch, ranks):
        samples = self.of_rank * ranks
        words = ["--data", "image-folder", "--data-dir", self.folder / str(size), "--model", NETWORK, "--pad", 4, "--crop", 32,
                 "--flip", "on", "--batch", batch, "--lr", f"{0.01 * (batch / 32) ** 0.5:.5f}", "--lr-scaling", "sqrt",
                 "--warmup-epochs", f"{0.1 * samples / size:.5f}", "--epochs", f"{samples / size:.5f}", "--evaluate-every", 0]
        trials = [Trial(self.eave, ranks, [*words, "--seed", seed]) for seed in self.seeds]
        return [None if trial.diverged else trial.accuracy for trial in trials]


def answer(eave, quick, data_dir):
    with tempfile.TemporaryDirectory() as place:
        experiment = Experiment(eave, quick, photographs.pathlib.Path(place))
        for size in experiment.sizes:
            photographs.make(experiment.folder / str(size), size, 400 if quick else 2000, data_dir)
        rows = [{"photographs": size, "batch": batch, "accuracy": [experiment.accuracies(size, batch, p) for p in experiment.ranks]}
                for size in experiment.sizes for batch in experiment.batches]
    return {"ranks": experiment.ranks, "seeds": experiment.seeds, "samples_of_each_rank": experiment.of_rank,
            "photographs_of": "CIFAR-10" if data_dir else "patterns", "rows": rows, "wrong": list(wrongs(rows))}


def wrongs(rows):
    """What must hold whatever the figures: training reads the photographs."""
    best = max(max(each or 0 for each in of_ranks) for row in rows for of_ranks in row["accuracy"])
    if best < LEARNT:
        yield f"nothing is learnt: at most {100 * best:.0f} % of ten classes"


def mean(accuracies):
    return None if None in accuracies else sum(accuracies) / len(accuracies)


def describe(accuracies):
    return "diverged" if None in accuracies else f"{100 * mean(accuracies):.1f} ({100 * min(accuracies):.1f} - {100 * max(accuracies):.1f})"


def show(found):
    print(f"Test accuracy in %, mean over {len(found['seeds'])} seeds (and range), after {found['samples_of_each_rank']:,} samples of "
          f"each rank; {found['photographs_of']}\n")
    table.show(["photographs", "batch of a rank", *(f"p = {p}" for p in found["ranks"])],
               [[f"{row['photographs']:,}", str(row["batch"]), *map(describe, row["accuracy"])] for row in found["rows"]])


def draw(found):
    return picture.dots("Test accuracy after the same time", picture.Scale(0, 0.8), [f"p = {p}" for p in found["ranks"]],
                        [(f"{row['photographs']:,} photographs, batch {row['batch']}", [mean(each) for each in row["accuracy"]])
                         for row in found["rows"]])
