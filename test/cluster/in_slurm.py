"""The batch scripts in a real Slurm: each launcher, a comparison as one job and as an array, and jobs with errors."""
import functools
import json
import re
import time

import hosts
import lab
import other_mpi
import slurm

EPOCHS = ["--epochs", "5"]


def train(script, launcher, place, built=None, more=()):
    words = ["train", *hosts.TRAINING, *EPOCHS, *more, "--run-dir", place.run_dir()]
    values = other_mpi.find(built) if built else {"program": place.eave, "mpirun": "mpirun"}
    job = slurm.Batch(place, script, launcher=launcher.replace("mpirun", values["mpirun"]).split(), words=words,
                      program=values["program"])
    job.wait()
    lab.require(hosts.names_hosts(job.log(), range(slurm.NODES)), f"not a rank on each node: {job.log()[:600]}")
    lab.require(lab.digest(place.run_dir()) == hosts.undisturbed(place.eave, slurm.NODES, *EPOCHS),
                "other bits than on one machine")
    summary = json.loads((place.run_dir() / "summary.json").read_text())
    lab.require((summary["ranks"], summary["epochs"]) == (slurm.NODES, int(EPOCHS[1])), f"another run's summary: {summary}")


COMPARED = ["compare", "--communicators", "easgd:tau=4", "--ranks", "2", "--seeds", "2", "--budget", "epochs=1",
            *lab.SMALL[:-4], "--progress", "off"]


def compare(place):
    output = place.directory / "compared"
    job = slurm.Batch(place, "slurm-compare", words=[*COMPARED, "--output", output])
    job.wait()
    lab.require((output / "report.html").exists(), f"no report: {job.log()[-600:]}")
    lab.require(len(list(output.glob("*/summary.json"))) == 6, "not 2 seeds of 3 methods")


def cancelled(place):
    """After scancel the ranks leave with 75. The script must not put the cancelled job back into the queue."""
    words = ["train", *hosts.TRAINING, "--epochs", "100000", "--run-dir", place.run_dir(), "--resume", "auto"]
    job = slurm.Batch(place, "slurm-requeue", words=words)
    job.wait_until(lambda: job.steps(place.run_dir()) > 60, 40)
    slurm.command("scancel", job.id)
    job.wait(60, ["CANCELLED"])
    time.sleep(5)
    job.wait(1, ["CANCELLED"])


def leave_and_go_on(job):
    """Sends the signal that Slurm sends when a job's time is nearly over. The job leaves, goes back into the queue, and
    ends in its second turn."""
    slurm.command("scancel", "--batch", "--signal=USR1", job.id)
    job.wait_until(lambda: "turn 1 on" in job.log(), 40)
    lab.require("ended with 75" in job.log(), job.log())
    job.wait_until(lambda: job.start_if_it_waits() in ("COMPLETED", "FAILED"), 90)
    job.wait()
    lab.require("turn 2 on" in job.log(), job.log())


def compare_requeued(place):
    """A comparison is asked to leave between its runs. Finished runs stay, and the next turn makes the missing ones."""
    output = place.directory / "compared"
    words = ["10" if word == "2" and before == "--seeds" else word for before, word in zip([None, *COMPARED], COMPARED)]
    job = slurm.Batch(place, "slurm-compare", words=[*words, "--output", output])
    job.wait_until(lambda: list(output.glob("*/summary.json")), 40)
    leave_and_go_on(job)
    lab.require("were done before and are kept" in job.log(), job.log())
    lab.require(len(list(output.glob("*/summary.json"))) == 30, f"not 10 seeds of 3 methods: {job.log()[-1000:]}")


def compare_array(place):
    """An array of two jobs makes one comparison, and `eave report` reads the runs of both."""
    output = place.directory / "compared"
    job = slurm.Batch(place, "slurm-compare-array", ["--array=1-2"], parts=2, words=[*COMPARED, "--output", output])
    job.wait(90)
    lab.require(len(job.fields()) == 2, f"not two jobs: {job.fields()}")
    lab.require(len(list(output.glob("*/summary.json"))) == 6, f"not 2 seeds of 3 methods: {job.log()[-1000:]}")
    report = place.run(0, ["report", output])
    lab.require_code(report, 0)


def requeue(place):
    """A job whose time is nearly over goes back into the queue, resumes, and ends with the bits of an undisturbed
    run."""
    more = ["--epochs", "12", "--shape-compute", "2ms"]  # some seconds, mostly of sleep
    words = ["train", *hosts.TRAINING, *more, "--run-dir", place.run_dir(), "--resume", "auto"]
    job = slurm.Batch(place, "slurm-requeue", words=words)
    job.wait_until(lambda: job.steps(place.run_dir()) > 60, 40)
    leave_and_go_on(job)
    lab.require("ended with 0" in job.log(), job.log())
    lab.require(lab.digest(place.run_dir()) == hosts.undisturbed(place.eave, slurm.NODES, *more), "other bits than undisturbed")


