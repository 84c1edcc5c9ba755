"""Programs of one's own behind --, started by the scripts for hosts and for Slurm, with MPI and with torchrun."""
import functools
import json
import os
import pathlib
import re
import subprocess
import sys

import hosts
import in_slurm
import lab
import slurm

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(lab.ROOT / "bench"))
import pytorch_environment

STEPS, PAUSE = 150, 0.05


def variables(place):
    library = place.eave.parent / "libeave.so"
    if not library.exists():
        raise lab.Skip(f"no {library}: cmake --build {place.eave.parent} --target eave_library")
    return {"PYTHONPATH": str(lab.ROOT / "include" / "python"), "LIBEAVE": str(library), "PYTHONDONTWRITEBYTECODE": "1"}


def words(folder, steps=STEPS, pause=0.0):
    return ["--", sys.executable, HERE / "own_job.py", folder, steps, pause]


def submit(place, script, arguments, settings=None, **values):
    settings = variables(place) | (settings or {}) | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    export = "--export=ALL," + ",".join(f"{name}={value}" for name, value in settings.items())
    return slurm.Batch(place, script, [export], arguments, **values)


def require_end(place, ranks):
    """Requires that the job has left the values that run-local's ranks leave on this machine."""
    alone = place.directory / "alone"
    alone.mkdir()
    script = hosts.with_values("run-local", place, ranks=ranks)
    ended = subprocess.run([script, *map(str, words(alone))], env=os.environ | variables(place) | {"OMPI_MCA_rmaps_base_oversubscribe": "1"},
                           capture_output=True, text=True, timeout=60, check=False)
    lab.require(ended.returncode == 0, f"run-local: {ended.returncode} {ended.stderr}")
    lab.require((place.directory / "end").read_text() == (alone / "end").read_text(), "other values than on one machine")


def require_ranks(text, number, begin=0):
    found = sorted(re.findall(r"^rank (\d) on node(\d) of (\d) begins with step (\d+)$", text, re.MULTILINE))
    due = [(str(rank), str(rank), str(number)) for rank in range(number)]
    lab.require([each[:3] for each in found[:number]] == due and int(found[0][3]) >= begin, f"ranks are {found}: {text[-1500:]}")


def in_a_job(launcher, place, **settings):
    job = submit(place, "slurm-cpu", words(place.directory), settings, launcher=launcher)
    job.wait()
    require_ranks(job.log(), slurm.NODES)
    require_end(place, slurm.NODES)


def by_torchrun_alone(place):
    """eave's ranks meet through the store of torchrun's job."""
    if (python := pytorch_environment.find_pytorch()) is None:
        raise lab.Skip("no PyTorch: bench/pytorch_environment.py installs it")
    arguments = ["--", python, *words(place.directory)[2:]]
    job = submit(place, "slurm-cpu", arguments, launcher=[str(python.parent / "torchrun")])
    job.wait(90)
    require_ranks(job.log(), slurm.NODES)
    require_end(place, slurm.NODES)


def requeued(place):
    job = submit(place, "slurm-requeue", words(place.directory, pause=PAUSE))
    job.wait_until(lambda: job.log().count("begins with step 0") == slurm.NODES, 40)
    in_slurm.leave_and_go_on(job)
    lab.require("ended with 0" in job.log() and re.search(r"begins with step [1-9]", job.log()), job.log())
    require_end(place, slurm.NODES)


def on_hosts(place):
    job = hosts.run(place, words(place.directory), settings=variables(place), hosts=["node0", "node1"])
    lab.require_code(job, 0)
    require_ranks(job.says(), 2)
    require_end(place, 2)
    missing = hosts.run(place, ["--", "no-such-program"], hosts=["node0", "node1"])
    lab.require_code(missing, 66)
    lab.require("host node1: no program no-such-program" in missing.complains(), missing.complains())


def by_torchrun(place):
    """Two ranks on each node meet. Then the same goes back into the queue: torchrun says 1 of ranks that ended with 75."""
    if (python := pytorch_environment.find_pytorch()) is None:
        raise lab.Skip("no PyTorch: bench/pytorch_environment.py installs it")
    arguments = ["--", python, HERE / "torchrun_job.py", place.directory]
    launcher = [str(python.parent / "torchrun")]
    job = submit(place, "slurm-cpu", [*arguments, 0], launcher=launcher)
    job.wait(90)
    found = sorted(re.findall(r"^rank (\d) on (node\d) of 2: 3\.0, local rank 0$", job.log(), re.MULTILINE))
    lab.require([each[0] for each in found] == ["0", "1"] and len({each[1] for each in found}) == 2, job.log()[-2000:])
    for file in [*place.directory.glob("there-*"), *place.directory.glob("log-*")]:
        file.unlink()
    job = submit(place, "slurm-requeue", [*arguments, 60], launcher=launcher, most_turns=1)
    job.wait_until(lambda: len(list(place.directory.glob("there-*"))) == 2, 60)
    slurm.command("scancel", "--batch", "--signal=USR1", job.id)
    job.wait(40, ["FAILED"])
    lab.require(job.code() == 75 and "no further turn" in job.log(), f"{job.code()}: {job.log()[-2000:]}")


