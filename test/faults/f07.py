"""F7: one of four ranks computes four times as long as the others."""
import re
import statistics

import lab

RANKS, SLOW = 4, 2
# A step takes some ms, long enough to recognise a slow rank although ranks share cores.
TRAINING = ["--data", "synthetic", "--synthetic-samples", "60000", "--synthetic-test-samples", "100", "--model", "lenet",
            "--batch", "8", "--evaluate-every", "0", "--progress", "off"]


def words(place, name, method, steps, *more):
    return ["train", *TRAINING, *lab.METHODS[method][:4], "--max-steps", steps, "--run-dir", place.run_dir(name), *more]


def steps_per_second(place, name):
    """Returns the median speed, over the whole run, of the ranks that are not slow."""
    last = {line["rank"]: line for line in lab.metrics_of(place.run_dir(name)) if line["type"] == "step"}
    return statistics.median(line["step"] / line["seconds"] for rank, line in last.items() if rank != SLOW)


def is_named(place):
    job = place.run(RANKS, words(place, "slow", "allreduce", 80, "--slow-rank", f"{SLOW}:4x"), limit=120)
    lab.require_code(job, 0)
    told = re.findall(r"rank (\d+) on \S+ is slow: .* by step (\d+)", job.complains())
    lab.require([rank for rank, _ in told] == [str(SLOW)], f"told of ranks {told}: {job.tail()}")
    step = int(told[0][1])
    lab.require_in_time(step <= 50, f"named by step {step} only")
    return {"named_by_step": step}


def is_not_accused(place):
    job = place.run(RANKS, words(place, "alike", "allreduce", 10000 if place.is_full else 250), limit=900)
    lab.require_code(job, 0)
    lab.require_in_time("is slow" not in job.complains(), f"accused a rank like the others: {job.tail()}")


def slows_nobody(place):
    """Compares the speed with and without a slow rank. Other load of the machine only lowers the share, so the best of
    three consecutive pairs counts."""
    shares = []
    for pair in map(str, range(3)):
        for name, more in (("even", []), ("uneven", ["--slow-rank", f"{SLOW}:4x"])):
            lab.require_code(place.run(RANKS, words(place, name + pair, "easgd-async", 100, *more), limit=120), 0)
        shares.append(steps_per_second(place, "uneven" + pair) / steps_per_second(place, "even" + pair))
        if shares[-1] >= 0.75:
            break
    lab.require_in_time(max(shares) >= 0.75, f"the others go on at {max(shares):.0%} of their speed")
    return {"speed_of_others": max(shares)}


def slow_rank(place):
    figures = is_named(place)
    if place.index == 0:
        is_not_accused(place)
        figures |= slows_nobody(place)
    return figures


FAULTS = [lab.Fault("F7", "a rank at a quarter of its speed: named within 50 steps, nobody else; asynchronous ones go on",
                    slow_rank, quick=1, full=20, lane="alone")]
