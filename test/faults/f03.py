"""F3: mpirun is killed. No rank outlives it."""
import signal
import time

import lab


def kill_mpirun(place):
    job = place.start(3, ["train", *lab.SMALL, "--epochs", "1000", "--run-dir", place.run_dir()])
    metrics = place.run_dir() / "metrics.jsonl"
    lab.require(job.wait_until(lambda: len(job.ranks()) == 3 and metrics.exists()), f"ended early: {job.tail()}")
    time.sleep(place.random.uniform(0, 1))
    ranks = list(job.ranks().values())
    started = time.monotonic()
    job.signal(job.pid, signal.SIGKILL)
    while any(map(lab.is_alive, ranks)) and time.monotonic() - started < 10:
        time.sleep(0.005)
    gone = time.monotonic() - started
    job.wait(10)
    for pid in ranks:
        job.signal(pid, signal.SIGKILL)
    lab.require_in_time(gone <= 0.5, f"ranks were there {gone:.2f} s after mpirun was killed")
    again = place.run(3, ["train", *lab.SMALL, "--epochs", "1", "--overwrite", "--run-dir", place.run_dir()])
    lab.require_code(again, 0)
    return {"gone_s": gone}


FAULTS = [
    lab.Fault("F3", "kill -9 of mpirun: all ranks gone within 0.5 s, its directory free", kill_mpirun, quick=4, full=50,
              lane="times"),
]
