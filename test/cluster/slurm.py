"""Runs Slurm on two hosts, and the scripts of mpi_launch in it."""
import atexit
import functools
import os
import re
import shutil
import subprocess
import time

import hosts
import lab

NAME = f"eave-slurm-{os.getpid()}"
NODES = 2
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("EAVE_")} | {
    "NETLAB_NAME": NAME, "OMPI_MCA_rmaps_base_oversubscribe": "0"}


def slurmlab(*words, program="slurmlab"):
    return subprocess.run([str(lab.lab_program(program)), *map(str, words)], env=ENVIRONMENT, capture_output=True,
                          text=True)


@functools.lru_cache(maxsize=None)
def set_up():
    """Starts Slurm, which runs until this process ends."""
    for needed in ("slurmctld", "munged", "mpirun"):
        if not shutil.which(needed) and not os.path.exists(f"/usr/sbin/{needed}"):
            raise lab.Skip(f"no {needed}: mpi_launch/install_packages build cluster")
    lab.lab_program("slurmlab")
    atexit.register(lambda: slurmlab("down"))
    up = slurmlab("up", NODES, "--cpus", 2)
    if up.returncode:
        raise lab.Skip(f"slurmlab does not start: {(up.stdout + up.stderr)[-300:]}")


def command(*words):
    """Runs a command of Slurm and returns its output."""
    done = slurmlab("exec", *words)
    lab.require(done.returncode == 0, f"{words}: {done.stderr}")
    return done.stdout.strip()


class Batch:
    """A job of one of the scripts, with values for it, and arguments. Options of sbatch override those in the script."""

    def __init__(self, place, script, options=(), arguments=(), **values):
        set_up()
        self.place, self.waits_since = place, None
        copy = hosts.with_values(script, place, **{"program": place.eave, **values})
        self.id = command("sbatch", "--parsable", "--nodes=2", "--ntasks-per-node=1",
                          f"--output={place.directory}/log-%a", *options, str(copy), *map(str, arguments))

    def log(self):
        return "".join(file.read_text(errors="replace") for file in sorted(self.place.directory.glob("log-*")))

    def fields(self):
        """Returns, for each job of the array, the fields that `scontrol show job` prints."""
        return [dict(re.findall(r"(\w+)=(\S*)", line)) for line in command("scontrol", "-o", "show", "job", self.id).splitlines()]

    def wait_until(self, holds, limit):
        end = time.monotonic() + limit
        while not holds():
            if time.monotonic() > end:
                why = f"waited {limit} s in vain, {self.fields()[0].get('JobState')}: {self.log()[-1500:]}"
                slurmlab("exec", "scancel", self.id)
                raise lab.Failed(why)
            time.sleep(0.2)

    def wait(self, limit=60, states=("COMPLETED",)):
        """Waits until all jobs have ended. Requires that each has one of the states."""
        ends = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY"}
        self.wait_until(lambda: all(each["JobState"] in ends for each in self.fields()), limit)
        found = {each["JobState"] for each in self.fields()}
        lab.require(found <= set(states), f"ended as {found}, not {states}: {self.log()[-1500:]}")

    def code(self):
        return int(self.fields()[0]["ExitCode"].split(":")[0])

    def start_if_it_waits(self, pause_s=5):
        """Returns the job's state, and starts the job if it has waited for `pause_s`. After a job is put back into the
        queue, Slurm would let it wait for two minutes. Some seconds are enough for the rest of its former turn to
        end."""
        state = self.fields()[0]["JobState"]
        if state != "PENDING":
            self.waits_since = None
        elif not self.waits_since:
            self.waits_since = time.monotonic()
        elif time.monotonic() - self.waits_since > pause_s:
            slurmlab("exec", "scontrol", "update", f"job={self.id}", "starttime=now")
        return state

    def steps(self, run_dir):
        return lab.last_step(run_dir) if (run_dir / "metrics.jsonl").exists() else 0
