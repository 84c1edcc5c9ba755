"""F23: every communication call of every rank begins with a random delay. The numbers do not change."""
import functools
import pathlib
import tempfile

import lab

TRAINING = [*lab.SMALL, "--max-steps", "40", "--transport", "threads", "--ranks", "3"]
METHODS = dict(lab.METHODS) | {
    "easgd-tree": ["--communicator", "easgd-tree"],
    "gossip": ["--communicator", "gossip"],
    "compressed": ["--communicator", "allreduce", "--compression", "fp16"],
}


def words(run_dir, method, *more):
    return ["train", *TRAINING, *METHODS[method], "--run-dir", run_dir, *more]


@functools.lru_cache(maxsize=None)
def undisturbed(eave, method):
    with tempfile.TemporaryDirectory() as directory:
        place = lab.Place(directory, eave, 0, 0, False)
        job = place.run(0, words(pathlib.Path(directory) / "run", method))
        lab.require_code(job, 0)
        return lab.digest(place.run_dir())


def jitter(place):
    method = sorted(METHODS)[place.index % len(METHODS)]
    most = place.random.choice(["200us", "1ms", "3ms"])
    job = place.run(0, words(place.run_dir(), method, "--shape-jitter", most))
    lab.require_code(job, 0)
    lab.require(lab.digest(place.run_dir()) == undisturbed(place.eave, method), f"{method}: other bits with {most}")


FAULTS = [
    lab.Fault("F23", "every call of every rank late by chance: no deadlock, the same bits", jitter, quick=28, full=1000),
]
