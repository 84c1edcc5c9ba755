"""`python -m eave export RUN_DIR --to TRACKER --into DIR`: writes the records of a run for MLflow, Weights & Biases or
TensorBoard, each through its own library.

Numbers keep all their digits. Names are those of src/report/FORMATS.md with "/" for ".": loss, learning_rate,
center/accuracy, consensus_distance/mean; the summary's are below summary/. If the run has another metric, such as
perplexity, its name replaces score: center/perplexity, summary/test_perplexity. metrics.jsonl counts seconds of training, so
wall times begin when config.json was written, and evaluations take their time. If the run was resumed, wall times are
right from the last resumption on. Earlier records are placed directly before it, and the pause is not shown.
"""
from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import sys
from typing import Any, Iterator

from ._error import CANNOT_CREATE, PEER_LOST, Error
from ._library import call, load

_DATA = 65  # an exit code, as in eave.h
_NOT_NUMBERS_OF_A_LINE = ("type", "rank", "step")
_NOT_NUMBERS_OF_AN_EVALUATION = (*_NOT_NUMBERS_OF_A_LINE, "samples", "epoch", "seconds")  # a step line has them
_METRICS_A_CALL, _PARAMETERS_A_CALL = 1000, 100  # MLflow takes no more at once


@dataclasses.dataclass
class _Point:
    step: int
    time: float  # seconds since 1970
    numbers: dict[str, float]


@dataclasses.dataclass
class _Records:
    name: str
    config: dict[str, str]
    facts: dict[str, str]  # texts of header and summary
    points: list[_Point]   # in the order of steps
    state: str             # FINISHED, FAILED or KILLED, MLflow's words

    @property
    def begin(self) -> float:
        return min((each.time for each in self.points), default=0.0)

    @property
    def end(self) -> float:
        return max((each.time for each in self.points), default=0.0)


def _numbers(fields: dict[str, Any], without: tuple[str, ...] = (), prefix: str = "") -> Iterator[tuple[str, float]]:
    for name, value in fields.items():
        if name in without:
            continue
        if isinstance(value, dict):
            yield from _numbers(value, prefix=f"{prefix}{name}/")
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield prefix + name, float(value)


def _texts(fields: dict[str, Any]) -> dict[str, str]:
    return {name: value for name, value in fields.items() if isinstance(value, str) and name != "type"}


def _with_metric(fields: dict[str, Any], metric: str) -> dict[str, Any]:
    """The fields with the name of the run's metric for "score", unless another field has that name."""
    names = {old: new for old, new in (("score", metric), ("test_score", f"test_{metric}")) if new not in fields}
    return {names.get(name, name): _with_metric(value, metric) if isinstance(value, dict) else value
            for name, value in fields.items()}


def _lines(run: pathlib.Path) -> Iterator[dict[str, Any]]:
    """The lines of metrics.jsonl, if eave's commands would read them too. The last one may be incomplete, and is left out
    then."""
    load()
    call("run_check", os.fsencode(run))
    *lines, last = (run / "metrics.jsonl").read_bytes().split(b"\n")
    return (dict(json.loads(line.decode())) for line in (*lines, *([last] if _is_whole(last) else [])))


def _is_whole(line: bytes) -> bool:
    """Whether the last line is whole, although no newline ends it."""
    try:
        return isinstance(json.loads(line.decode()), dict)
    except ValueError:
        return False


class _Clock:
    """Counts what training and evaluations have taken when a line was written."""

    def __init__(self) -> None:
        self.training = self.evaluations = self.at_last_header = 0.0

    def after(self, line: dict[str, Any]) -> float:
        if line["type"] == "header":
            self.at_last_header = self.training + self.evaluations
        if line["type"] not in ("step", "evaluation", "end"):
            return self.training + self.evaluations
        self.training = max(self.training, float(line.get("seconds", 0)))
        self.evaluations += float(line.get("evaluation_seconds", 0))
        return float(line.get("seconds", self.training)) + self.evaluations


