"""A list of hosts, or one host, is wrong. A message names it before training, with the right exit code, and nothing
hangs."""
import contextlib
import re
import shutil

import hosts
import lab

LIMIT = 30


def refused(place, code, *texts, words=None, **others):
    """Requires that the run ends with this code and one line of run-hosts or eave that holds all texts."""
    run = words or ["train", *hosts.TRAINING, "--run-dir", place.run_dir()]
    job = hosts.run(place, run, limit=LIMIT, **others)
    lab.require_code(job, code)
    lines = [line for line in job.complains().splitlines() if line.startswith(("run-hosts: ", "eave: "))]
    for text in texts:
        lab.require(any(text in line for line in lines), f"'{text}' is not said: {job.tail()}")
    lab.require(len(lines) == 1, f"not one line but {len(lines)}: {lines}")
    return {"seconds": job.seconds}


@contextlib.contextmanager
def mounted(host, *words):
    """Mounts a file system on one host. `words` are those of mount. The last one is the place."""
    hosts.set_up()
    hosts.on_host(host, "mount", *words)
    try:
        yield
    finally:
        hosts.on_host(host, "umount", words[-1])


def unreachable(place):
    hosts.set_up()
    hosts.netlab("cut", 2)
    try:
        return refused(place, 69, "host node2: cannot be reached by ssh: ")
    finally:
        hosts.netlab("heal", 2)


def unknown(place):
    return refused(place, 69, "host node9: cannot be reached by ssh: ", hosts=["node0", "node9"])


def closed(place):
    """The remote shell reaches the host, but mpirun's connections do not. The shell is netlab's agent, which enters a
    host that is cut off."""
    hosts.set_up()
    agent = next(lab.pathlib.Path("/run/netlab").glob(f"{hosts.NAME}/agent"))
    hosts.netlab("cut", 1)
    try:
        return refused(place, 69, "host node1: mpirun starts nothing there", hosts=["node0", "node1"], remote_shell=[agent],
                       answer_s=5)
    finally:
        hosts.netlab("heal", 1)


def wrong_list(place):
    refused(place, 65, "hosts:2: 'node1 slots=none'", hosts=["node0", "node1 slots=none"])
    refused(place, 65, "hosts:3: host node0 stands there twice", hosts=["node0", "node1 slots=2", "node0"])
    refused(place, 65, "names no host", hosts=["# none"])
    refused(place, 66, "there is no file nowhere", hosts_file="nowhere")
    refused(place, 78, "9 ranks, and", "has 4 slots", ranks=9)


def other_program(place):
    own = place.directory / "eave"
    other = place.directory / "other"
    shutil.copy(place.eave, own)
    other.write_bytes(own.read_bytes() + b"\0")
    other.chmod(0o755)
    with mounted(2, "--bind", other, own):
        refused(place, 78, "host node2: its program differs from that of node0", program=own)
        bare = lab.Job([str(lab.lab_program("netlab")), "mpirun", "-n", "4", str(own), "train", *hosts.TRAINING, "--run-dir",
                        str(place.run_dir())], place.directory, hosts.SETTINGS)
        bare.wait(LIMIT)  # without run-hosts, eave itself names the difference
        lab.require_code(bare, 78)
        lab.require("on ranks 0, 1, 3 (node0, node1, node3)" in bare.complains() and "on rank 2 (node2)" in bare.complains(),
                    f"hosts are not named: {bare.tail()}")
    with mounted(2, "--bind", "/dev/null", own):
        refused(place, 66, f"host node2: no program {own}", program=own)


def other_mpi(place):
    mpirun = lab.pathlib.Path(shutil.which("mpirun")).resolve()
    other = place.directory / "mpirun"
    other.write_text("#!/bin/sh\necho 'mpirun (Open MPI) 4.0.7'\n")
    other.chmod(0o755)
    with mounted(1, "--bind", other, mpirun):
        refused(place, 78, "host node1: a remote shell finds mpirun (Open MPI) 4.0.7 there, and this host has mpirun")
    refused(place, 69, "'nothing-here' is neither Open MPI's nor MPICH's mpirun", mpirun="nothing-here")


