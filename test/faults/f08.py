"""F8: a signal asks a run to leave. All ranks save a checkpoint after the same step, end with 75, and can resume."""
import pathlib
import signal
import time

import f01
import lab

RANKS = 3
# Time for one step, a checkpoint, and ranks that end together. mpirun itself takes up to 2 s more to end.
LIMIT_S = 2.5


def whom(job, way):
    """Returns the processes that get the signal, one entry per signal."""
    if way == "mpirun":
        return [job.pid]
    if way == "twice":
        return [job.pid, job.pid]
    return [job.ranks().get(RANKS - 1 if way == "last rank" else 0, job.pid)]


def hears(pid):
    """Returns whether the process catches SIGUSR1. While a program is being loaded, the signal still ends it."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return False
    return any(line.startswith("SigCgt:") and int(line.split()[1], 16) >> (signal.SIGUSR1 - 1) & 1 for line in lines)


def wait_until_begun(place, job, seconds):
    """Waits until some moment of training. In each fifth trial it waits only until all ranks run and set up."""
    is_early = place.index % 5 == 4
    if is_early:
        has_begun = lambda: len(job.ranks()) == RANKS and all(map(hears, job.ranks().values()))
    else:
        has_begun = lambda: (place.run_dir() / "metrics.jsonl").exists() and lab.last_step(place.run_dir()) > 0
    if not job.wait_until(has_begun):
        raise lab.Failed(f"ended before it was asked: {job.tail()}")
    time.sleep(0 if is_early else place.random.uniform(0, 0.6 * (seconds - 0.4)))


def ask_and_resume(place):
    # Four trials in a row have all ways and all methods, and sixteen have each way with each method.
    number = place.index % len(lab.METHODS)
    way = ["mpirun", "last rank", "twice", "rank 0"][(place.index // len(lab.METHODS) + number) % 4]
    method = sorted(lab.METHODS)[number]
    expected, seconds = f01.undisturbed(place.eave, method)
    job = place.start(RANKS, f01.words(place.run_dir(), method))
    wait_until_begun(place, job, seconds)
    asked = time.monotonic()
    ranks = list(job.ranks().values())
    for pid in whom(job, way):
        job.signal(pid, signal.SIGUSR1)
        time.sleep(place.random.uniform(0, 0.02))
    job.wait_until(lambda: not any(map(lab.is_alive, ranks)), limit=20)
    figures = {"leaving_s": time.monotonic() - asked}
    job.wait(20)
    figures["mpirun_s"] = time.monotonic() - asked
    # When mpirun is about to end, it no longer catches signals. The run directory shows what its ranks did.
    own_end = [-signal.SIGUSR1] if way in ("mpirun", "twice") else []
    lab.require_code(job, 75, 0, *own_end)
    if job.code == 75:
        lab.require_in_time(figures["leaving_s"] <= LIMIT_S, f"{method}, {way}: took {figures['leaving_s']:.2f} s")
        lab.require(len(job.messages()) == 1, f"expected one message: {job.tail()}")
    if job.code != 0:
        job = place.run(RANKS, f01.words(place.run_dir(), method, "--resume", "auto"))
        lab.require_code(job, 0)
    lab.require(lab.digest(place.run_dir()) == expected, f"{method}, {way}: other bits than undisturbed")
    return figures


FAULTS = [lab.Fault("F8", "SIGUSR1 to mpirun, to one rank, twice: one step, a checkpoint, 75, and the same bits",
                    ask_and_resume, quick=8, full=100, lane="times")]
