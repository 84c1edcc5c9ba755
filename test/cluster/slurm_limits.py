"""Slurm acts on a job at its own pace: a time limit ends, and a node dies."""
import hosts
import lab
import slurm


def start_whenever_it_waits(job, limit):
    """Starts the job whenever it waits in the queue, until it is done."""
    job.wait_until(lambda: job.start_if_it_waits(pause_s=10) in ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"), limit)
    job.wait()


def time_limit(place):
    """Slurm may send its warning up to 60 s earlier than asked. The run takes longer than that. It sleeps most of the
    time, so that it does not take much longer on a slow machine."""
    more = ["--epochs", "100"]
    words = ["train", *hosts.TRAINING, *more, "--shape-compute", "5ms", "--run-dir", place.run_dir(), "--resume", "auto"]
    job = slurm.Batch(place, "slurm-requeue", ["--time=2", "--signal=B:USR1@60"], words=words)
    start_whenever_it_waits(job, 400)
    turns = job.log().count("ended with 75")
    lab.require(turns >= 1, f"it was done before its time was over: {job.log()[-1000:]}")
    lab.require(lab.digest(place.run_dir()) == hosts.undisturbed(place.eave, slurm.NODES, *more), "other bits than undisturbed")
    return {"turns": turns + 1}


def node_lost(place):
    more = ["--epochs", "60"]
    words = ["train", *hosts.TRAINING, *more, "--run-dir", place.run_dir(), "--resume", "auto"]
    job = slurm.Batch(place, "slurm-requeue", words=words)
    job.wait_until(lambda: job.steps(place.run_dir()) > 60, 40)
    slurm.slurmlab("kill", 1, program="netlab")
    job.wait_until(lambda: job.fields()[0].get("Restarts", "0") != "0" or job.fields()[0]["JobState"] == "PENDING", 120)
    up = slurm.slurmlab("up", slurm.NODES, "--cpus", 2)  # the node is back
    lab.require(up.returncode == 0, up.stdout + up.stderr)
    start_whenever_it_waits(job, 240)
    lab.require(lab.digest(place.run_dir()) == hosts.undisturbed(place.eave, slurm.NODES, *more), "other bits than undisturbed")


TESTS = [
    lab.Fault("slurm-time", "the end of a job's time: 75 before it, put back into the queue until done, the same bits",
              time_limit, quick=0, full=1),
    lab.Fault("slurm-node", "a node dies: put back into the queue, done on the node that came back, the same bits",
              node_lost, quick=0, full=2),
]
