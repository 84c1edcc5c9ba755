"""F20: memory runs out at start-up. Whichever allocation fails, the run ends with 71 and one message that says so."""
import functools
import shutil
import tempfile

import lab

MEBI = 1 << 20
WORDS = ["train", "--data", "synthetic", "--synthetic-size", "28", "--synthetic-samples", "2000",
         "--synthetic-test-samples", "100", "--model", "lenet", "--batch", "256", "--max-steps", "2", "--progress", "off"]
JOBS = [["--transport", "loopback"],
        ["--transport", "threads", "--ranks", "2", "--communicator", "easgd", "--tau", "1"],
        ["--transport", "threads", "--ranks", "2", "--communicator", "allreduce", "--optimizer", "adamw", "--lr", "0.001"]]


def limited(place, kibibytes, words):
    return place.run(0, words, launcher=["prlimit", f"--as={kibibytes * 1024}"], limit=60)


def least(place, words, low, high, fits):
    """Returns the smallest limit in MiB under which `fits` holds, found by bisection."""
    while high - low > 1:
        middle = (low + high) // 2
        if fits(limited(place, middle * 1024, words)):
            high = middle
        else:
            low = middle
    return high


@functools.lru_cache(maxsize=None)
def bounds(eave, job):
    """Returns, in KiB, the memory that the program needs to print a message, and the memory of the whole run."""
    with tempfile.TemporaryDirectory() as directory:
        place = lab.Place(directory, eave, 0, 0, False)
        # Below this limit, the dynamic loader has no room for the libraries (127), or MPI none for its plugins.
        says = lambda ended: ended.code in (0, 71)
        begin = least(place, [*WORDS, *JOBS[job]], 1, 4096, says)
        end = least(place, [*WORDS, *JOBS[job]], begin - 1, 4096, lambda ended: ended.code == 0)
        return begin * 1024, end * 1024


def run_short(place):
    if shutil.which("prlimit") is None:
        raise lab.Skip("there is no prlimit")
    job = place.index % len(JOBS)
    begin, end = bounds(place.eave, job)
    # Trials spread evenly over all that start-up allocates, at a random place in each interval.
    trials = (200 if place.is_full else 12) // len(JOBS) + 1
    place_in = (place.index // len(JOBS) + place.random.random()) / trials
    limit = begin + int((end - begin) * place_in)
    ended = limited(place, limit, [*WORDS, *JOBS[job]])
    how = f"{' '.join(JOBS[job])} within {limit} KiB"
    lab.require(ended.code in (0, 71), f"{how}: {ended.tail()}")
    if ended.code == 71:
        lab.require(any("out of memory" in line or "system error" in line for line in ended.messages()), f"{how}: {ended.tail()}")
    return {"ended_with_71": int(ended.code == 71)}


FAULTS = [lab.Fault("F20", "memory runs out at start-up: need and have, and 71; no crash, no hang", run_short,
                    quick=12, full=200)]
