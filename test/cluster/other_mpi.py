"""The same scripts with the other MPIs: programs that were built with them, and their mpirun."""
import functools
import signal

import hosts
import lab

BUILT = {"mpich": "-DMPI_CXX_COMPILER=mpicxx.mpich -DMPIEXEC_EXECUTABLE=$(command -v mpiexec.mpich)",
         "openmpi5": "-DMPI_CXX_COMPILER=mpicxx -DMPIEXEC_EXECUTABLE=mpirun (those of Open MPI 5)"}


def find(name):
    """The program in build/NAME, and the mpirun that it was configured with."""
    tree = lab.ROOT / "build" / name
    if not (tree / "eave").exists():
        raise lab.Skip(f"no build/{name}/eave: cmake -S . -B build/{name} {BUILT[name]}, cmake --build build/{name} --target eave")
    lines = (tree / "CMakeCache.txt").read_text().splitlines()
    return {"program": (tree / "eave").resolve(),
            "mpirun": next(line.split("=", 1)[1] for line in lines if line.startswith("MPIEXEC_EXECUTABLE:"))}


def train(name, place):
    """Undisturbed, and left on request and resumed: the bits that the first MPI gives on one machine."""
    values = find(name)
    more = ["--epochs", "60"]
    words = ["train", *hosts.TRAINING, *more, "--run-dir", place.run_dir(), "--resume", "auto"]
    job = hosts.start(place, words, **values)
    metrics = place.run_dir() / "metrics.jsonl"
    lab.require(job.wait_until(lambda: metrics.exists() and lab.last_step(place.run_dir()) > 60), job.tail())
    lab.require(hosts.names_hosts(job.says()), f"not a rank on each host: {job.says()[:600]}")
    job.signal(job.pid, signal.SIGUSR1)
    job.wait(30)
    lab.require_code(job, 75)
    job = hosts.run(place, words, limit=90, **values)
    lab.require_code(job, 0)
    lab.require(lab.digest(place.run_dir()) == hosts.undisturbed(place.eave, 4, *more), "other bits than with Open MPI 4")


def cut(name, place):
    """Where mpirun does not notice, eave's own limit ends the job. (With a short one, here.)"""
    values = find(name)
    words = ["train", *hosts.TRAINING, "--epochs", "60", "--run-dir", place.run_dir(), "--limit-step", "20s",
             "--limit-checkpoint", "20s"]
    job = hosts.start(place, words, **values)
    metrics = place.run_dir() / "metrics.jsonl"
    lab.require(job.wait_until(lambda: metrics.exists() and lab.last_step(place.run_dir()) > 60), job.tail())
    hosts.netlab("cut", 3)
    try:
        told = "rank 3 on node3 has not answered for 20 s. The job ends here"
        job.wait_until(lambda: told in job.complains() or "lost communication" in job.complains(), limit=60)
        lab.require("node3" in job.complains(), f"node3 is not named: {job.tail()}")
        if name != "mpich":  # its mpirun waits for what it started on the host that is gone, as long as that takes
            job.wait(30)
            lab.require_code(job, 69, 205)
    finally:
        job.end()
        hosts.netlab("heal", 3)


TESTS = [lab.Fault(name, "run-hosts with that MPI: leaves on request with 75, resumes, the bits of Open MPI 4",
                   functools.partial(train, name), quick=1, full=3) for name in BUILT]
TESTS += [lab.Fault(f"{name}-cut", "a host cut off: named, and the job ends (with MPICH its ranks)",
                    functools.partial(cut, name), quick=0, full=1) for name in BUILT]
