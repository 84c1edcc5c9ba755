"""F23: every communication call of every rank begins with a random delay. The numbers do not change."""

import lab

TRAINING = [*lab.SMALL, "--max-steps", "40", "--transport", "threads", "--ranks", "3"]
METHODS = dict(lab.METHODS) | {
    "easgd-tree": ["--communicator", "easgd-tree"],
    "gossip": ["--communicator", "gossip"],
    "compressed": ["--communicator", "allreduce", "--compression", "fp16"],
}


def jitter(place):
    method = sorted(METHODS)[place.index % len(METHODS)]
    most = place.random.choice(["200us", "1ms", "3ms"])
    words = ["train", *TRAINING, *METHODS[method]]
    lab.require_code(place.run(0, [*words, "--shape-jitter", most, "--run-dir", place.run_dir()]), 0)
    expected, _ = lab.undisturbed(place.eave, 0, *words)
    lab.require(lab.digest(place.run_dir()) == expected, f"{method}: other bits with {most}")


FAULTS = [
    lab.Fault("F23", "every call of every rank late by chance: no deadlock, the same bits", jitter, quick=28, full=1000),
]