def _read(run: pathlib.Path, all_ranks: bool) -> _Records:
    """Reads a run's records: those of rank 0, and with `all_ranks` those of the other ranks, under rank_R/."""
    records, clock, metric = _Records(run.resolve().name, {}, {}, [], "KILLED"), _Clock(), "score"
    for line in _lines(run):
        kind, time = line["type"], clock.after(line)
        rank = line.get("rank", 0)
        if kind == "header":
            records.config, records.facts, records.state = dict(line["config"]), _texts(line), "KILLED"
            metric = line.get("metric", {}).get("name", "score")
        elif kind == "step" and (rank == 0 or all_ranks):
            prefix = f"rank_{rank}/" if rank else ""
            records.points.append(_Point(line["step"], time, dict(_numbers(line, _NOT_NUMBERS_OF_A_LINE, prefix))))
        elif kind == "evaluation":
            records.points.append(_Point(line["step"], time, dict(_numbers(_with_metric(line, metric), _NOT_NUMBERS_OF_AN_EVALUATION))))
        elif kind == "end":
            records.state = "FINISHED"
            summary = _numbers({"summary": {each: value for each, value in _with_metric(line, metric).items() if each != "format"}})
            records.points.append(_Point(line["steps"], clock.training + clock.evaluations, dict(summary)))
        elif kind == "failure":
            records.state, records.facts["failure"] = "FAILED", line["message"]
    start = (run / "config.json" if (run / "config.json").exists() else run / "metrics.jsonl").stat().st_mtime
    for point in records.points:
        point.time += start - clock.at_last_header
    records.points.sort(key=lambda point: point.step)
    return records


def _parts(of: list[Any], most: int) -> Iterator[list[Any]]:
    return (of[begin:begin + most] for begin in range(0, len(of), most))


def _name_of_mlflow(name: str) -> str:
    """MLflow takes only some letters in names: "_" replaces the others."""
    return re.sub(r"[^\w.\- /:]", "_", name)


def _parameters_of_mlflow(config: dict[str, str]) -> dict[str, str]:
    """If two names become one, the second has a number."""
    parameters: dict[str, str] = {}
    for name, value in config.items():
        usual = taken = _name_of_mlflow(name)
        number = 2
        while taken in parameters:
            taken, number = f"{usual}_{number}", number + 1
        parameters[taken] = value
    return parameters


def _to_mlflow(records: _Records, into: pathlib.Path) -> str:
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
    from mlflow.exceptions import MlflowException
    try:
        return _write_mlflow(records, into)
    except MlflowException as error:
        raise Error(_DATA, f"MLflow does not take this run: {str(error).splitlines()[0]}") from None


def _write_mlflow(records: _Records, into: pathlib.Path) -> str:
    from mlflow.entities import Metric, Param
    from mlflow.tracking import MlflowClient
    client = MlflowClient(tracking_uri=into.resolve().as_uri())
    experiment = client.get_experiment_by_name("eave")
    of = experiment.experiment_id if experiment else client.create_experiment("eave")
    run = client.create_run(of, start_time=round(1000 * records.begin), run_name=records.name).info.run_id
    for parameters in _parts([Param(*each) for each in _parameters_of_mlflow(records.config).items()], _PARAMETERS_A_CALL):
        client.log_batch(run, params=parameters)
    for name, text in records.facts.items():
        client.set_tag(run, f"eave.{name}", text)
    metrics = [Metric(_name_of_mlflow(name), number, round(1000 * point.time), point.step)
               for point in records.points for name, number in point.numbers.items()]
    for part in _parts(metrics, _METRICS_A_CALL):
        client.log_batch(run, metrics=part)
    client.set_terminated(run, records.state, end_time=round(1000 * records.end))
    return f"mlflow ui --backend-store-uri {into}"


