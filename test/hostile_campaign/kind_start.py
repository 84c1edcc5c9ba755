"""Trials of the start and end of eave: signals at any moment, environments of launchers, mpirun."""
import signal

import bases as good
import kind_place
from calls import Call
from judge import DOCUMENTED
from plan import Plan

# The time of the dynamic loader on a busy machine. A program cannot block a signal before its first instruction.
LOADING_S = 0.06
LONG = [*good.SYNTHETIC, *good.MODEL, *good.RESUMED, "--shape-compute", "20ms"]
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP]


def _codes_of(number, ranks):
    """Returns the exit codes that README allows. A run that is asked leaves with 75. Before it begins and after it is
    over, a signal ends it as any program."""
    codes = {75, 128 + number}
    return codes | {1, 15, 143, 130, 129, 137} if ranks else codes  # mpirun has codes of its own


def _was_heard(outcome, number, after, run):
    """Complains if a signal ended the program although it could have left in order."""
    if outcome.code != 128 + number or (run / "summary.json").exists():
        return []
    if number == signal.SIGUSR1 and after >= LOADING_S:
        return [f"SIGUSR1 after {after:.3f} s has ended it"]
    return [f"{signal.Signals(number).name} has ended it while it trained"] if _has_begun(run) else []


def _has_begun(run):
    metrics = run / "metrics.jsonl"
    return metrics.exists() and b'"type":"step"' in metrics.read_bytes()


def make_signal(rng, place, base):
    """Whatever signal ends a run, the same command resumes it. It ends with the bytes of a run without a signal."""
    run, number, ranks = place.out / "run", rng.choice(SIGNALS), rng.choice([0, 0, 0, 0, 2])
    after = rng.choice([0, 0.001, 0.005, rng.uniform(0, 0.1), rng.uniform(0, 0.6), rng.uniform(0.2, 0.6)]) * (3 if ranks else 1)
    words = ["train", *LONG, "--run-dir", run, "--resume", "auto"]
    if ranks:  # two ranks with half of the batch take the same steps
        words += ["--batch", 4]
    to = rng.choice(["launcher", "rank"]) if ranks else "launcher"
    asked = Call(words, ranks=ranks, signal=(int(number), after, to))
    again = Call(words, ranks=ranks, promised=True)
    between = None if ranks else lambda outcome: _was_heard(outcome, number, after, run)

    def check(outcomes):
        told = []
        if outcomes[0].code == 75 and not any(run.glob("checkpoint/step-*")):
            told.append("SILENT: ends with 75 and has saved no checkpoint")
        if not ranks:
            told += kind_place._check_result(outcomes, base, run)
        return told
    return Plan([asked, again], f"{number.name} after {after:.3f} s to the {to}" + (f" of {ranks} ranks" if ranks else ""), [],
                ["out/run", "tmp"] if ranks else ["out/run"], check, codes=DOCUMENTED | _codes_of(number, ranks),
                bounds={"cpu_s": 10}, between=between, may_leave_memory=bool(ranks))