def ended(place, code, text, script="slurm-cpu", options=(), **values):
    job = slurm.Batch(place, script, options, **values)
    job.wait(states=("FAILED",))
    lab.require(job.code() == code, f"exit code {job.code()}, not {code}: {job.log()}")
    lab.require(text in job.log(), f"'{text}' is not said: {job.log()}")
    lab.require(len(re.findall("^eave: (?!warning)", job.log(), re.MULTILINE)) <= 1, f"it is said more than once: {job.log()}")
    for log in place.directory.glob("log-*"):
        log.unlink()


def refused(place):
    """A job that would fail again does not go back into the queue."""
    words = ["train", *hosts.TRAINING, "--epochs", "1"]
    missing = ["train", "--data", "mnist", "--data-dir", place.directory / "nowhere"]
    ended(place, 66, "no directory", "slurm-requeue", words=missing)
    ended(place, 69, "is neither Open MPI's nor MPICH's mpirun on node", launcher=["nothing-here"], words=words)
    ended(place, 64, "--part 0/4", "slurm-compare-array", ["--array=0"], words=COMPARED)


def without_mpi(place):
    """If Slurm starts tasks without MPI, each task would take itself for the only rank, so eave refuses. In the batch
    script itself eave is one process, however many tasks the job has."""
    words = ["train", *hosts.TRAINING, "--epochs", "1", "--run-dir", place.run_dir()]
    ended(place, 69, "Slurm's srun started 2 ranks", launcher=["srun", "--mpi=none"], words=words)
    lab.require(not place.run_dir().exists(), "a run was begun")
    alone = place.directory / "alone"
    alone.write_text(f"#!/bin/sh\nexec {place.eave} doctor --device cpu\n")
    job = slurm.slurmlab("run", "--nodes=2", "--ntasks-per-node=1", f"--output={place.directory}/out", alone)
    lab.require(job.returncode == 0, f"eave in a batch script: {job.stdout}{job.stderr}")


TESTS = [
    lab.Fault("slurm-mpirun", "slurm-cpu with mpirun: a rank on each node, the bits of one machine",
              functools.partial(train, "slurm-cpu", "mpirun"), quick=1, full=3),
    lab.Fault("slurm-pmix", "the same with srun --mpi=pmix", functools.partial(train, "slurm-cpu", "srun --mpi=pmix"),
              quick=1, full=3),
    lab.Fault("slurm-tcp", "the same with srun without MPI: the ranks meet at --meet",
              functools.partial(train, "slurm-cpu", "srun --mpi=none", more=["--transport", "tcp", "--meet", "node0:29400"]),
              quick=0, full=2),
    lab.Fault("slurm-mpich", "the same with MPICH's mpirun", functools.partial(train, "slurm-cpu", "mpirun", built="mpich"),
              quick=1, full=2),
    lab.Fault("slurm-pmi2", "the same with MPICH and srun --mpi=pmi2",
              functools.partial(train, "slurm-cpu", "srun --mpi=pmi2", built="mpich"), quick=1, full=2),
    lab.Fault("slurm-openmpi5", "the same with Open MPI 5's mpirun",
              functools.partial(train, "slurm-cpu", "mpirun", built="openmpi5"), quick=1, full=2),
    lab.Fault("slurm-openmpi5-pmix", "the same with Open MPI 5 and srun --mpi=pmix",
              functools.partial(train, "slurm-cpu", "srun --mpi=pmix", built="openmpi5"), quick=0, full=2),
    lab.Fault("slurm-compare", "a comparison as one job: all runs and the report", compare, quick=1, full=2),
    lab.Fault("slurm-cancelled", "scancel ends slurm-requeue for good", cancelled, quick=1, full=5),
    lab.Fault("slurm-compare-again", "a comparison is asked to leave: put back into the queue, and all runs are made",
              compare_requeued, quick=1, full=5),
    lab.Fault("slurm-array", "a comparison as a job array: all runs, and a report of them", compare_array, quick=1, full=2),
    lab.Fault("slurm-requeue", "SIGUSR1: 75, put back into the queue, resumed: the bits of an undisturbed run", requeue,
              quick=1, full=3),
    lab.Fault("slurm-refused", "missing data, launcher or array: said, with the code, and not put back", refused, quick=1,
              full=1),
    lab.Fault("slurm-no-mpi", "srun without MPI: refused, with 69", without_mpi, quick=1, full=1),
]