def _to_wandb(records: _Records, into: pathlib.Path) -> str:
    import wandb
    into.mkdir(parents=True, exist_ok=True)
    settings = wandb.Settings(console="off", silent=True, disable_git=True, save_code=False, x_disable_stats=True,
                              x_disable_meta=True)
    identity = hashlib.sha256(f"{records.name} {records.begin!r} {sorted(records.config.items())}".encode()).hexdigest()[:16]
    run = wandb.init(mode="offline", dir=str(into), project="eave", name=records.name, id=identity, settings=settings,
                     config={**records.config, **{f"eave.{name}": text for name, text in records.facts.items()}})
    steps: dict[int, dict[str, float]] = {}
    for point in records.points:  # each step is one line of W&B's history
        row = steps.setdefault(point.step, {"_timestamp": point.time})
        row.update({**point.numbers, "_timestamp": max(row["_timestamp"], point.time)})
    for step, numbers in steps.items():
        run.log(numbers, step=step)
    run.finish(exit_code=0 if records.state == "FINISHED" else 1)
    return f"wandb sync {into}/wandb/offline-run-*"


def _to_tensorboard(records: _Records, into: pathlib.Path) -> str:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import DATA_CLASS_SCALAR, Summary, SummaryMetadata
    from tensorboard.compat.proto.tensor_pb2 import TensorProto
    from tensorboard.compat.proto.types_pb2 import DT_DOUBLE
    from tensorboard.plugins.hparams.summary_v2 import hparams_pb
    from tensorboard.summary.writer.event_file_writer import EventFileWriter
    scalar = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="scalars"), data_class=DATA_CLASS_SCALAR)
    folder = into / records.name
    if any(folder.glob("events.out.tfevents.*")):  # TensorBoard would show both as one run
        raise Error(CANNOT_CREATE, f"{folder} has TensorBoard's files already; give another --into, or remove it")
    writer = EventFileWriter(str(folder))
    parameters = {**records.config, **{f"eave.{name}": text for name, text in records.facts.items()}}
    writer.add_event(Event(wall_time=records.begin, summary=hparams_pb(parameters, start_time_secs=records.begin)))
    for point in records.points:  # as tensors of double: an event's simple_value is a float
        values = [Summary.Value(tag=name, metadata=scalar, tensor=TensorProto(dtype=DT_DOUBLE, double_val=[number]))
                  for name, number in point.numbers.items()]
        writer.add_event(Event(wall_time=point.time, step=point.step, summary=Summary(value=values)))
    writer.close()
    return f"tensorboard --logdir {into}"


_TRACKERS = {"mlflow": _to_mlflow, "wandb": _to_wandb, "tensorboard": _to_tensorboard}


def _export(run: pathlib.Path, tracker: str, into: pathlib.Path, all_ranks: bool) -> None:
    records = _read(run, all_ranks)
    try:
        look = _TRACKERS[tracker](records, into)
    except ModuleNotFoundError as error:
        raise Error(PEER_LOST, f"{sys.executable} has no {error.name}: python3 -m pip install {tracker}") from None
    except OSError as error:
        raise Error(74, f"cannot write into {into}: {error}") from None
    print(f"wrote {sum(len(point.numbers) for point in records.points)} numbers of {len(records.points)} lines; to see them: "
          f"{look}")


def is_meant(words: list[str]) -> bool:
    """Whether these words are for this module, not for the program's `eave export`, which writes models."""
    return words[:1] == ["export"] and any(word == "--to" or word.startswith("--to=") for word in words)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m eave export", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter, exit_on_error=False)
    parser.add_argument("run_dir", type=pathlib.Path)
    parser.add_argument("--to", required=True, choices=sorted(_TRACKERS))
    parser.add_argument("--into", required=True, type=pathlib.Path, metavar="DIR")
    parser.add_argument("--all-ranks", action="store_true", help="step lines of all ranks, not of rank 0 alone")
    try:
        arguments = parser.parse_args(words)
        _export(arguments.run_dir, arguments.to, arguments.into, arguments.all_ranks)
    except argparse.ArgumentError as error:
        print(f"eave: {error}", file=sys.stderr)
        return 64
    except SystemExit as ended:  # argparse has printed the reason
        return 64 if ended.code else 0
    except Error as error:
        print(f"eave: {error}", file=sys.stderr)
        return error.code
    return 0
