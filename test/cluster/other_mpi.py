"""The same scripts with other MPIs: programs that were built with them, and their mpirun."""
import functools
import pathlib
import re
import shutil
import signal
import subprocess

import bad_hosts
import host_data
import hosts
import lab

BUILT = ("mpich", "openmpi5")


def find(name):
    """Returns the program in build/cluster-NAME, and the mpirun that it was configured with."""
    tree = lab.ROOT / "build" / f"cluster-{name}"
    if not (tree / "eave").exists():
        raise lab.Skip(f"no build/cluster-{name}/eave: test/cluster/build_with {name}")
    lines = (tree / "CMakeCache.txt").read_text().splitlines()
    return {"program": (tree / "eave").resolve(),
            "mpirun": next(line.split("=", 1)[1] for line in lines if line.startswith("MPIEXEC_EXECUTABLE:"))}


def train(name, place):
    """A run that leaves on request and resumes has the bits that the first MPI gives on one machine."""
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
    """If mpirun does not notice the lost host, eave's own limit ends the job. The limit is short here."""
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
        # MPICH's mpirun waits without a limit for the processes that it started on the lost host.
        if name != "mpich":
            job.wait(30)
            lab.require_code(job, 69, 205)
    finally:
        job.end()
        hosts.netlab("heal", 3)


def sees(host, folder):
    """Returns a remote shell with which the host looks for libraries in this folder first, as a module of another MPI
    does."""
    return ["ssh", "-F", hosts.sshd_apart(host, f"SetEnv LD_LIBRARY_PATH={folder}"), "-o", "BatchMode=yes"]


def libmpi_of(program):
    found = re.search(r"libmpi\.so\S* => (\S+)", subprocess.run(["ldd", program], capture_output=True, text=True).stdout)
    lab.require(found, f"{program} has no libmpi")
    return pathlib.Path(found[1])


def other_library(place):
    """The program and mpirun are the same everywhere, but one host's loader takes another libmpi of the same name. With
    Open MPI 4's program the library lacks symbols. Open MPI 5's program starts with it."""
    values = find("openmpi5")
    mine, other = libmpi_of(place.eave), libmpi_of(values["program"])
    if mine.name != other.name:
        raise lab.Skip(f"these are different libraries: {mine.name}, {other.name}")
    bad_hosts.refused(place, 78, f"host node3: cannot start {place.eave}: ", "libmpi", remote_shell=sees(3, other.parent))
    bad_hosts.refused(place, 78, "host node0: eave finds Open MPI v4.", "there, and Open MPI v5.", " on node1: all need the same",
                      hosts=["node1", "node0"], remote_shell=sees(0, mine.parent), **values)


def other_program(name, place):
    """One host's program is that of another MPI. run-hosts would report it, so this test starts mpirun itself. Open MPI
    5 ends in MPI_Init with its own message. MPICH's rank takes itself for the only one, and eave reports that."""
    own = place.directory / "eave"
    shutil.copy(place.eave, own)
    with bad_hosts.mounted(2, "--bind", find(name)["program"], own):
        job = lab.Job([str(lab.lab_program("netlab")), "mpirun", "-n", "4", str(own), "train", *hosts.TRAINING, "--run-dir",
                       str(place.run_dir())], place.directory, hosts.SETTINGS)
        job.wait(bad_hosts.LIMIT)
    if name == "openmpi5":
        lab.require(job.code and "[node2]" in job.complains(), f"node2 is not named: {job.tail()}")
        return
    lab.require_code(job, 69)
    told = job.messages()
    what = "eave: rank 2 on node2: Open MPI's mpirun started 4 ranks (OMPI_COMM_WORLD_SIZE), but MPI finds 1: "
    lab.require(len(told) == 1 and told[0].startswith(what), f"it says {told}: {job.tail()}")


TESTS = [lab.Fault(name, "run-hosts with that MPI: leaves on request with 75, resumes, the bits of Open MPI 4",
                   functools.partial(train, name), quick=1, full=3) for name in BUILT]
TESTS += [lab.Fault(f"{name}-cut", "a host cut off: named, and the job ends (with MPICH its ranks)",
                    functools.partial(cut, name), quick=0, full=1) for name in BUILT]
TESTS += [lab.Fault(f"{name}-own-data", "own-data with that MPI",
                    lambda place, name=name: host_data.own_data(place, **find(name)), quick=1, full=1) for name in BUILT]
TESTS += [lab.Fault(f"{name}-on-one", "the program of that MPI on one host, under Open MPI 4's mpirun: ends, and names it",
                    functools.partial(other_program, name), quick=1, full=3) for name in BUILT]
TESTS += [lab.Fault("other-libmpi", "the libmpi of Open MPI 5 on one host, or of 4 for the program of 5: 78, and its name",
                    other_library, quick=1, full=1)]
