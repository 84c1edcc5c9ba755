"""F6: a rank stops (SIGSTOP). It is named at a quarter of the limit. The job ends at the limit, unless it wakes."""
import signal
import time

import lab

LIMIT = 3.0
SOME_SECONDS = ["--epochs", "6", "--shape-compute", "5ms"]  # 858 steps that mostly sleep


def words(place, *more):
    return ["train", *lab.SMALL, "--evaluate-every", "0", "--run-dir", place.run_dir(), "--limit-step", f"{LIMIT:.0f}s",
            *lab.METHODS["allreduce"], *more]


def start_and_stop(place, *more):
    """Starts three ranks and stops one of them. Returns the job, the rank, its process, and the moment of the stop."""
    job = place.start(3, words(place, *more))
    metrics = place.run_dir() / "metrics.jsonl"
    lab.require(job.wait_until(lambda: metrics.exists() and lab.last_step(place.run_dir()) > 0), job.tail())
    time.sleep(place.random.uniform(0, 0.5))
    rank = place.random.randrange(3)
    pid = job.ranks()[rank]
    stopped = time.monotonic()
    job.signal(pid, signal.SIGSTOP)
    return job, rank, pid, stopped


def warnings(job):
    return [line for line in job.complains().splitlines() if "answer" in line and line.startswith("eave: warning: ")]


def freeze(place):
    job, rank, _, stopped = start_and_stop(place, "--epochs", "100000")
    job.wait_until(lambda: warnings(job))
    warned = time.monotonic() - stopped
    job.wait(30)
    ended = time.monotonic() - stopped
    lab.require_code(job, 69)
    host = f"rank {rank} on "
    lab.require(len(warnings(job)) == 1 and host in warnings(job)[0], f"not warned once of {host}: {job.tail()}")
    told = [line for line in job.messages() if "not answered" in line]
    lab.require(len(told) == 1 and host in told[0], f"not told once of {host}: {job.tail()}")
    lab.require_in_time(LIMIT / 4 - 0.2 <= warned <= LIMIT / 2 + 0.5, f"warned after {warned:.2f} s")
    lab.require_in_time(ended <= LIMIT + 2, f"ended after {ended:.2f} s")
    lab.require(len(list(place.run_dir().glob("calls-rank-*.json"))) >= 2, "the others' calls are not there")
    return {"warned_s": warned, "ended_s": ended}


def wake(place):
    job, rank, pid, _ = start_and_stop(place, *SOME_SECONDS)
    time.sleep(LIMIT * place.random.uniform(0.4, 0.8))
    job.signal(pid, signal.SIGCONT)
    job.wait(60)
    lab.require_in_time(job.code != 69, f"ended although it was woken: {job.tail()}")
    lab.require_code(job, 0)
    lab.require(any("goes on" in line for line in warnings(job)), f"nothing of rank {rank} waking: {job.tail()}")
    expected, _ = lab.undisturbed(place.eave, 3, "train", *lab.SMALL, "--evaluate-every", "0", *lab.METHODS["allreduce"],
                                  *SOME_SECONDS)
    lab.require(lab.digest(place.run_dir()) == expected, "other bits than undisturbed")


FAULTS = [
    lab.Fault("F6", "a rank is stopped: warned of at 25 % of the limit, 69 at the limit; woken before, the run goes on",
              lambda place: wake(place) if place.index % 2 else freeze(place), quick=2, full=30,
              lane="times"),
]
