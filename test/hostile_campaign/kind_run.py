"""Trials with a damaged file in a run directory, for each command that reads such directories."""
import json
import re
import shutil

import bases as good
import contradictions
import kind_model
import mutations
import read_checkpoint
import read_model
import read_run
from calls import Call
from plan import Plan, on_success

TEXT_FILES = ["config.json", "summary.json", "metrics.jsonl", "metrics.jsonl", "summary.json"]


def _damage_lines(rng, data):
    """Damages one JSON line of the metrics, or the lines as text."""
    if rng.random() < 0.3:
        return mutations.damage_text(rng, data.decode())
    lines = data.split(b"\n")
    place = rng.choice([0, rng.randrange(len(lines) - 1), rng.randrange(len(lines) - 1), len(lines) - 2])
    lines[place], what = mutations.damage_json(rng, lines[place].decode())
    return b"\n".join(lines), f"line {place}: {what}"


def damage_file(rng, path):
    data = path.read_bytes()
    if path.name == "metrics.jsonl":
        new, what = _damage_lines(rng, data)
    elif path.suffix == ".json":
        new, what = mutations.damage_json(rng, data.decode())
    else:
        new, what = mutations.damage_bytes(rng, data)
    path.write_bytes(new)
    return f"{path.name}: {what}"


def _copy(rng, place, base, name=None):
    run = place.inputs / "run"
    shutil.copytree(base.run(name or rng.choice(["allreduce", "easgd", "async"])), run, symlinks=True)
    return run


def _reported(run):
    """Returns the last line of metrics.jsonl, the only file that a report uses. Raises read_run.Refused if the file is
    not as the documents say."""
    metrics = read_run.read_metrics(run / "metrics.jsonl")
    if metrics[-1]["type"] != "end":
        raise read_run.Refused("no end")
    return metrics[-1]


def _check_summary(run, table):
    @on_success
    def check(outcomes):
        summary, told = read_run.read_json(run / "summary.json"), []
        if table.exists():
            rows = read_run.parse(table.read_bytes())
            told += [f"SILENT: --json has {key} = {rows[0].get(key)!r:.60}, summary.json {summary[key]!r:.60}"
                     for key in summary if key in rows[0] and rows[0][key] != summary[key] and summary[key] == summary[key]]
        accuracy = f"{100 * summary['test_accuracy']:.2f} %"
        text = outcomes[0].out.decode("utf-8", "replace")
        if not re.search(rf"(?<![\d.]){re.escape(accuracy)}", text):
            told.append(f"SILENT: accuracy {accuracy} does not stand in the table")
        return told + _long_numbers(text)
    return check


def _long_numbers(text):
    found = re.search(r"\d{21,}", text)
    return [f"prints a number of {len(found.group())} digits"] if found else []


def _summary(rng, place, run):
    table = place.out / "rows.json"
    return Plan([Call(["summary", run, "--json", table])], "", ["summary.json", str(run)], ["out/rows.json"], _check_summary(run, table))


def _check_report(run, table):
    def check(outcomes):
        if outcomes[0].code != 0:
            return _long_numbers(outcomes[0].out.decode("utf-8", "replace"))
        try:
            summary = _reported(run)
        except (read_run.Refused, OSError, KeyError) as why:
            return _is_left_out(table, str(why))
        told = []
        with open(table, encoding="utf-8") as file:
            lines = file.read().splitlines()
        row = dict(zip(lines[0].split(","), lines[1].split(","))) if len(lines) == 2 else {}
        for key in ("test_accuracy", "steps", "samples", "bytes_per_rank", "seconds"):
            if row.get("state") == "finished" and abs(float(row[key]) - float(summary[key])) > 1e-6 * max(1, abs(summary[key])):
                told.append(f"SILENT: {key} is {row[key]} in the report, {summary[key]} in the run's last line")
        return told + _long_numbers(outcomes[0].out.decode("utf-8", "replace"))
    return check


def _is_left_out(table, why):
    """A report may show a damaged run as interrupted or failed, but never as finished."""
    rows = table.read_text(encoding="utf-8").splitlines()[1:] if table.exists() else []
    taken = [row for row in rows if ",finished," in row]
    return [f"SILENT: reported as finished, an independent reader refuses it: {why}"] if taken else []


