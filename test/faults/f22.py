"""F22: two runs in one directory, and locks whose owners are gone."""
import os
import signal
import socket
import time

import lab


def words(place, *more):
    return ["train", *lab.SMALL, "--checkpoint", "off", "--run-dir", place.run_dir(), "--overwrite", *more]


def require_refused(job, *named):
    lab.require_code(job, 73)
    lab.require(len(job.messages()) == 1, f"more or less than one message: {job.tail()}")
    for text in ("another run is in it", *named):
        lab.require(text in job.complains(), f"'{text}' is not named: {job.tail()}")


def begun(place, ranks):
    job = place.start(ranks, words(place, "--epochs", 10000))
    if not job.wait_until(lambda: (place.run_dir() / "config.json").exists()):
        raise lab.Failed(f"it ended: {job.tail()}")
    return job


def second_run(place):
    """eave refuses the second of two runs, and the first goes on. When the first dies, the directory is free."""
    ranks = place.random.choice([0, 2])
    first = begun(place, ranks)
    try:
        owner = first.ranks()[0] if ranks else first.pid
        require_refused(place.run(place.random.choice([0, 2]), words(place, "--epochs", 1)),
                        f"host {socket.gethostname()}, pid {owner}, for ")
        lab.require(first.is_running(), f"the first run has ended: {first.tail()}")
        first.signal(owner, signal.SIGKILL)
        first.wait(20)
    finally:
        if first.code is None:
            first.end()
    third = place.run(0, words(place, "--epochs", 1))
    lab.require_code(third, 0)
    lab.require(f"took over the lock of a run that ended without freeing it (host {socket.gethostname()}, pid {owner}"
                in third.complains(), f"nothing is said of the lock: {third.tail()}")


def silent_for(lock, seconds):
    moment = time.time() - seconds
    os.utime(lock, (moment, moment))


def dead_host(place):
    """A lock of another host holds if its owner still touches it, and until one minute after its last touch."""
    place.run_dir().mkdir()
    lock = place.run_dir() / "run.lock"
    lock.write_text(f"host elsewhere\nmachine other-boot\npid 17\nstarted 4711\nsince {int(time.time()) - 300}\n")
    silent_for(lock, 30)
    second = place.start(0, words(place, "--epochs", 1))
    lab.require(second.wait_until(lambda: "this run begins if that one gives no sign of life" in second.complains()),
                f"nothing is said of the wait: {second.tail()}")
    os.utime(lock)
    second.wait(20)
    require_refused(second, "host elsewhere, pid 17, for 5 min")
    silent_for(lock, 55)
    began = time.monotonic()
    job = place.run(0, words(place, "--epochs", 1))
    lab.require(time.monotonic() - began > 3, "it has not waited")
    lab.require_code(job, 0)
    lab.require("took over the lock of a run that ended without freeing it (host elsewhere, pid 17" in job.complains(),
                f"nothing is said of the lock: {job.tail()}")


def same_moment(place):
    """If four runs start at once, exactly one trains, also if there is a stale lock."""
    if place.random.random() < 0.5:
        place.run_dir().mkdir()
        (place.run_dir() / "run.lock").write_text("host a\nmachine other-boot\npid 17\nstarted 4711\nsince 1700000000\n")
        os.utime(place.run_dir() / "run.lock", (1700000000, 1700000000))
    jobs = [place.start(0, words(place, "--epochs", 10000)) for _ in range(4)]
    try:
        end = time.monotonic() + 20
        while sum(job.is_running() for job in jobs) > 1 and time.monotonic() < end:
            time.sleep(0.02)
        lab.require(sum(job.is_running() for job in jobs) == 1, "not one of them is left")
        for job in jobs:
            if not job.is_running():
                lab.require_code(job, 73)
    finally:
        for job in jobs:
            job.end()


def two_runs(place):
    (second_run, dead_host, same_moment, second_run)[place.index % 4](place)


FAULTS = [lab.Fault("F22", "two runs in one directory: 73 with the owner; stale locks are taken over", two_runs,
                    quick=4, full=20)]