def comparison(place, *more, python=sys.executable):
    program = f"'{python}' '{lab.ROOT / 'test/program/own/quadratic.py'}'"
    return [str(place.eave), "compare", "--program", program, "--communicators", "easgd:tau=3", "--ranks", "2", "--seeds", "2",
            "--budget", "steps=30", "--output", str(place.directory / "compared"), *more]


def require_compared(place, output):
    found = sorted(file.parent.name for file in (place.directory / "compared").glob("*/summary.json"))
    due = [f"{who}-seed{seed}" for who in ("allreduce-p2", "easgd-tau-3-p2", "one-rank-p1") for seed in (1, 2)]
    lab.require(found == due, f"runs {found}: {output[-2000:]}")
    lab.require((place.directory / "compared" / "report.html").exists() and "With 2 ranks" in output, output[-2000:])


def compared_by_srun(place):
    """In a Slurm job eave compare starts a rank of each run on each node by srun, without being told to."""
    slurm.set_up()
    settings = [f"{name}={value}" for name, value in variables(place).items()]
    output = slurm.command("salloc", "--nodes=2", "--ntasks-per-node=1", "env", *settings, *comparison(place))
    require_compared(place, output)
    log = (place.directory / "compared" / "easgd-tau-3-p2-seed1.log").read_text()
    lab.require(log.startswith("srun -n 2 --mpi=pmix --kill-on-bad-exit=1 "), log[:300])
    header = (place.directory / "compared" / "easgd-tau-3-p2-seed1" / "metrics.jsonl").read_text().splitlines()[0]
    hosts_of_ranks = {each["host"] for each in json.loads(header)["ranks"]}
    lab.require(len(hosts_of_ranks) == 2, f"the ranks are on {hosts_of_ranks}")


def compared_by_torchrun(place):
    if (python := pytorch_environment.find_pytorch()) is None:
        raise lab.Skip("no PyTorch: bench/pytorch_environment.py installs it")
    words = comparison(place, "--launcher", str(python.parent / "torchrun"), python=python)
    ended = subprocess.run(words, env=os.environ | variables(place), capture_output=True, text=True, timeout=200, check=False)
    lab.require(ended.returncode == 0, f"{ended.returncode}: {ended.stdout[-1000:]}{ended.stderr[-2000:]}")
    require_compared(place, ended.stdout)


TESTS = [
    lab.Fault("own-compare-srun", "eave compare --program in a Slurm job: srun starts the ranks of each run, one on each node",
              compared_by_srun, quick=0, full=1),
    lab.Fault("own-compare-torchrun", "eave compare --program --launcher torchrun: the ranks of each run meet without MPI",
              compared_by_torchrun, quick=0, full=1),
    lab.Fault("own-hosts", "run-hosts -- python3: ranks on two hosts, with PYTHONPATH and LIBEAVE; a missing program is named",
              on_hosts, quick=0, full=2),
    lab.Fault("own-mpirun", "slurm-cpu -- python3, with mpirun: a rank on each node, the bits of one machine",
              functools.partial(in_a_job, ["mpirun"]), quick=1, full=2),
    lab.Fault("own-pmix", "the same with srun --mpi=pmix", functools.partial(in_a_job, ["srun", "--mpi=pmix"]), quick=0, full=2),
    lab.Fault("own-srun", "the same with srun without MPI: the ranks meet at EAVE_MEET",
              functools.partial(in_a_job, ["srun", "--mpi=none"], EAVE_MEET="node0:29400"), quick=0, full=2),
    lab.Fault("own-torchrun-ranks", "the same with torchrun: eave's ranks meet through its store", by_torchrun_alone,
              quick=0, full=2),
    lab.Fault("own-requeue", "slurm-requeue -- python3: 75 on SIGUSR1, back into the queue, the bits of an undisturbed run",
              requeued, quick=0, full=2),
    lab.Fault("own-torchrun", "slurm-cpu with torchrun: ranks meet; SIGUSR1 reaches them, and the job ends with 75", by_torchrun,
              quick=0, full=2),
]
