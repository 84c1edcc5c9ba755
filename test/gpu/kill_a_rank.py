"""Starts a training under mpirun, kills one of its ranks in the middle of it, and waits for the others to end.

    kill_a_rank.py STARTS_S DIES_S RUN_DIR mpirun -np N eave train ... --run-dir RUN_DIR

STARTS_S is the limit until the training has made some steps, DIES_S the limit until all ranks have ended after that. The
last line says what happened. Exit codes: 0 all ranks ended, and mpirun's exit code tells of it - 1 otherwise.
"""
import os
import pathlib
import signal
import subprocess
import sys
import time

STEPS = 20


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
        if str(run) in words and "-np" not in words:
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


def kill_one(starts_s, dies_s, run, command):
    """Returns what is wrong, or "", and what happened."""
    job = subprocess.Popen(command)
    waited = wait_until(lambda: job.poll() is not None or steps_of(run) >= STEPS, starts_s)
    ranks = ranks_of(run)
    if waited is None or job.poll() is not None or not ranks:
        return "failed", f"{steps_of(run)} steps by {len(ranks)} ranks before one was to be killed; mpirun: {job.poll()}"
    os.kill(ranks[-1], signal.SIGKILL)
    waited = wait_until(lambda: job.poll() is not None and not ranks_of(run), dies_s)
    if waited is None:
        return "failed", f"{len(ranks_of(run))} ranks still run {dies_s:.0f} s after one was killed; mpirun: {job.poll()}"
    if job.returncode == 0:
        return "failed", "mpirun ended with 0 although a rank was killed"
    return "", f"all of {len(ranks)} ranks had ended after {waited:.1f} s, mpirun with {job.returncode}"


def main():
    wrong, what = kill_one(float(sys.argv[1]), float(sys.argv[2]), pathlib.Path(sys.argv[3]), sys.argv[4:])
    print(f"{wrong}: {what}" if wrong else what)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
