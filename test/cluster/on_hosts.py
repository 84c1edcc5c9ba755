"""Training and comparing on four hosts: undisturbed, interrupted on request, with a slow host, with one host cut
off."""
import json
import re
import signal
import time

import hosts
import lab

MORE = ["--epochs", "15", "--shape-compute", "3ms", "--log-every", "20"]  # some seconds, mostly of sleep
LONG = [*hosts.TRAINING, *MORE]


def train(place):
    """The number of epochs comes from the environment, which must reach all hosts."""
    job = hosts.run(place, ["train", *hosts.TRAINING, "--run-dir", place.run_dir()], settings={"EAVE_EPOCHS": "5"})
    lab.require_code(job, 0)
    lab.require(hosts.names_hosts(job.says()), f"not a rank on each host: {job.says()[:600]}")
    lab.require(lab.digest(place.run_dir()) == hosts.undisturbed(place.eave, 4, "--epochs", "5"),
                "other bits than on one machine")


def compare(place):
    words = ["compare", "--communicators", "easgd:tau=4,local-sgd:tau=4", "--ranks", "2,4", "--seeds", "2", "--budget",
             "epochs=1", *lab.SMALL[:-4], "--progress", "off", "--output", place.directory / "compared"]
    job = hosts.run(place, words, limit=120)
    lab.require_code(job, 0)
    lab.require((place.directory / "compared" / "report.html").exists(), f"no report: {job.says()[-600:]}")
    runs = list((place.directory / "compared").glob("*/summary.json"))
    lab.require(len(runs) == 14, f"{len(runs)} runs, not 2 seeds of (3 methods on 2 and on 4 ranks, and one rank alone)")
    again = hosts.run(place, words, limit=60)
    lab.require_code(again, 0)
    lab.require(again.seconds < job.seconds, "finished runs were made again")


def begin(place, *words, **others):
    """Starts a long run and returns its job some steps after the beginning."""
    job = hosts.start(place, ["train", *LONG, "--run-dir", place.run_dir(), "--resume", "auto", *words], **others)
    metrics = place.run_dir() / "metrics.jsonl"
    begun = job.wait_until(lambda: metrics.exists() and lab.last_step(place.run_dir()) > 60)
    lab.require(begun, f"it ended: {job.tail()}")
    time.sleep(place.random.uniform(0, 0.3))
    return job


def finish(place):
    job = hosts.run(place, ["train", *LONG, "--run-dir", place.run_dir(), "--resume", "auto"], limit=90)
    lab.require_code(job, 0)
    lab.require(lab.digest(place.run_dir()) == hosts.undisturbed(place.eave, 4, *MORE),
                "other bits than undisturbed")


def resume(place):
    job = begin(place)
    job.signal(job.pid, signal.SIGUSR1)
    job.wait(30)
    lab.require_code(job, 75)
    finish(place)


def slow(place):
    """Trains over a link of 20 mbit/s. A method that sends more seldom is faster. doctor names the slow host."""
    words = ["train", *lab.SMALL, "--epochs", "0.5"]
    seconds = {}
    hosts.set_up()
    hosts.netlab("slow", 2, "--rate", "20mbit", "--delay", "5ms")
    try:
        for name in ("allreduce", "easgd", "easgd-async"):
            run_dir = place.run_dir(name)
            job = hosts.run(place, [*words, *lab.METHODS[name], "--run-dir", run_dir], limit=90)
            lab.require_code(job, 0)
            seconds[name] = json.loads((run_dir / "summary.json").read_text())["seconds"]
        doctor = hosts.run(place, ["doctor", "--run-dir", place.directory])
    finally:
        hosts.netlab("slow", 2, "--reset")
    lab.require("node2" in next(line for line in doctor.says().splitlines() if "links" in line),
                f"doctor does not name the slow host: {doctor.says()}")
    lab.require(seconds["easgd"] < seconds["allreduce"], f"{seconds}")
    with (place.run_dir("easgd-async") / "metrics.jsonl").open() as lines:
        equation = json.loads(next(lines))["equation"]
    lab.require("in shards of at most 32768 bytes" in equation, f"requests are not short on a slow link: {equation}")
    return {f"{name}_s": value for name, value in seconds.items()}


def slow_rank(place):
    """A rank is slow. A step takes some ms, long enough to recognise the slow rank although ranks share cores."""
    words = ["train", "--data", "synthetic", "--synthetic-samples", "60000", "--synthetic-test-samples", "100", "--model",
             "lenet", "--batch", "8", "--evaluate-every", "0", "--max-steps", "60", "--progress", "off",
             *lab.METHODS["allreduce"]]
    job = hosts.run(place, [*words, "--slow-rank", "2:4x", "--run-dir", place.run_dir()], limit=200)
    lab.require_code(job, 0)
    told = re.findall(r"^eave: warning: rank (\d+) on (\S+) is slow: .* by step (\d+)", job.complains(), re.MULTILINE)
    lab.require([each[:2] for each in told] == [("2", "node2")], f"told of {told}: {job.tail()}")
    lab.require_in_time(int(told[0][2]) <= 50, f"named by step {told[0][2]} only")


def cut(place):
    """With the settings of run-hosts, mpirun itself finds the lost host. eave's own limits of 10 min do not matter."""
    host = place.random.randrange(hosts.HOSTS)
    job = begin(place)
    hosts.netlab("cut", host)
    started = time.monotonic()
    try:
        job.wait(40)
        seconds = time.monotonic() - started
        lab.require_code(job, 205)
        lab.require(f"node{host}" in job.complains(), f"node{host} is not named: {job.tail()}")
    finally:
        job.end()
        hosts.netlab("heal", host)
    finish(place)
    return {"ended_s": seconds}


TESTS = [
    lab.Fault("train", "4 hosts: a rank on each, EAVE_* in force on all, the bits of one machine", train, quick=1, full=5),
    lab.Fault("compare", "4 hosts: all runs and a report; a second time nothing is made again", compare, quick=1, full=3),
    lab.Fault("resume", "SIGUSR1: 75, and the same command ends with the bits of an undisturbed run", resume, quick=1, full=5),
    lab.Fault("slow", "a host on a slow link: doctor names it, easgd waits less than allreduce, requests are short", slow, quick=1, full=3),
    lab.Fault("slow-rank", "a rank at a quarter of its speed: named with its host within 50 steps, nobody else", slow_rank,
              quick=1, full=3),
    lab.Fault("cut", "a host cut off: 205 and its name; the same command goes on, the same bits", cut, quick=1, full=5),
]