def _report(rng, place, run):
    table = place.out / "runs.csv"
    words = ["report", run, "--html", rng.choice(["none", place.out / "page.html"]), "--runs-csv", table]
    return Plan([Call(words)], "", [str(run)], ["out"], _check_report(run, table))


def _check_plan(run, table):
    @on_success
    def check(outcomes):
        read_run.read_metrics(run / "metrics.jsonl")
        value = read_run.parse(table.read_bytes())
        text = json.dumps(value) + outcomes[0].out.decode("utf-8", "replace")
        return [f"SILENT: {odd.group()} in a plan" for odd in [re.search(r"\b-?(nan|inf|NaN|Infinity)\b", text)] if odd]
    return check


def _plan(rng, place, run):
    table = place.out / "plan.json"
    words = ["plan", run, "--ranks", "2,8", "--json", table]
    return Plan([Call(words)], "", ["metrics.jsonl", str(run)], ["out/plan.json"], _check_plan(run, table))


def _watch(rng, place, run):
    """`eave watch` shows what it can read, and passes over damaged lines."""
    plan = Plan([Call(["watch", run, "--once"])], "", [str(run)], [],
                lambda outcomes: [f"prints {odd.group()!r}" for odd in [re.search(rb"\b-?(nan|inf)\b", outcomes[0].out)] if odd] +
                _long_numbers(outcomes[0].out.decode("utf-8", "replace")))
    plan.codes |= {70, 75} if b'"failure"' in (run / "metrics.jsonl").read_bytes() else set()
    return plan


def _must_be_named(what, shows_what_there_is):
    """If a run contradicts itself, a reader refuses it and names file and line. A reader that shows what it can read
    (watch) only names them."""
    wanted = r"line \d+" if what.startswith("metrics.jsonl") else re.escape(what.split(":")[0])

    def check(outcomes):
        if outcomes[-1].code == 0 and not shows_what_there_is:
            return ["SILENT: a run whose files contradict themselves is taken as true"]
        said = (outcomes[-1].err + outcomes[-1].out).decode("utf-8", "replace")
        return [] if re.search(wanted, said) else [f"SILENT: does not name {wanted}"]
    return check


def _make_contradiction(rng, place, run):
    """Makes whole files of the right form in which two statements contradict each other."""
    contradict, readers = rng.choice([(contradictions.contradict_lines, ["report", "plan", "watch", "train"])] * 4 + [
        (contradictions.contradict_summary, ["summary", "report", "plan"]), (contradictions.contradict_config, ["report", "plan"])])
    words, table, reader = _words_of_run(run), place.out / "table", rng.choice(readers)
    what = contradict(rng, run)
    words = {"report": ["report", run, "--html", "none", "--runs-csv", table], "plan": ["plan", run, "--ranks", "2", "--json", table],
             "watch": ["watch", run, "--once"], "summary": ["summary", run, "--json", table], "train": words}[reader]
    return Plan([Call(words)], f"{what}, by {reader}", [str(run)], ["out", "in/run"] if reader == "train" else ["out"],
                _must_be_named(what, reader == "watch"))


def _words_of_run(run):
    """Returns the words that resume a run of `bases.RUNS` for one more epoch."""
    config = json.loads((run / "config.json").read_text())
    name = {"easgd": "easgd", "easgd-async": "async"}.get(config["communicator"], "allreduce")
    options = list(good.RUNS[name])
    options[options.index("--epochs") + 1] = "3"
    return ["train", *good.SYNTHETIC, *good.MODEL, *options, "--run-dir", run, "--resume", "auto"]


READERS = [_summary, _summary, _report, _report, _plan, _watch]


def make_run(rng, place, base):
    run = _copy(rng, place, base)
    if rng.random() < 0.3:
        plan = _make_contradiction(rng, place, run)
    else:
        what = damage_file(rng, run / rng.choice(TEXT_FILES))
        plan = rng.choice(READERS)(rng, place, run)
        plan.what = what
    plan.input_bytes = 100_000
    return plan


def _arrays_in(model):
    return {name: array.tobytes() for name, array in read_model.read_model(model)[1].items()}


