"""More GPUs, bigger batches or more data?

A network of seven layers learns ten classes of photographs from a folder of 5,000 or 50,000 images, with batches of 32,
128 and 512 on each of 1, 2 and 4 ranks. Each rank computes the same number of samples in every case. If ranks have
their own cores, all cases take about the same time; the table shows the time of a sample for each batch. The learning
rate grows with the root of the batch.
"""
import pathlib
import tempfile

import judged
import photographs
import picture
import table
from trial import Trial

OPTIONS = ("data_dir",)
# cnn7 with a quarter of its channels.
NETWORK = ("conv2d 16 3x3; relu; conv2d 16 3x3; relu; max_pool 2; conv2d 32 3x3; relu; conv2d 32 3x3; relu; max_pool 2; "
           "flatten; dense 64; relu; dropout 0.5; dense 64; relu; dense classes")
SEEDS = (1, 2, 3)
TEST_SAMPLES = 2000
LEARNT = 0.3  # guessing gets 0.1, which with 400 test photographs is 13 standard deviations lower


class Experiment:
    def __init__(self, eave, quick, folder):
        self.eave, self.quick, self.folder = eave, quick, folder
        self.sizes, self.batches, self.ranks = ((100, 400), (32, 64), (1, 2)) if quick else ((5000, 50000), (32, 128, 512), (1, 2, 4))
        self.of_rank, self.seeds = (1920, (1,)) if quick else (25000, SEEDS)

    def trials(self, size, batch, ranks):
        samples = self.of_rank * ranks
        words = ["--data", "image-folder", "--data-dir", self.folder / str(size), "--model", NETWORK, "--pad", 4, "--crop", 32,
                 "--flip", "on", "--batch", batch, "--lr", f"{0.01 * (batch / 32) ** 0.5:.5f}", "--lr-scaling", "sqrt",
                 "--warmup-epochs", f"{0.1 * samples / size:.5f}", "--epochs", f"{samples / size:.5f}", "--evaluate-every", 0]
        return [Trial(self.eave, ranks, [*words, "--seed", seed]) for seed in self.seeds]

    def row(self, size, batch):
        by_ranks = [self.trials(size, batch, ranks) for ranks in self.ranks]
        return {"photographs": size, "batch": batch,
                "accuracy": [[trial.accuracy for trial in trials] for trials in by_ranks],
                "ms_of_a_sample": 1e3 * seconds_of("computing", by_ranks[0]) / self.of_rank,
                "waited_for_images": [seconds_of("loading", trials) / seconds_of("computing", trials) for trials in by_ranks]}


def seconds_of(what, trials):
    """The seconds of rank 0's steps; the minimum over the runs, because other programs can only add time."""
    return min(sum(line[what] for line in trial.steps if line["rank"] == 0) for trial in trials)


def answer(eave, quick, data_dir):
    with tempfile.TemporaryDirectory() as place:
        experiment = Experiment(eave, quick, Trial.kept / "photographs" if Trial.kept else pathlib.Path(place))
        for size in experiment.sizes:
            if not (experiment.folder / str(size)).exists():
                photographs.make(experiment.folder / str(size), size, 400 if quick else TEST_SAMPLES, data_dir)
        rows = [experiment.row(size, batch) for size in experiment.sizes for batch in experiment.batches]
    return {"ranks": experiment.ranks, "seeds": experiment.seeds, "samples_of_each_rank": experiment.of_rank,
            "photographs_of": "CIFAR-10" if data_dir else "patterns", "rows": rows, "wrong": list(wrongs(rows))}


def verdicts(eave, found):
    """What is said of the ranks for each amount of data and batch, then of the batches, then of the amounts of data."""
    said = []
    for varied in (2, 1, 0):
        groups = {}
        for row in found["rows"]:
            for ranks, accuracies in zip(found["ranks"], row["accuracy"]):
                words = [f"{row['photographs']} photographs", f"batch {row['batch']}", f"p = {ranks}"]
                case = words.pop(varied)
                groups.setdefault(", ".join(words), {})[case] = accuracies
        said += [{"place": place, **judged.judge(eave, cases, TEST_SAMPLES)} for place, cases in groups.items()]
    return said


def wrongs(rows):
    """Checks that training learns from the photographs, whatever the figures. Yields a text if it does not."""
    best = max(max(each or 0 for each in of_ranks) for row in rows for of_ranks in row["accuracy"])
    if best < LEARNT:
        yield f"nothing is learnt: at most {100 * best:.0f} % of ten classes"


def show(found):
    print(f"Test accuracy in %, mean over {len(found['seeds'])} seeds (95 % interval), after {found['samples_of_each_rank']:,} samples "
          f"of each rank; {found['photographs_of']}\n")
    intervals = {(each["place"], case): values for each in found["judged"] for case, values in each["cases"].items()}
    table.show(["photographs", "batch of a rank", *(f"p = {p}" for p in found["ranks"]), "ms a sample, p = 1", "waited for images"],
               [[f"{row['photographs']:,}", str(row["batch"]),
                 *(table.interval(intervals.get((f"{row['photographs']} photographs, batch {row['batch']}", f"p = {p}")), each)
                   for p, each in zip(found["ranks"], row["accuracy"])),
                 f"{row['ms_of_a_sample']:.2f}", ", ".join(f"{100 * share:.1f} %" for share in row["waited_for_images"])]
                for row in found["rows"]])
    for each in found["judged"]:
        print(f"- {each['place']}: {each['sentence']}")


def draw(found):
    return picture.dots("Test accuracy after the same time", picture.Scale(0, 0.8), [f"p = {p}" for p in found["ranks"]],
                        [(f"{row['photographs']:,} photographs, batch {row['batch']}", [table.mean(each) for each in row["accuracy"]])
                         for row in found["rows"]])
