"""slurm-gpu in a Slurm whose nodes have GPUs. The GPUs are device files that any machine has. eave computes on the
emulator of test/emulated_cuda. It shows a rank the GPUs that Slurm gave to it (CUDA_VISIBLE_DEVICES)."""
import functools
import os
import pathlib
import re
import time

import hosts
import in_slurm
import lab
import slurm

# With mpi-flat the order of summation does not depend on hosts. mpi would sum within each host first.
WORDS = ["--device", "cuda", "--deterministic", "--transport", "mpi-flat", "--epochs", "4"]
SRUN = ["srun", "--mpi=pmix"]
TASKS = 2  # tasks of each node, and GPUs of each node


@functools.lru_cache(maxsize=None)
def add_gpus():
    """Gives each node GPUs. Slurm reads its settings only when it starts, so this function starts it again."""
    slurm.set_up()
    place = pathlib.Path(os.environ.get("NETLAB_STATE", "/run/netlab")) / slurm.NAME / "slurm"
    settings = place / "etc" / "slurm.conf"
    settings.write_text(re.sub("^NodeName=.*", rf"\g<0> Gres=gpu:{TASKS}", settings.read_text(), flags=re.MULTILINE)
                        + "GresTypes=gpu\n")
    (place / "etc" / "gres.conf").write_text("Name=gpu File=/dev/null\nName=gpu File=/dev/zero\n")
    controller = int((place / "slurmctld.pid").read_text())
    slurm.command("scontrol", "shutdown", "slurmctld")
    for node in range(slurm.NODES):
        slurm.slurmlab("kill", node, "slurmd", program="netlab")
    end = time.monotonic() + 20
    while lab.is_alive(controller) and time.monotonic() < end:
        time.sleep(0.1)
    up = slurm.slurmlab("up", slurm.NODES, "--cpus", 2)
    lab.require(up.returncode == 0, up.stdout + up.stderr)
    found = slurm.command("sinfo", "--noheader", "--format=%D %G")
    lab.require(found == f"{slurm.NODES} gpu:{TASKS}", f"Slurm sees other GPUs: {found}")


def emulation(place, gpus):
    """Returns environment variables that make eave compute on an emulator with this number of GPUs."""
    module = place.eave.parent / "libeave_cuda_emulated.so"
    if not module.exists():
        raise lab.Skip(f"no {module.name} beside {place.eave.name}: test/run builds it")
    return {"LIBEAVE_CUDA": str(module), "EMULATED_CUDA_DEVICES": str(gpus)}


def options(place, gpus=TASKS):
    settings = emulation(place, gpus)
    add_gpus()
    return [f"--ntasks-per-node={TASKS}", "--cpus-per-task=1", f"--gpus-per-node={TASKS}",
            "--export=ALL," + ",".join(f"{name}={value}" for name, value in settings.items())]


def words(place, *more):
    return ["train", *hosts.TRAINING, *WORDS, *more, "--run-dir", place.run_dir(), "--resume", "auto"]


def submit(place, launcher, *more, asking=()):
    return slurm.Batch(place, "slurm-gpu", [*options(place), *asking], launcher=launcher, words=words(place, *more))


def require_same_bits(place):
    gpus = slurm.NODES * TASKS
    alone = emulation(place, gpus) | {"CUDA_VISIBLE_DEVICES": ",".join(map(str, range(gpus)))}
    lab.require(lab.digest(place.run_dir()) == hosts.undisturbed(place.eave, gpus, *WORDS, **alone),
                "other bits than on one machine")


def require_gpus(job):
    """Requires that eave's table of ranks shows another GPU of its node for each task. A task that saw only its own GPU
    would call it cuda:0."""
    rows = re.findall(r"^ *(\d+) +(node\d+) +(cuda:\d+) Emulated GPU ", job.log(), re.MULTILINE)
    due = [(str(node * TASKS + task), f"node{node}", f"cuda:{task}") for node in range(slurm.NODES) for task in range(TASKS)]
    lab.require(rows == due, f"ranks and GPUs are {rows}, not {due}: {job.log()[:1000]}")


def resumed(place):
    """The run is slowed so that the signal to leave comes in time. The same command then resumes it."""
    slower = ["--shape-compute", "5ms"]
    job = submit(place, SRUN, *slower)
    job.wait_until(lambda: job.steps(place.run_dir()) > 60, 120)
    require_gpus(job)
    slurm.command("scancel", "--batch", "--signal=USR1", job.id)
    job.wait(60, ["FAILED"])
    lab.require(job.code() == 75, f"exit code {job.code()}, not 75: {job.log()}")
    job = submit(place, SRUN, *slower)
    job.wait(180)
    lab.require("resumed" in job.log(), f"it did not go on: {job.log()[:1500]}")
    require_gpus(job)
    require_same_bits(place)


def shared_out(place, launcher, asking=()):
    """Ranks see all GPUs of their node, and each rank takes another one."""
    job = submit(place, launcher, asking=asking)
    job.wait(180)
    require_gpus(job)
    require_same_bits(place)


def too_few(place):
    """A job gets no GPU, since Slurm hides all of them. Another job gets fewer GPUs than tasks."""
    in_slurm.ended(place, 71, "no GPU can be used: the driver sees none", "slurm-gpu",
                   [*options(place, gpus=0), "--gpus-per-node=0"], launcher=SRUN, words=words(place))
    in_slurm.ended(place, 64, "no GPU is left for rank 1 on node0, which sees 1 GPU", "slurm-gpu",
                   [*options(place), "--gpus-per-node=1"], launcher=["mpirun"], words=words(place))
    lab.require(not place.run_dir().exists(), "a run was begun")


TESTS = [
    lab.Fault("slurm-gpu", "slurm-gpu on emulated GPUs: ranks share out those of their node; 75 on SIGUSR1, resumed: the bits "
              "of one machine", resumed, quick=1, full=3),
    lab.Fault("slurm-gpu-mpirun", "the same with mpirun", functools.partial(shared_out, launcher=["mpirun"]), quick=1, full=3),
    lab.Fault("slurm-gpu-per-task", "a job that asks for a GPU of each task: ranks still see all of their node",
              functools.partial(shared_out, launcher=SRUN, asking=["--gpus-per-task=1", "--gpu-bind=per_task:1"]), quick=1, full=3),
    lab.Fault("slurm-gpu-none", "no GPU, or fewer than tasks: said once, with the code", too_few, quick=1, full=1),
]
