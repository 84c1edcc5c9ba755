"""Hosts share no file system for the run directory. Still the whole run lies on rank 0's host, as if they shared
one."""
import contextlib
import json
import re
import signal

import bad_hosts
import hosts
import lab

MORE = ["--epochs", "15", "--shape-compute", "3ms", "--log-every", "20"]  # some seconds, mostly of sleep
WARNING = r"^eave: warning: {} of 4 ranks do not see --run-dir .* on rank 0's host node0, first rank {} on node{}: "


@contextlib.contextmanager
def own_disks(place, those):
    """On the hosts `those`, mounts another file system at `runs`. It holds an older run with the same name. Requires at
    the end that nothing was written there."""
    runs = place.directory / "runs"
    runs.mkdir(exist_ok=True)
    with contextlib.ExitStack() as mounts:
        for host in those:
            mounts.enter_context(bad_hosts.mounted(host, "-t", "tmpfs", "none", runs))
            hosts.on_host(host, "mkdir", "-p", runs / "run" / "checkpoint" / "step-000002")
            hosts.on_host(host, "touch", runs / "run" / "metrics.jsonl", runs / "run" / "run.lock")
        yield runs / "run"
        for host in those:
            left = hosts.on_host(host, "find", runs, "-type", "f").split()
            lab.require(len(left) == 2, f"host {host} has been written to: {left}")


def require_warning(job, count, first):
    told = re.search(WARNING.format(count, first, first), job.complains(), re.MULTILINE)
    lab.require(told, f"no warning of {count} ranks: {job.tail()}")


def require_whole(place, run_dir):
    job = place.run(1, ["checkpoint", "verify", run_dir])
    lab.require_code(job, 0)
    lab.require("whole" in job.says() and "step 2:" not in job.says(), job.says())


def train(place):
    words = ["train", *hosts.TRAINING, "--epochs", "5", "--require-checkpoint"]
    with own_disks(place, [1, 2, 3]) as run_dir:
        job = hosts.run(place, [*words, "--run-dir", run_dir])
        lab.require_code(job, 0)
        require_warning(job, 3, 1)
        doctor = hosts.run(place, ["doctor", "--run-dir", run_dir])
        lab.require("node1" in doctor.says() and "go through rank 0" in doctor.says(), doctor.says())
        lab.require(not list(run_dir.glob("run.lock*")), "a mark has been left")
    require_whole(place, run_dir)
    lab.require(lab.digest(run_dir) == hosts.undisturbed(place.eave, 4, "--epochs", "5"), "other bits")


def resume(place):
    """A run leaves on request and resumes, each time with other hosts that do not have it. At last all hosts have
    it."""
    words = ["train", *hosts.TRAINING, *MORE, "--resume", "auto", "--run-dir"]
    for those, first in (([2], 2), ([1, 3], 1)):
        with own_disks(place, those) as run_dir:
            before = lab.last_step(run_dir) if (run_dir / "metrics.jsonl").exists() else 0
            job = hosts.start(place, [*words, run_dir])
            begun = job.wait_until(lambda: (run_dir / "metrics.jsonl").exists() and lab.last_step(run_dir) > before + 60)
            lab.require(begun, f"it ended: {job.tail()}")
            job.signal(job.pid, signal.SIGUSR1)
            job.wait(30)
            lab.require_code(job, 75)
            require_warning(job, len(those), first)
        require_whole(place, run_dir)
    job = hosts.run(place, [*words, run_dir], limit=90)
    lab.require_code(job, 0)
    lab.require("do not see" not in job.complains(), job.complains())
    lab.require(lab.digest(run_dir) == hosts.undisturbed(place.eave, 4, *MORE), "other bits than undisturbed")


def elastic(place):
    words = ["train", *hosts.TRAINING, "--run-dir"]
    with own_disks(place, [1, 3]) as run_dir:
        lab.require_code(hosts.run(place, [*words, run_dir, "--epochs", "1"]), 0)
        job = hosts.run(place, [*words, run_dir, "--epochs", "2", "--resume", "elastic"], hosts=["node0", "node1"])
        lab.require_code(job, 0)
    require_whole(place, run_dir)


def full(place):
    """The disk of rank 0's host is full. Writes for other ranks fail as rank 0's own do, and training goes on."""
    words = ["train", *hosts.TRAINING, "--epochs", "5", "--model", "dense 4096; relu; dense classes", "--run-dir"]
    runs = place.directory / "runs"
    runs.mkdir()
    with bad_hosts.mounted(0, "-t", "tmpfs", "-o", "size=4m", "none", runs):
        job = hosts.run(place, [*words, runs / "run", "--require-checkpoint"])
        lab.require_code(job, 74)
        job = hosts.run(place, [*words, runs / "other"])
        told = re.search(r"^eave: warning: the checkpoint .*: rank 0 on node0: cannot write .*No space left", job.complains(),
                         re.MULTILINE)
        lab.require(told, f"no warning: {job.tail()}")


