"""How much faster on 1, 2, 4, 8?

Cases: a small and a large model; a slow and a fast link between hosts; a batch that grows with the ranks (32 on each)
and one that is divided among them (32 in all). For each this finds samples per second relative to one rank, with each
rank on its own host: as `eave plan` predicts from a run of one rank at that batch, and for 2 ranks as measured here on
links that eave slows down. It also measures the test accuracy after one pass, with ranks as threads, and the effect of
one worker that is four times as slow.
"""
import json
import pathlib
import tempfile

import eave_runs
import judged
import picture
import table
from trial import NETWORK, Timing, Trial, data_words

RANKS = (1, 2, 4, 8)
BATCH = 32
NETWORKS = {"small": NETWORK, "large": "mlp"}
LINKS = {"100 Mbit/s": (100, "100us"), "10 Gbit/s": (10000, "50us")}  # Mbit/s, delay
PAYLOAD = 0.93  # as in eave plan (plan_network.h); links that eave slows down have no frames
METHODS = {"allreduce": [], "easgd": ["--tau", "10"]}
BATCHES = {"32 each": lambda ranks: BATCH, "32 in all": lambda ranks: BATCH // ranks}
TEST_SAMPLES = 10000
RATIO = {"name": "speed_up", "better": "higher"}
SLOW = {"allreduce": [], "easgd": ["--tau", "10"], "easgd-async": ["--tau", "10"]}


class Experiment:
    def __init__(self, eave, quick):
        self.eave, self.seeds, self.steps = eave, (1,) if quick else (1, 2, 3), 60 if quick else 1000
        self.networks = {"small": NETWORK} if quick else NETWORKS
        self.words = [*data_words(quick), "--evaluate-every", "0", "--lr", "0.01"]
        self.scaled = ["--lr-scaling", "sqrt", "--warmup-epochs", "0.1"]  # question 3

    def trial(self, ranks, network, batch, words, log_every=1000, kind=Trial):
        return kind(self.eave, ranks, [*self.words, "--model", network, "--batch", batch, *words], log_every)

    def plans(self, network, batch):
        """Predicted samples per second by link, method and number of ranks, all from one run of one rank."""
        with tempfile.TemporaryDirectory() as folder:
            eave_runs.run_command([self.eave, "train", *self.words, "--model", network, "--batch", batch, "--max-steps", self.steps,
                                   "--epochs", 1000, "--checkpoint", "off", "--progress", "off", "--run-dir", f"{folder}/run"])
            return {link: self.plan(folder, *words) for link, words in LINKS.items()}

    def plan(self, folder, rate, delay):
        eave_runs.run_command([self.eave, "plan", f"{folder}/run", "--ranks", ",".join(map(str, RANKS)), "--ranks-per-host", 1,
                               "--communicators", ",".join(METHODS), "--tau", 10, "--network-rate", f"{rate}mbit",
                               "--network-delay", delay, "--json", f"{folder}/plan.json"])
        plans = json.loads(pathlib.Path(folder, "plan.json").read_text())["plans"]
        return {each["communicator"]: {row["ranks"]: row["samples_per_second"] for row in each["rows"]} for each in plans}

    def measure(self, network, batch, method, rate, delay):
        """Samples per second of 2 ranks divided by those of 1 rank, both measured one after the other for each seed."""
        steps = ["--max-steps", self.steps if network == NETWORK else self.steps // 10, "--epochs", 1000]
        link = ["--shape-rate", f"{PAYLOAD * rate:g}mbit", "--shape-delay", delay, "--communicator", method, *METHODS[method]]

        def speed(ranks, batch_of_rank, seed, words):
            words = [*steps, "--seed", seed, *words]
            return self.trial(ranks, network, batch_of_rank, words, kind=Timing).summary["samples_per_second"]
        return [speed(2, batch, seed, link) / speed(1, BATCH, seed, []) for seed in self.seeds]

    def accuracy(self, ranks, network, batch, method):
        # Only allreduce with 32 samples on each rank scales its rate, because its gradient is that of p batches. An
        # elastic worker steps by its own gradient.
        words = self.scaled if method == "allreduce" and batch == BATCH else []
        return [self.trial(ranks, network, batch, ["--epochs", 1, *words, "--communicator", method, *METHODS[method],
                                                   "--seed", seed]).accuracy for seed in self.seeds]

    def rows(self, name, batches):
        network, batch_of = self.networks[name], BATCHES[batches]
        plans = {batch: self.plans(network, batch) for batch in dict.fromkeys(batch_of(p) for p in RANKS)}
        for method in METHODS:
            speed = {link: [plans[batch_of(p)][link][method][p] / plans[BATCH][link][method][1] for p in RANKS] for link in LINKS}
            measured = {link: self.measure(network, batch_of(2), method, *LINKS[link]) for link in LINKS}
            yield {"network": name, "batches": batches, "method": method, "speed_up": speed, "measured_on_2": measured,
                   "accuracy": [self.accuracy(p, network, batch_of(p), method) for p in RANKS]}

    def slow_worker(self, method):
        """Steps per second of rank 0 if rank 1 is four times as slow, divided by those if it is not. The last tenth of
        the steps does not count, because all ranks meet at its end. Each speed is the best of three runs, because other
        programs may use the machine."""
        steps = min(self.steps, 300)
        words = ["--max-steps", steps, "--epochs", 1000, "--communicator", method, *SLOW[method]]
        usual, slow = [], []
        for _ in range(3):
            for speeds, more in ((usual, []), (slow, ["--slow-rank", "1:4x"])):
                lines = self.trial(2, NETWORK, BATCH, [*words, *more], log_every=steps // 10, kind=Timing).steps
                before_end = [line for line in lines if line["rank"] == 0][-2]
                speeds.append(before_end["step"] / before_end["seconds"])
        return max(slow) / max(usual)


def answer(eave, quick):
    experiment = Experiment(eave, quick)
    rows = [row for name in experiment.networks for batches in BATCHES for row in experiment.rows(name, batches)]
    slow = {method: experiment.slow_worker(method) for method in SLOW}
    return {"ranks": RANKS, "seeds": experiment.seeds, "rows": rows, "slow_worker": slow, "wrong": list(wrongs(rows, slow))}


def wrongs(rows, slow):
    """Checks that must hold whatever the figures. Yields a text for each that fails."""
    for row in rows:
        for link, speed in row["speed_up"].items():
            if row["batches"] == "32 each" and any(each > 1.01 * p for each, p in zip(speed, RANKS)):
                yield f"{row['method']} on {link}: more than p times as fast: {speed}"
        if row["speed_up"]["100 Mbit/s"][-1] > 1.2 * row["speed_up"]["10 Gbit/s"][-1]:
            yield f"{row['method']}: faster on the slower network"
    if slow["allreduce"] > 0.6:
        yield f"a rank that waits for one four times as slow keeps {slow['allreduce']:.2f} of its speed"
    if slow["easgd-async"] < slow["allreduce"]:
        yield f"an asynchronous worker waits for a slow one: {slow}"


def verdicts(eave, found):
    """The intervals of each measured speed, and what is said of the accuracies: of the ranks with one method, then of the methods with
    as many ranks."""
    said = [{"place": place_of(row, link), **judged.judge(eave, {"p = 2": speeds}, TEST_SAMPLES, RATIO)}
            for row in found["rows"] for link, speeds in row["measured_on_2"].items()]
    by_ranks, by_method = {}, {}
    for row in found["rows"]:
        for p, accuracies in zip(found["ranks"], row["accuracy"]):
            by_ranks.setdefault(place_of(row), {})[f"p = {p}"] = accuracies
            by_method.setdefault(f"{row['network']}, {row['batches']}, p = {p}", {})[row["method"]] = accuracies
    return said + [{"place": place, **judged.judge(eave, cases, TEST_SAMPLES)}
                   for groups in (by_ranks, by_method) for place, cases in groups.items()]


def place_of(row, *more):
    return ", ".join((row["network"], row["batches"], row["method"], *more))


def show(found):
    ranks = [f"p = {p}" for p in found["ranks"]]
    intervals = {(each["place"], case): values for each in found["judged"] for case, values in each["cases"].items()}
    print("Samples a second, beside one rank at batch 32: as planned, and measured with 2 ranks (m, 95 % interval)\n")
    table.show(["network", "batch", "method", "link", *ranks, "m, p = 2"],
               [[row["network"], row["batches"], row["method"], link, *(f"{each:.2f}" for each in speed),
                 table.bounded(intervals[place_of(row, link), "p = 2"], 2)]
                for row in found["rows"] for link, speed in row["speed_up"].items()])
    print(f"Test accuracy after one pass in %, mean over {len(found['seeds'])} seeds (95 % interval)\n")
    table.show(["network", "batch", "method", *ranks],
               [[row["network"], row["batches"], row["method"],
                 *(table.interval(intervals.get((place_of(row), p)), each) for p, each in zip(ranks, row["accuracy"]))]
                for row in found["rows"]])
    for each in (each for each in found["judged"] if each["sentence"]):
        print(f"- {each['place']}: {each['sentence']}")
    print("\nOne of 2 workers four times as slow: steps a second of the other, beside those without\n")
    table.show(list(found["slow_worker"]), [[f"{each:.2f}" for each in found["slow_worker"].values()]])


def draw(found):
    return picture.dots("Samples a second beside one rank's, each rank on a host of its own, as planned", picture.Scale(0.002, 16, True),
                        [f"p = {p}" for p in found["ranks"]],
                        [(f"{row['network']}, {row['batches']}, {row['method']}, {link}", speed)
                         for row in found["rows"] for link, speed in row["speed_up"].items()])
