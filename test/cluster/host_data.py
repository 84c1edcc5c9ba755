"""Hosts have their data at different places: one host at another path, and each host on its own disk (--stage-to)."""
import contextlib
import signal

import bad_hosts
import hosts
import lab

MODEL = ["--data", "mnist", "--model", "dense 8; dense classes", "--batch", "2", "--progress", "off"]
TRAINING = ["train", *MODEL, "--epochs", "4", *lab.METHODS["easgd"]]


def make_data(place):
    data = place.directory / "data"
    data.mkdir()
    bad_hosts.write_mnist(data)
    return data


def alone(place, ranks, data, *words):
    """Returns the digest of the same run on this machine, with all data at one place."""
    job = place.run(ranks, [*TRAINING, *words, "--data-dir", data, "--run-dir", place.run_dir("alone")])
    lab.require_code(job, 0)
    return lab.digest(place.run_dir("alone"))


def own_data(place, **values):
    """node2's environment names another place of the data than the environment of run-hosts, which names node0's. node2
    has nothing at node0's place."""
    data = make_data(place)
    own = hosts.set_up().parent / "own-data"  # the same path in all trials, because sshd reads it when it starts
    own.mkdir(exist_ok=True)
    shell = ["ssh", "-F", hosts.sshd_apart(2, f"SetEnv EAVE_DATA_DIR={own}"), "-o", "BatchMode=yes"]
    others = {"hosts": ["node0", "node2"], "remote_shell": shell, "settings": {"EAVE_DATA_DIR": str(data)}, **values}
    words = [*TRAINING, "--run-dir", place.run_dir()]
    with bad_hosts.mounted(2, "--bind", data, own), bad_hosts.mounted(2, "-t", "tmpfs", "none", data):
        job = hosts.run(place, words, **others)
        lab.require_code(job, 0)
        lab.require(hosts.names_hosts(job.says(), [0, 2]), f"not a rank on each host: {job.says()[:600]}")
    lab.require(lab.digest(place.run_dir()) == alone(place, 2, data), "other bits than with all data at one place")
    bad_hosts.refused(place, 66, f"rank 1 on node2: no files of mnist", f" in {own}, ", words=[*words, "--overwrite"], **others)


@contextlib.contextmanager
def staging_places(place, those, *options):
    """Mounts an empty disk at `stage` on each of the hosts `those`."""
    stage = place.directory / "stage"
    stage.mkdir()
    with contextlib.ExitStack() as mounts:
        for host in those:
            mounts.enter_context(bad_hosts.mounted(host, "-t", "tmpfs", *options, "none", stage))
        yield stage


def readers(host, stage):
    """Returns how many processes on the host have images of the copy open."""
    look = f"find /proc/[0-9]*/fd -lname '{stage}/*-images-idx3-ubyte' -printf '%h\\n' 2>/dev/null | sort -u | wc -l"
    return int(hosts.on_host(host, "sh", "-c", look))


def files_made(host, stage):
    """Returns the names of the copies on the host, how many files and folders were made, and how many are left. The
    first number comes from inodes, which tmpfs numbers in the order of creation."""
    lines = hosts.on_host(host, "find", stage, "-mindepth", "1", "-printf", "%i %f\n").splitlines()
    found = [line.split(" ", 1) for line in lines]
    numbers = [int(number) for number, _ in found]
    return sorted(name for _, name in found if name.endswith("-ubyte")), max(numbers) - min(numbers) + 1, len(found)


def staged(place):
    data = make_data(place)
    # mpi-flat sums in the same order on any hosts.
    more = ["--shape-compute", "20ms", "--epochs", "20", "--transport", "mpi-flat"]
    with staging_places(place, [0, 1]) as stage:
        job = hosts.start(place, [*TRAINING, *more, "--data-dir", data, "--stage-to", stage, "--run-dir", place.run_dir()],
                          hosts=["node0 slots=2", "node1 slots=2"])
        read = job.wait_until(lambda: [readers(host, stage) for host in (0, 1)] == [2, 2])
        lab.require(read, f"not two ranks of each host have read its copy: {job.tail()}")
        job.wait(60)
        lab.require_code(job, 0)
        for host in (0, 1):
            names, made, left = files_made(host, stage)
            lab.require(names == sorted(each.name for each in data.iterdir()), f"node{host} has {names}")
            # The second rank of a host replaces the record of the copies. If the copies were made twice, there would be
            # four files more.
            lab.require(made <= left + 1, f"node{host}: {made} files were made for the {left} that are there")
        numbers = hosts.on_host(0, "find", stage, "-name", "*-ubyte", "-printf", "%i %T@ %f\n")
        again = hosts.run(place, [*TRAINING, "--data-dir", data, "--stage-to", stage, "--run-dir", place.run_dir("again")],
                          hosts=["node0 slots=2", "node1 slots=2"])
        lab.require_code(again, 0)
        lab.require(hosts.on_host(0, "find", stage, "-name", "*-ubyte", "-printf", "%i %T@ %f\n") == numbers, "a second run copied again")
    lab.require(lab.digest(place.run_dir()) == alone(place, 4, data, *more), "other bits than from the files themselves")


def no_room(place):
    data = make_data(place)
    words = [*TRAINING, "--data-dir", data, "--stage-to", place.directory / "stage", "--run-dir", place.run_dir()]
    with staging_places(place, [1], "-o", "size=24k"):
        return bad_hosts.refused(place, 73, f"ranks 2, 3 on node1: --stage-to {place.directory}/stage: ", "no room for ",
                                 words=words, hosts=["node0 slots=2", "node1 slots=2"])


TESTS = [
    lab.Fault("own-data", "data at another place on one host, by its own EAVE_DATA_DIR: the bits of one place; missing: 66",
              own_data, quick=1, full=3),
    lab.Fault("staged", "--stage-to on 2 hosts with 2 ranks each: one copy on each, which all its ranks read", staged, quick=1,
              full=3),
    lab.Fault("stage-full", "no room on one host for what --stage-to copies: 73 and its name", no_room, quick=1, full=3),
]
