"""F4, F5: the network is cut for good, or bad for a while. There are three hosts with a rank each."""
import atexit
import functools
import os
import pathlib
import subprocess
import time

import lab

LAB = os.environ.get("NETLAB_NAME", "faults")
HOSTS = 3
LIMIT = 4.0
# With these settings mpirun itself finds a lost host, some 9 s after the cut.
KEEPALIVE = ["--mca", "oob_tcp_keepalive_time", "3", "--mca", "oob_tcp_keepalive_intvl", "2", "--mca",
             "oob_tcp_keepalive_probes", "3"]
TRAINING = [*lab.SMALL, "--evaluate-every", "0.5", "--checkpoint-every", "50", *lab.METHODS["easgd"]]


def netlab(*words):
    environment = os.environ | {"NETLAB_NAME": LAB}
    done = subprocess.run([str(lab.lab_program("netlab")), *words], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise lab.Skip(f"netlab {' '.join(words)}: {done.stderr[-300:]}")


@functools.lru_cache(maxsize=None)
def set_up():
    """Starts hosts that run until this process ends."""
    netlab("up", str(HOSTS))
    atexit.register(lambda: netlab("down"))


def launch(place, options, *words):
    set_up()
    before = [str(lab.lab_program("netlab")), "mpirun", "-n", str(HOSTS), *options]
    return lab.Job([*before, *place.eave_words("train", *TRAINING, "--run-dir", place.run_dir(), *words)],
                   place.directory, {"OMPI_MCA_btl": "tcp,vader,self", "NETLAB_NAME": LAB})


def start(place, options, *words):
    for _ in range(3):  # on a busy machine mpirun sometimes never gets its daemons started
        job = launch(place, options, *words)
        end = time.monotonic() + 10
        while time.monotonic() < end and not (place.run_dir() / "config.json").exists():
            time.sleep(0.05)
        if (place.run_dir() / "config.json").exists():
            break
        job.end()
    metrics = place.run_dir() / "metrics.jsonl"
    lab.require(job.wait_until(lambda: metrics.exists() and lab.last_step(place.run_dir()) > 60), job.tail())
    time.sleep(place.random.uniform(0, 0.3))
    return job


def require_same_bits(place, *words):
    expected, _ = lab.undisturbed(place.eave, HOSTS, "train", *TRAINING, *words)
    lab.require(lab.digest(place.run_dir()) == expected, "other bits than undisturbed")


def ranks_of(place):
    """Returns the process numbers of the ranks of this trial's job, on all hosts."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and lab.executable_of(entry.name) == str(place.eave):
            if lab.environment_of(entry.name).get("OMPI_COMM_WORLD_RANK") and lab.is_alive(entry.name):
                if str(place.run_dir()) in lab.command_of(entry.name):
                    found.append(int(entry.name))
    return found


def checkpoints(place):
    return {path.name for path in place.run_dir().glob("checkpoint*/step-*") if not path.name.endswith(".partial")}


def epochs(place):
    """Training lasts some seconds longer than it takes to cut a host off. With --quick, its steps mostly sleep."""
    return ["--epochs", "250"] if place.is_full else ["--epochs", "20", "--shape-compute", "2ms"]


def cut(place):
    """The ranks find the silent rank and end. mpirun hears nothing from the silent host, so it does not end itself."""
    job = start(place, [], *epochs(place), "--limit-step", f"{LIMIT:.0f}s", "--limit-checkpoint", f"{LIMIT:.0f}s")
    host = place.random.randrange(HOSTS)
    netlab("cut", str(host))
    started = time.monotonic()
    try:
        told = f"rank {host} on node{host} has not answered for {LIMIT:.0f} s"
        job.wait_until(lambda: told in job.complains(), limit=30)
        saved = checkpoints(place)
        while ranks_of(place) and time.monotonic() - started < 30:
            time.sleep(0.05)
        ended = time.monotonic() - started
        lab.require(told in job.complains(), f"not told: {job.tail()}")
        lab.require_in_time(ended <= LIMIT + 2, f"ranks ended after {ended:.2f} s")
        lab.require(checkpoints(place) == saved, "a checkpoint was saved after the end")
        figures = {"ended_s": ended}
    finally:
        job.end()
        netlab("heal", str(host))
    resume(place)
    return figures


def cut_with_keepalive(place):
    """mpirun finds the silent host before eave's limit. It ends all ranks, and ends with 205."""
    job = start(place, KEEPALIVE, *epochs(place), "--limit-step", "16s", "--limit-checkpoint", "16s")
    host = place.random.randrange(HOSTS)
    netlab("cut", str(host))
    started = time.monotonic()
    try:
        job.wait(30)
        lab.require_code(job, 69, 205)
        ended = time.monotonic() - started
        lab.require(f"rank {host} on node{host} has not answered" in job.complains(), f"not named: {job.tail()}")
        while ranks_of(place) and time.monotonic() - started < 30:
            time.sleep(0.05)
        lab.require(not ranks_of(place), "ranks are left")
    finally:
        job.end()
        netlab("heal", str(host))
    resume(place)
    return {"by_keepalive_s": ended}


def resume(place):
    # The hosts are those of the dead run, so its lock can be taken over.
    job = launch(place, [], *epochs(place), "--resume")
    job.wait(60)
    lab.require_code(job, 0)
    require_same_bits(place, *epochs(place))


def disturb(place):
    """Disturbs the network for 2 s: silence, or 1 % of all frames lost, or 100 ms more delay for each frame."""
    job = start(place, [], "--epochs", "8")
    host = str(place.random.randrange(HOSTS))
    if place.index % 3 == 0:
        netlab("cut", host)
        time.sleep(2)
        netlab("heal", host)
    else:
        netlab("slow", host, *(["--loss", "1%"] if place.index % 3 == 1 else ["--delay", "100ms"]))
        time.sleep(2)
        netlab("slow", host, "--reset")
    job.wait(120)
    lab.require_code(job, 0)
    lab.require(not job.messages(), f"failures told: {job.tail()}")
    require_same_bits(place, "--epochs", "8")
    return {"seconds": job.seconds}


FAULTS = [
    lab.Fault("F4", "a host cut off for good: its rank named, all ranks gone at the limit, nothing saved then, resumed: "
              "the same bits", lambda place: cut_with_keepalive(place) if place.index % 2 else cut(place),
              quick=2, full=30, lane="hosts"),
    lab.Fault("F5", "2 s of silence, 1 % loss, 100 ms delay: no restart, the same bits", disturb, quick=3, full=30,
              lane="hosts"),
]
