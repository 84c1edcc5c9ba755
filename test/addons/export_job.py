"""Exports a run to MLflow, W&B and TensorBoard, and reads it back by what each library reads: every number of every line
to the last bit, at its step and its time, and the configuration.

    export_job.py FOLDER EAVE
"""
import functools
import json
import os
import pathlib
import re
import subprocess
import sys

FOLDER, EAVE = pathlib.Path(sys.argv[1]), sys.argv[2]
RUN, START = FOLDER / "run", 1_700_000_000.25
TRAIN = ["train", "--transport", "threads", "--ranks", "2", "--data", "synthetic", "--synthetic-size", "8",
         "--synthetic-samples", "600", "--synthetic-test-samples", "100", "--model", "dense classes", "--communicator", "easgd",
         "--tau", "4", "--epochs", "2", "--evaluate-every", "1", "--progress", "off", "--run-dir", RUN]


def require(holds, text):
    if not holds:
        sys.exit(f"export: {text}")


def numbers(fields, prefix=""):
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from numbers(value, f"{prefix}{name}/")
        elif isinstance(value, (int, float)):
            yield prefix + name, float(value)


def expected():
    """{name: [(step, time, number)]}, from metrics.jsonl."""
    found, evaluations, seconds = {}, 0.0, 0.0
    for line in map(json.loads, (RUN / "metrics.jsonl").read_text().splitlines()):
        kind = line.pop("type")
        evaluations, seconds = evaluations + line.get("evaluation_seconds", 0), max(seconds, line.get("seconds", 0))
        time, step = START + line.get("seconds", 0) + evaluations, line.pop("step", line.get("steps"))
        if kind == "end":
            line = {"summary": {name: value for name, value in line.items() if name != "format"}}
            time = START + seconds + evaluations
        if kind == "evaluation":
            for name in ("samples", "epoch", "seconds"):
                del line[name]
        if kind == "step" and (rank := line.pop("rank")):
            line = {f"rank_{rank}": line}
        for name, number in numbers(line) if kind in ("step", "evaluation", "end") else ():
            found.setdefault(name, []).append((step, time, number))
    return found


def export(tracker, *more):
    command = [sys.executable, "-m", "eave", "export", RUN, "--to", tracker, "--into", FOLDER / tracker, *more]
    ended = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    require(ended.returncode == 0 and "to see them" in ended.stdout, f"{tracker}: {ended.stdout}{ended.stderr}")


def hold_same(tracker, found, due, seconds):
    require(found.keys() == due.keys(), f"{tracker}: other names: {sorted(found.keys() ^ due.keys())}")
    for name, points in due.items():
        same = len(found[name]) == len(points) and all(
            (step, number) == (due_step, due_number) and abs(time - due_time) <= seconds
            for (step, time, number), (due_step, due_time, due_number) in zip(sorted(found[name]), sorted(points)))
        require(same, f"{tracker}: {name} is {found[name][:3]}, not {points[:3]}")
    print(f"  {tracker}: {sum(map(len, due.values()))} numbers of {len(due)} names, all bits, steps and times right")


def try_mlflow(config, due):
    from mlflow.tracking import MlflowClient
    export("mlflow", "--all-ranks")
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    client = MlflowClient(tracking_uri=(FOLDER / "mlflow").as_uri())
    runs = client.search_runs([client.get_experiment_by_name("eave").experiment_id])
    require(len(runs) == 1 and runs[0].info.run_name == "run" and runs[0].info.status == "FINISHED", f"mlflow: {runs}")
    require(runs[0].data.params == config, f"mlflow: {runs[0].data.params}")
    require("alpha" in runs[0].data.tags["eave.equation"], f"mlflow: {runs[0].data.tags}")
    found = {name: [(each.step, each.timestamp / 1000, each.value) for each in client.get_metric_history(runs[0].info.run_id, name)]
             for name in runs[0].data.metrics}
    hold_same("mlflow", found, due, 0.0006)


def records_of(file):
    """The records of W&B's offline file, whose framing is LevelDB's log: blocks of 32 KiB, with parts of records."""
    from wandb.proto.wandb_internal_pb2 import Record
    data, at, record = file.read_bytes(), 7, b""
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        size, kind = int.from_bytes(data[at + 4:at + 6], "little"), data[at + 6]
        record += data[at + 7:at + 7 + size]
        at += 7 + size
        if kind in (1, 4):  # whole, or the last part
            yield Record.FromString(record)
            record = b""


def try_wandb(config, due):
    export("wandb", "--all-ranks")
    found, configured = {}, {}
    for record in records_of(next((FOLDER / "wandb").glob("wandb/offline-run-*/*.wandb"))):
        for item in record.run.config.update if record.HasField("run") else ():
            configured[item.key] = json.loads(item.value_json)
        row = {item.key or item.nested_key[0]: json.loads(item.value_json) for item in record.history.item}
        for name, number in row.items():
            if not name.startswith("_"):
                found.setdefault(name, []).append((row["_step"], row["_timestamp"], number))
    require(config.items() <= configured.items(), f"wandb: {configured}")
    latest = {}
    for points in due.values():  # a step is one row, with its latest time
        for step, time, _ in points:
            latest[step] = max(time, latest.get(step, 0))
    due = {name: [(step, latest[step], number) for step, _, number in points] for name, points in due.items()}
    hold_same("wandb", found, due, 1e-6)