def compare(place):
    """If runs on two ranks went side by side, half of the results would lie on another host."""
    output = place.directory / "runs"
    output.mkdir()
    words = ["compare", "--communicators", "easgd:tau=4,local-sgd:tau=4", "--ranks", "2", "--seeds", "1", "--budget",
             "epochs=1", *lab.SMALL[:-4], "--progress", "off", "--output", output]
    with contextlib.ExitStack() as mounts:
        for host in (1, 2, 3):
            mounts.enter_context(bad_hosts.mounted(host, "-t", "tmpfs", "none", output))
        job = hosts.run(place, words, limit=120)
        lab.require_code(job, 0)
        lab.require("3 of 4 ranks do not see --output" in job.complains(), job.complains())
    lab.require((output / "report.html").exists(), f"no report: {job.says()[-600:]}")
    runs = list(output.glob("*/summary.json"))
    lab.require(len(runs) == 4, f"{len(runs)} runs, not one of three methods, and one of a rank alone")


def checkpoint_dir(place):
    """If only rank 0's host has the directory of checkpoints, there is a warning. If only another host has it, eave
    names it and ends, and no rank hangs."""
    disk, run_dir = place.directory / "disk", place.directory / "run"
    disk.mkdir()
    words = ["train", *hosts.TRAINING, "--run-dir", run_dir, "--checkpoint-dir", disk / "own"]
    with contextlib.ExitStack() as mounts:
        for host in (1, 2, 3):
            mounts.enter_context(bad_hosts.mounted(host, "-t", "tmpfs", "none", disk))
        job = hosts.run(place, [*words, "--epochs", "5"])
        lab.require_code(job, 0)
        told = re.search(WARNING.format(3, 1, 1).replace("--run-dir", "--checkpoint-dir"), job.complains(), re.MULTILINE)
        lab.require(told, f"no warning: {job.tail()}")
        lab.require(not hosts.on_host(1, "find", disk, "-type", "f"), "host 1 has been written to")
    lab.require_code(place.run(1, ["checkpoint", "verify", run_dir]), 0)
    aside = place.directory / "aside"
    (disk / "own").rename(aside)
    with bad_hosts.mounted(1, "-t", "tmpfs", "none", disk):
        hosts.on_host(1, "cp", "-r", aside, disk / "own")
        job = hosts.run(place, [*words[:-2], "--epochs", "6", "--resume"], limit=20)
        lab.require_code(job, 66)
        lines = [line for line in job.complains().splitlines() if line.startswith("eave: ")]
        lab.require(len(lines) == 1 and "node0" in lines[0] and str(disk / "own") in lines[0], f"said: {lines}")


def slow(place):
    """Saves three checkpoints over links of 100 mbit/s. A save takes as long as its bytes need into rank 0's host."""
    words = ["train", *hosts.TRAINING, "--model", "dense 8000; relu; dense classes", "--max-steps", "6", "--evaluate-every",
             "0", "--checkpoint-every", "2"]
    with own_disks(place, [1, 2, 3]) as run_dir:
        for host in range(hosts.HOSTS):
            hosts.netlab("slow", host, "--rate", "100mbit")
        try:
            job = hosts.run(place, [*words, "--run-dir", run_dir], limit=150)
            lab.require_code(job, 0)
        finally:
            for host in range(hosts.HOSTS):
                hosts.netlab("slow", host, "--reset")
    summary = json.loads((run_dir / "summary.json").read_text())
    size = sum((run_dir / "checkpoint/step-000006" / f"rank-{rank}.state").stat().st_size for rank in (1, 2, 3))
    seconds, by_bytes = summary["checkpoint_seconds"] / summary["checkpoints"], size / 12.5e6
    lab.require(seconds > by_bytes, f"{size} bytes went in {seconds} s: over another link?")
    lab.require_in_time(seconds < 1.5 * by_bytes, f"{seconds} s, and {by_bytes} s by their bytes")
    return {"save_s": seconds, "by_bytes_s": by_bytes}


TESTS = [
    lab.Fault("own-disks", "a run directory on rank 0's host alone, older ones of that name on 3 others: the bits of one machine",
              train, quick=1, full=5),
    lab.Fault("own-disks-resume", "75 twice, on other hosts without it each time: goes on, the bits of an undisturbed run",
              resume, quick=1, full=5),
    lab.Fault("own-disks-elastic", "saved by 4 ranks, gone on with by 2, of which one does not see it", elastic, quick=1,
              full=1),
    lab.Fault("own-disks-full", "rank 0's disk is full while it writes for others: a warning, 74 where asked", full, quick=1,
              full=1),
    lab.Fault("own-disks-checkpoints", "--checkpoint-dir on rank 0's host alone: a warning; on another alone: 66 that names it",
              checkpoint_dir, quick=1, full=1),
    lab.Fault("own-disks-slow", "three ranks save over 100 mbit/s: within half as much again of what their bytes take", slow,
              quick=1, full=3),
    lab.Fault("own-disks-compare", "runs go one after another, and all are on rank 0's host", compare, quick=1, full=1),
]