def _final_arrays(run):
    return _arrays_in(run / "model.safetensors")


def _check_resumed(base, run, lacks_lines):
    """A resumed run must end with the bytes and losses of a run that was never interrupted. A file that lacks whole
    lines counts as whole, because --log-every and a full disk leave such files. A wrong loss within its range looks
    like a right one (1e-320 too is a loss), so losses that stood in the file before may stay."""
    stood = _losses_if_readable(run)

    @on_success
    def check(outcomes):
        told = []
        if _final_arrays(run) != _final_arrays(base.run("whole")):
            told.append("SILENT: the model differs from that of a run that was never interrupted")
        found, wanted = _losses(run), _losses(base.run("whole"))
        places = [[line[:2] for line in lines] for lines in (found, wanted)]
        is_right = set(found) <= set(wanted + stood) and (set(places[0]) <= set(places[1]) if lacks_lines else places[0] == places[1])
        return told + ([] if is_right else [f"SILENT: the losses in metrics.jsonl differ: {found} {wanted}"[:300]])
    return check


def _losses(run):
    return [(line["rank"], line["step"], line["loss"]) for line in read_run.read_metrics(run / "metrics.jsonl") if line["type"] == "step"]


def _losses_if_readable(run):
    try:
        return _losses(run)
    except (read_run.Refused, OSError, KeyError):
        return []


def make_resume(rng, place, base):
    run = _copy(rng, place, base, "interrupted")
    files = sorted(path for path in run.rglob("*") if path.is_file())
    states = [path for path in files if path.suffix in (".state", ".json") and "checkpoint" in path.parts]
    path = rng.choice(states if rng.random() < 0.6 else files)
    what = damage_file(rng, path) if path.stat().st_size else "nothing"
    names = [str(run), path.name]
    words = ["train", *good.SYNTHETIC, *good.MODEL, *good.RESUMED, "--run-dir", run, "--resume", "auto"]
    return Plan([Call(words)], f"{path.relative_to(run)}: {what}", names, ["in/run"],
                _check_resumed(base, run, bool(re.search(r"line \d+ removed$", what))),
                input_bytes=200_000)


def _verify_model(rng, place, base):
    """Damages the model of a run whose checkpoints are whole."""
    run = _copy(rng, place, base, "whole")
    path = run / "model.safetensors"
    data, what = mutations.flip_array_bit(rng, path.read_bytes())
    path.write_bytes(data)
    return Plan([Call(["checkpoint", "verify", run])], f"model.safetensors: {what}", [str(path)], [],
                kind_model.check_refused(f"verify takes a model with {what}"), input_bytes=200_000)


def make_checkpoint(rng, place, base):
    """Runs ls, verify and export on damaged checkpoints, and verify on a damaged model."""
    if rng.random() < 0.2:
        return _verify_model(rng, place, base)
    run = _copy(rng, place, base, "interrupted")
    path = rng.choice(sorted(path for path in (run / "checkpoint").rglob("*") if path.is_file()))
    what = damage_file(rng, path)
    changed = path.read_bytes() != (base.run("interrupted") / path.relative_to(run)).read_bytes()
    action, target = rng.choice(["ls", "verify", "export"]), place.out / "model.safetensors"
    words = ["checkpoint", action, run] + (["--safetensors", target, "--layout", "eave"] if action == "export" else [])

    @on_success
    def check(outcomes):
        if action == "verify" and changed:
            return [f"SILENT: verify finds nothing wrong with {path.name}"]
        if action == "export" and _arrays_in(target) not in _models(base):
            return ["SILENT: exports arrays that no whole checkpoint holds"]
        return []
    return Plan([Call(words)], f"{path.relative_to(run)}: {what}", [str(run), path.parent.name], ["out/model.safetensors"], check,
                input_bytes=200_000)


def _models(base):
    """Returns the arrays of both checkpoints of the interrupted run, by a reader that follows CHECKPOINTS.md."""
    return [read_checkpoint.named_arrays(base.run("interrupted") / "checkpoint" / f"step-{step:06}" / "rank-0.state",
                                         base.run("whole") / "model.safetensors") for step in (4, 8)]
