"""Starts a training, kills or stops one of its ranks in the middle of it, and waits for the others to end by themselves.

    lose_a_rank.py stop STARTS_S ENDS_S RUN_DIR mpirun -np N eave train ... --run-dir RUN_DIR
    lose_a_rank.py kill STARTS_S ENDS_S RUN_DIR N eave train ... --run-dir RUN_DIR

`stop` starts the ranks by mpirun, which does not see that a rank stands still. If a rank is killed, mpirun kills the
others. So `kill` starts N ranks without a launcher, which meet over TCP; then nobody but eave ends the survivors.

STARTS_S is the limit until the training has made some steps, ENDS_S the limit until all ranks have ended after that. The
last line says what happened. Exit codes: 0 the ranks ended with 69 - 1 otherwise.
"""
import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

STEPS = 20
LOST = 69


def steps_of(run):
    try:
        return (run / "metrics.jsonl").read_text().count('"type":"step"')
    except OSError:
        return 0


def ranks_of(run):
    """Returns the processes whose words name the run directory, except mpirun, which has the number of ranks among its
    words, and this program."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_text(errors="replace").split("\0")
        except OSError:
            continue  # it has just ended
        if str(run) in words and "-np" not in words and int(path.parent.name) != os.getpid():
            found.append(int(path.parent.name))
    return sorted(found)


def wait_until(holds, limit_s):
    """Returns the seconds until it held, or None if it did not within the limit."""
    begin = time.monotonic()
    while not holds():
        if time.monotonic() - begin > limit_s:
            return None
        time.sleep(0.05)
    return time.monotonic() - begin


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start(command):
    """Starts mpirun, or as many ranks as the first word says. Returns the processes."""
    if not command[0].isdigit():
        return [subprocess.Popen(command)]
    ranks = int(command[0])
    place = {"WORLD_SIZE": str(ranks), "EAVE_MEET": f"127.0.0.1:{free_port()}"}
    return [subprocess.Popen(command[1:], env={**os.environ, **place, "RANK": str(rank), "LOCAL_RANK": str(rank)})
            for rank in range(ranks)]


def lose_one(how, starts_s, ends_s, run, jobs):
    """Returns what is wrong, or "", and what happened."""
    codes = lambda: [job.poll() for job in jobs]
    waited = wait_until(lambda: any(code is not None for code in codes()) or steps_of(run) >= STEPS, starts_s)
    ranks = ranks_of(run) if len(jobs) == 1 else [job.pid for job in jobs]
    if waited is None or any(code is not None for code in codes()) or not ranks:
        return "failed", f"{steps_of(run)} steps by {len(ranks)} ranks before one was to be lost; exit codes: {codes()}"
    os.kill(ranks[-1], signal.SIGKILL if how == "kill" else signal.SIGSTOP)
    waited = wait_until(lambda: None not in codes(), ends_s)
    if waited is None:
        return "failed", f"{len(ranks_of(run))} ranks still run {ends_s:.0f} s after a {how} of one; exit codes: {codes()}"
    if set(codes()) - {-signal.SIGKILL} != {LOST}:
        return "failed", f"the exit codes are {codes()}, not {LOST}"
    return "", f"all of {len(ranks)} ranks had ended {waited:.1f} s after a {how} of one; exit codes: {codes()}"


def main():
    run, jobs = pathlib.Path(sys.argv[4]), start(sys.argv[5:])
    try:
        wrong, what = lose_one(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), run, jobs)
    finally:
        for process in ranks_of(run):  # one that is stopped would stay
            with contextlib.suppress(ProcessLookupError):  # it may just have ended
                os.kill(process, signal.SIGKILL)
        for job in jobs:
            job.kill()
            job.wait()
    print(f"{wrong}: {what}" if wrong else what)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
