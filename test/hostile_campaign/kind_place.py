"""Trials of the places where eave writes: planted links and other things, small disks, limits, closed streams."""
import os
import re
import shutil

import bases as good
import kind_run
import mutations
import namespaces
import plan as plans
import read_run
from calls import Call
from plan import Plan, on_success

WRITTEN = ["config.json", "metrics.jsonl", "summary.json", "model.safetensors", "run.lock", "trace.json", "exchanges.order", "checkpoint",
           "checkpoint/step-000004.partial", "checkpoint/step-000004", "checkpoint/step-000012.partial", "calls-rank-0.json"]
SHORT = [*good.SYNTHETIC, *good.MODEL, *good.RESUMED]


def _plant(rng, place, path):
    """Plants something under a name that eave writes. Returns in words what it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
    kind = rng.randrange(7)
    if kind < 3:
        target = place.precious / rng.choice(["thesis.tex", "data.bin", "keys", "new-file"])
        path.symlink_to(target if kind else os.path.relpath(target, path.parent))
        return f"a link to {target.name}"
    if kind < 6:
        what = mutations.put_odd(rng, path, ["a FIFO", "a directory", "a link to itself"])
        if path.is_dir():
            (path / "mine.txt").write_text("mine\n")
        return what
    os.link(place.precious / "thesis.tex", path)
    return "a hard link to thesis.tex"


def make_link(rng, place, base):
    """Trains in a shared run directory in which somebody has planted something."""
    run, name = place.out / "run", rng.choice(WRITTEN)
    name += ".partial" if "checkpoint" not in name and rng.random() < 0.5 else ""
    mode = rng.choice(["fresh", "overwrite", "resume"])
    shutil.copytree(base.run("whole" if mode == "overwrite" else "interrupted"), run) if mode != "fresh" else run.mkdir()
    what = _plant(rng, place, run / name)
    words = ["train", *SHORT, "--trace", "--run-dir", run] + {"fresh": [], "overwrite": ["--overwrite"], "resume": ["--resume", "auto"]}[mode]
    # step-N and step-N.partial belong to eave with all that they hold.
    mine = (run / name / "mine.txt").exists() and not name.startswith("checkpoint/")

    def check(outcomes):
        told = ["a file that is not eave's is gone: mine.txt"] if mine and not any(run.rglob("mine.txt")) else []
        return told + _check_result(outcomes, base, run)
    return Plan([Call(words)], f"{name} is {what}, {mode}", [str(run), "run"], ["out/run"], check)


def _check_result(outcomes, base, run, is_told=False):
    """If the run ended with 0, its results must be complete and equal those of the same run elsewhere. `is_told`: it trained in
    an earlier call, which said that no checkpoint could be written."""
    if outcomes[-1].code != 0:
        return []
    told = []
    try:
        if kind_run._final_arrays(run) != kind_run._final_arrays(base.run("whole")):
            told.append("SILENT: the model differs from that of the same run elsewhere")
        read_run.read_json(run / "summary.json")
        if not is_told and not any((run / "checkpoint").glob("step-*[0-9]")):
            told.append("SILENT: ends with 0 and has written none of its checkpoints")
        if read_run.read_metrics(run / "metrics.jsonl")[-1]["type"] != "end":
            told.append("SILENT: ends with 0, and its metrics have no end")
    except (read_run.Refused, OSError) as why:
        told.append(f"SILENT: ends with 0, and its results are not whole: {why}")
    return told


NAMED = [("summary", "--json"), ("report", "--html"), ("report", "--csv"), ("report", "--runs-csv"), ("report", "--metrics-csv"), ("plan", "--json"),
         ("export", "--safetensors"), ("export", "--npy")]


def make_output(rng, place, base):
    """A person names an output path. eave follows it, or refuses it with a reason."""
    if os.geteuid() == 0 and not namespaces.is_inside:
        raise plans.Skip("devices as outputs: root could replace those of this machine, and has no /dev of its own here")
    command, option = rng.choice(NAMED)
    path, kind = place.out / "result", rng.randrange(8)
    allowed = ["out/result"]
    if kind == 0:
        path.symlink_to(place.home / "result")
        allowed.append("home/result")
    elif kind == 1:
        path = "/dev/stdout"
    elif kind == 2:
        path = "/dev/full"
    elif kind == 3:
        path = place.out / "no" / "such" / "folder" / "result"
        allowed.append("out/no")
    elif kind == 4:
        path.mkdir()
    elif kind == 5:
        path.write_text("old\n")
    elif kind == 6:
        path = place.out / ("x" * 300)
    else:
        path.symlink_to(path.name)
    what = ["a link", "/dev/stdout", "/dev/full", "in no folder", "a directory", "a file", "a name too long", "a link to itself"][kind]
    words = [command, base.run("allreduce"), f"{option}={path}"] + (["--html", "none"] if command == "report" and option != "--html" else [])

    @on_success
    def check(outcomes):
        if kind == 2 and option != "--npy":
            return ["SILENT: ends with 0 though nothing could be written to /dev/full"]
        if kind == 0 and command != "export" and not (place.home / "result").exists():
            return ["SILENT: a link that was typed is not followed"]
        return []
    return Plan([Call(words)], f"{command} {option} is {what}", [str(path)[:80], option], allowed, check)


def make_disk(rng, place, base):
    """Trains with a disk that may be too small in the place of the run directory."""
    run = place.out / "run"
    run.mkdir()
    if not namespaces.mount_small_disk(run, rng.choice([4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256])):
        raise plans.Skip("small disks: they need root and mount")
    words = ["train", *SHORT, "--run-dir", run, *(["--require-checkpoint"] if rng.random() < 0.3 else [])]

    def check(outcomes):
        told = _check_result(outcomes[:1], base, run)
        second = outcomes[1]
        if outcomes[0].code != 0 and second.code == 0:
            is_told = (b"no checkpoint of this run could be written" in outcomes[0].err and
                       b"nothing is left to do" in second.out + second.err)
            told += _check_result([second], base, run, is_told)
        if re.search(rb"has ended", second.err + second.out) and not (run / "model.safetensors").exists():
            told.append("SILENT: says that a run has ended which left no model")
        return told
    return Plan([Call(words), Call([*words, "--resume", "auto"])], "a disk that is too small, perhaps",
                [str(run), "run", "standard output"], ["out/run"], check, clean_up=lambda: namespaces.unmount(run))


def make_limit(rng, place, base):
    """Limits memory, file size or open files (ulimit), closes streams, or gives a full standard output."""
    run, kind = place.out / "run", rng.randrange(5)
    call = Call(["train", *SHORT, "--run-dir", run])
    if rng.random() < 0.3:
        call.words += ["--transport", "threads", "--ranks", 2, "--communicator", "easgd", "--tau", "2"]
    if kind == 0:
        call.limits = {"AS": rng.randrange(40, 1200) << 20}
    elif kind == 1:
        call.limits = {"FSIZE": rng.choice([0, 1, 100, 1000, 4096, 10000, 30000, 100000])}
    elif kind == 2:
        call.limits = {"NOFILE": rng.randrange(3, 40)}
    elif kind == 3:
        call.closed = tuple(rng.sample([0, 1, 2], rng.randrange(1, 4)))
    else:
        call.output = "/dev/full"
    is_alone = "threads" not in call.words

    def check(outcomes):
        if kind == 4 and outcomes[0].code == 0:
            return ["SILENT: ends with 0 though nothing of its output was written"]
        return _check_result(outcomes, base, run) if is_alone else []
    return Plan([call], f"limits {call.limits}, closed {call.closed}, output {call.output or 'as ever'}", [], ["out/run"], check)