def missing_data(place):
    data = place.directory / "data"
    data.mkdir()
    write_mnist(data)
    words = ["train", "--data", "mnist", "--data-dir", data, "--model", "dense 8; dense classes", "--epochs", "1",
             "--run-dir", place.run_dir(), "--progress", "off"]
    with mounted(3, "-t", "tmpfs", "none", data):
        refused(place, 66, "rank 3 on node3: ", str(data), words=words)
    job = hosts.run(place, words, limit=LIMIT)
    lab.require_code(job, 0)


def write_mnist(directory):
    """Writes two sets of 40 images of 28 x 28 pixels as IDX files."""
    for name in ("train", "t10k"):
        size = (40).to_bytes(4, "big")
        (directory / f"{name}-images-idx3-ubyte").write_bytes(
            bytes([0, 0, 8, 3]) + size + (28).to_bytes(4, "big") * 2 + bytes(i % 251 for i in range(40 * 784)))
        (directory / f"{name}-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1]) + size + bytes(i % 10 for i in range(40)))


def read_only(place):
    runs = place.directory / "runs"
    runs.mkdir()
    for host in (0, 2):
        with mounted(host, "--bind", "-o", "ro", runs, runs):
            refused(place, 73, f"rank {host} on node{host}: --run-dir {runs}/run", "Read-only file system",
                    words=["train", *hosts.TRAINING, "--run-dir", runs / "run"])


def skewed_clock(place):
    """If a host's clock is wrong there is only a warning, because training does not need clocks that agree."""
    library = next(lab.pathlib.Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
    if not library:
        raise lab.Skip("no faketime: mpi_launch/install_packages cluster")
    shell = ["ssh", "-F", hosts.sshd_apart(1, f"SetEnv LD_PRELOAD={library} FAKETIME=+1h FAKETIME_DONT_FAKE_MONOTONIC=1")]
    job = hosts.run(place, ["train", *hosts.TRAINING, "--epochs", "5", "--run-dir", place.run_dir()], remote_shell=shell)
    lab.require_code(job, 0)
    told = re.search(r"^run-hosts: host node1: warning: its clock is (3[56]..) s ahead", job.complains(), re.MULTILINE)
    lab.require(told, f"no warning: {job.tail()}")
    lab.require(lab.digest(place.run_dir()) == hosts.undisturbed(place.eave, 4, "--epochs", "5"), "other bits")
    doctor = hosts.run(place, ["doctor", "--run-dir", place.directory], remote_shell=shell)
    lab.require(re.search(r"that of host node1 is 3[56]..\.. s ahead of that of host node0", doctor.says()), doctor.says())


TESTS = [
    lab.Fault("unreachable", "a host that does not answer: 69 and its name", unreachable, quick=1, full=5),
    lab.Fault("unknown", "a name that nobody has: 69 and the name", unknown, quick=1, full=1),
    lab.Fault("closed", "a host that mpirun cannot meet, though ssh can: 69 and its name", closed, quick=1, full=3),
    lab.Fault("wrong-list", "a list of hosts that is missing, wrong or too short: 66, 65, 78, and the line", wrong_list,
              quick=1, full=1),
    lab.Fault("other-program", "another eave or none on one host: 78, 66, and its name", other_program, quick=1, full=1),
    lab.Fault("other-mpi", "another MPI on one host: 78 and its name", other_mpi, quick=1, full=1),
    lab.Fault("missing-data", "no data on one host: 66 and its name", missing_data, quick=1, full=1),
    lab.Fault("read-only", "a run directory that one host cannot write to: 73 and its name", read_only, quick=1, full=1),
    lab.Fault("clock", "an hour between two clocks: a warning with the name, the same bits", skewed_clock, quick=1, full=1),
]