def try_tensorboard(config, due):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams import metadata
    from tensorboard.util.tensor_util import make_ndarray
    export("tensorboard")
    due = {name: points for name, points in due.items() if not name.startswith("rank_1")}
    events = EventAccumulator(str(FOLDER / "tensorboard" / "run"), size_guidance={"tensors": 0}).Reload()
    content = events.SummaryMetadata(metadata.SESSION_START_INFO_TAG).plugin_data.content
    hparams = metadata.parse_session_start_info_plugin_data(content).hparams
    require(all(hparams[name].string_value == text for name, text in config.items()), f"tensorboard: {hparams}")
    scalars = events.PluginTagToContent("scalars")
    hold_same("tensorboard", {name: [(each.step, each.wall_time, make_ndarray(each.tensor_proto).item())
                                     for each in events.Tensors(name)] for name in scalars}, due, 1e-6)
    ended = export_run(RUN, "--to", "tensorboard", "--into", FOLDER / "tensorboard")
    require(ended.returncode == 73 and "another --into" in ended.stderr,
            f"tensorboard, again, ended with {ended.returncode}: {ended.stderr}")


def export_run(run, *words):
    return subprocess.run([sys.executable, "-m", "eave", "export", *map(str, (run, *words))], capture_output=True, text=True,
                          check=False)


def changed_run(name, change):
    """A run of which other records than RUN's are read; `change` takes the bytes of metrics.jsonl."""
    run = FOLDER / name
    run.mkdir()
    (run / "metrics.jsonl").write_bytes(change((RUN / "metrics.jsonl").read_bytes()))
    return run


# Records that eave's other commands refuse too, and a few words of the reason.
DAMAGES = {
    "torn": (lambda text: text.replace(b'{"type":"step"', b'{"type":"st', 1), "line 2 is damaged"),
    "newer": (lambda text: text.replace(b'"format":1', b'"format":9', 1), "it says format 9"),
    "text": (lambda text: re.sub(rb'"loss":[-0-9.e]+', b'"loss":"low"', text, count=1), "loss is a text"),
    "negative": (lambda text: re.sub(rb'"step":1,', b'"step":-5,', text, count=1), "step is -5"),
    "huge": (lambda text: re.sub(rb'"step":1,', b'"step":99999999999999999999,', text, count=1), "step is 1e+20"),
    "accuracy": (lambda text: re.sub(rb'"accuracy":[-0-9.e]+', b'"accuracy":1.7', text, count=1), "accuracy is 1.7"),
    "twice": (lambda text: text + text[text.index(b"\n") + 1:], "behind the end of the run"),
    "utf-16": (lambda text: text.decode().encode("utf-16"), "damaged"),
    "binary": (lambda text: bytes(range(256)) * 40, "damaged"),
}


def try_damages():
    for name, (change, why) in DAMAGES.items():
        ended = export_run(changed_run(name, change), "--to=tensorboard", "--into=x")
        require(ended.returncode == 65 and why in ended.stderr and "Traceback" not in ended.stderr,
                f"{name} ended with {ended.returncode}: {ended.stderr}")


def try_odd_texts():
    """Separators of lines within a text, as json.dumps leaves them there, and names that MLflow does not take."""
    added = '"config":{"a,b":"1","a;b":"2","lines":"x\u2028y\x85z",'
    run = changed_run("odd", lambda text: text.replace(b'"config":{', added.encode(), 1))
    for tracker in ("mlflow", "tensorboard", "wandb"):
        ended = export_run(run, "--to", tracker, "--into", FOLDER / f"odd-{tracker}")
        require(ended.returncode == 0, f"{tracker} of odd texts ended with {ended.returncode}: {ended.stderr}")


def try_metric():
    """The name of another metric replaces "score"."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    changes = ((b'"format":1', b'"format":2,"metric":{"name":"bleu","better":"higher"}'),
               (b'{"type":"evaluation",', b'{"type":"evaluation","metric":{"name":"bleu","better":"higher"},'),
               (b'"evaluation":{', b'"evaluation":{"metric":{"name":"bleu","better":"higher"},'),
               (b'"test_accuracy"', b'"test_score"'), (b'"accuracy"', b'"score"'))
    run = changed_run("metric", lambda text: functools.reduce(lambda changed, change: changed.replace(*change), changes, text))
    ended = export_run(run, "--to", "tensorboard", "--into", FOLDER / "of-metric")
    require(ended.returncode == 0, f"a run with another metric ended with {ended.returncode}: {ended.stderr}")
    names = set(EventAccumulator(str(FOLDER / "of-metric" / "metric")).Reload().PluginTagToContent("scalars"))
    due = {"center/bleu", "best_worker/bleu", "summary/test_bleu", "summary/evaluation/center/bleu"}
    require(due <= names and not any("score" in name for name in names), f"another metric: {sorted(names)}")


def try_bad_input():
    for words, code, text in ((["nowhere", "--to", "wandb", "--into", "x"], 66, "nowhere"),
                              ([RUN, "--to", "wandb"], 64, "--into"), ([RUN, "--to", "csv", "--into", "x"], 64, "tensorboard")):
        ended = export_run(*words)
        require(ended.returncode == code and text in ended.stderr, f"{words} ended with {ended.returncode}: {ended.stderr}")


def main():
    subprocess.run([EAVE, *map(str, TRAIN)], check=True, stdout=subprocess.DEVNULL)
    os.utime(RUN / "config.json", (START, START))
    config = {name: text for name, text in json.loads((RUN / "config.json").read_text()).items() if name != "format"}
    due = expected()
    require(len(due["loss"]) > 4 and len(due["rank_1/loss"]) > 4 and len(due["center/accuracy"]) >= 2, f"too few: {due.keys()}")
    try_bad_input()
    try_damages()
    try_odd_texts()
    try_metric()
    for trial in (try_tensorboard, try_mlflow, try_wandb):
        trial(config, due)


main()