# Each trial gets a job number of its own, because trials run side by side, and only one process of a job prints.
def _torchrun(rng, size, rank):
    return {"RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(rng.randrange(1024, 65536)), "TORCHELASTIC_RUN_ID": "none", "GROUP_RANK": "0"}


def _slurm(rng, size, rank):
    return {"SLURM_JOB_ID": str(rng.randrange(1, 1 << 31)), "SLURM_STEP_ID": "0", "SLURM_NTASKS": str(size),
            "SLURM_STEP_NUM_TASKS": str(size), "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank), "SLURM_STEP_TASKS_PER_NODE": str(size)}


def _pmi(rng, size, rank):
    return {"PMI_SIZE": str(size), "PMI_RANK": str(rank), "PMI_JOBID": str(rng.randrange(1 << 31))}


# Open MPI makes a session directory when it starts. A job that eave refuses later leaves the directory. doctor names
# it.
SESSION = ["tmp"]
LAUNCHERS = {"torchrun": _torchrun, "srun": _slurm, "PMI": _pmi}
READING = ["summary", "report", "plan", "help", "watch", "export", "checkpoint"]


def _reading(rng, place, base):
    name, run = rng.choice(READING), base.run("allreduce")
    more = {"report": ["--html", "none"], "watch": ["--once"], "export": ["--safetensors", place.out / "m"]}.get(name, [])
    return [name] if name == "help" else ["checkpoint", "ls", run] if name == "checkpoint" else [name, run, *more]


def make_launcher(rng, place, base):
    """The environment promises several ranks, but there is only one. eave must not train alone without a message."""
    kind, rank = rng.choice(sorted(LAUNCHERS)), rng.choice([0, 0, 1])
    case = rng.randrange(5)
    environment = LAUNCHERS[kind](rng, rng.choice([2, 4]), rank)
    train = ["train", *kind_place.SHORT, "--run-dir", place.out / "run"]
    if case == 0:  # a container that exports only WORLD_SIZE
        return Plan([Call(train, {"WORLD_SIZE": "4"}, promised=True)], "WORLD_SIZE alone", [], ["out/run"],
                    lambda outcomes: kind_place._check_result(outcomes, base, place.out / "run"))
    if case == 1:
        words = [*train, "--transport", "threads", "--ranks", 2]
        return Plan([Call(words, environment, promised=kind == "torchrun")], f"threads under {kind}", [], ["out/run", *SESSION],
                    may_be_silent=rank != 0)
    if case == 2:
        words = _reading(rng, place, base)

        def said(outcomes):
            spoke = bool(outcomes[0].out.strip()) or (place.out / "m").exists()
            return [f"rank {rank} of {kind} " + ("says nothing" if rank == 0 else "acts, too")] if spoke != (rank == 0) else []
        return Plan([Call(words, environment, promised=True)], f"{words[0]} as rank {rank} of {kind}", [], ["out/m"], said)
    if case == 3:
        environment = LAUNCHERS[kind](rng, 1, 0)
        return Plan([Call(train, environment, promised=kind != "PMI")], f"one rank of {kind}", [], ["out/run"])

    def refused(outcomes):
        if outcomes[0].code == 0:
            return [f"SILENT: trains alone, though {kind} promised more ranks"]
        if outcomes[0].code != 69:
            return [f"ends with {outcomes[0].code}, and 69 is right where ranks are missing"]
        return ["names no remedy"] if rank == 0 and not outcomes[0].err.strip() else []
    return Plan([Call(train, environment)], f"rank {rank} of {kind}", [], ["out/run", *SESSION], refused, may_be_silent=rank != 0)


MPI = ["summary", "report", "plan", "watch", "export", "checkpoint", "train", "wrong"]


def make_mpirun(rng, place, base):
    """Two ranks print one message and one table, and end with one exit code."""
    name = rng.choice(MPI)
    if name in READING:
        words = _reading(rng, place, base)
        return Plan([Call(words, ranks=2, promised=True)], f"{words[0]} under mpirun", [], ["out/m"], _check_said_once)
    words, run = ["train", *kind_place.SHORT, "--run-dir", place.out / "run"], place.out / "run"
    if name == "train":
        return Plan([Call([*words, "--batch", 4], ranks=2, promised=True)], "a run of two ranks", [], ["out/run", "tmp"],
                    lambda outcomes: [] if (run / "summary.json").exists() else ["SILENT: no summary"])
    odd = rng.choice([["--tau", "-1"], ["--data", "mnist", "--data-dir", place.inputs], ["--initial-parameters", place.inputs / "none"],
                      ["--batch", "0"], ["--run-dir", "/dev/null/x"]])
    return Plan([Call([*words, *odd], ranks=2)], f"{odd[0]} under mpirun", [odd[0], str(odd[1])], ["out/run", "tmp"],
                lambda outcomes: ["SILENT: ends with 0"] if outcomes[0].code == 0 else [])


def _check_said_once(outcomes):
    lines = [line for line in outcomes[0].out.decode("utf-8", "replace").splitlines() if line.strip()]
    return ["both ranks print the same"] if lines and lines.count(lines[0]) > 1 else []
