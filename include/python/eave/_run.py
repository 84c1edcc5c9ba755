"""Run: the run directory of a script, which eave's commands read."""
from __future__ import annotations

import collections.abc
import contextlib
import ctypes
import os
import pathlib
import platform
import sys
from types import TracebackType
from typing import Any, Callable, Iterator, Mapping, Optional, Union

from ._error import USAGE, Error
from ._leaving import is_leaving
from ._library import call, job
from ._method import Method, number_in
from ._program import (batch_of_run, directory_of_run, note_run, planned_steps, refuse_second_run, require_planned_length,
                       settings_of_run, warn_of_unread_seed)
from ._ranks import rank, text_of_first_rank

_CANNOT_CREATE = 73  # an exit code of eave
# In the settings of a run two of these words are orders, and config.json has a format of its own.
_ORDERS = ("format", "overwrite", "resume")

# Words that the program's messages tell people to type, and the words that a script writes instead.
_WORDS = (("overwrite=on", "overwrite=True"), ("resume=on", "resume=True"), ("log_every=", "every="),
          (", or give --resume to go on with the run in it, --overwrite to replace it", ", or pass resume=True to go on with "
           "the run in it, overwrite=True to replace it"), ("that --overwrite could", "that overwrite=True could"), ("--run-dir ", "run_dir "))


class Run:
    """Records what an averager does in a run directory, as `eave train` records its own runs. `eave watch`, `summary`,
    `report` and `plan` read it.

        with eave.Averager(model, optimizer, "easgd", tau=10) as averager, \\
                eave.Run("runs/a", averager, batch=32, train_samples=len(data), metric="perplexity", better="lower") as run:
            for x, y in batches:
                loss = loss_of(model(x), y)
                ...
                averager.step()
                run.step(loss=loss)
            with averager.consensus():
                run.evaluate(loss=test_loss, perplexity=math.exp(test_loss))

    Collective: all ranks open and close the run with the same arguments. Rank 0 writes. The averager's steps record
    their time, waiting, bytes and samples by themselves, without communication; an evaluation sends all ranks' records
    to rank 0. The directory must be new or empty, unless overwrite=True replaces the run in it, or resume=True goes on
    with it: after averager.load(), from the step that was saved while the run was recorded, so that each step is there
    once. If nothing has been saved, a run that was cut short begins anew.

    `metric` names the number by which models are compared, besides the loss; better="lower" or "higher" says which of
    its values are better. An accuracy is a share from 0 to 1. `batch` is the number of this rank's samples in a step, for
    steps whose begin_step is told none. `train_samples` and `test_samples` are the sizes of the data sets; without
    train_samples the run has no epochs. `config` has settings of your own, which reports show and compare: two runs are
    repetitions of each other if they differ only in `seed`. If eave records another value by the same name, such as model
    or optimizer, yours is recorded as config-model. `every` is the number of steps for each line of metrics.jsonl. An
    evaluation first writes a line for the steps since the last one.

    The last step must be evaluated before the run is closed, because the summary is about that evaluation. If an
    exception leaves the block, the run is recorded as failed, unless all ranks leave on request."""

    def __init__(self, run_dir: Union[str, "os.PathLike[str]", None] = None, averager: Optional[Method] = None, *,
                 metric: str = "accuracy", better: str = "", batch: int = 0, train_samples: int = 0, test_samples: int = 0,
                 every: int = 1, data: str = "", model: str = "", config: Optional[Mapping[str, Any]] = None,
                 overwrite: bool = False, resume: bool = False) -> None:
        if averager is None:
            raise Error(USAGE, "eave.Run records an averager: eave.Run(run_dir, averager)")
        averager._refuse_closed("eave.Run")
        if metric != "accuracy" and not better:
            raise Error(USAGE, f"eave.Run: say which values of {metric} are better: better=\"lower\" or better=\"higher\"")
        refuse_second_run(resume)
        self._directory = _directory(run_dir)
        batch = batch_of_run(batch)
        self._averager, self._metric = averager, metric
        self._handle: Optional[ctypes.c_void_p] = ctypes.c_void_p()
        known = {"batch": batch, "train-samples": train_samples, "test-samples": test_samples, "data": data, "model": model,
                 "overwrite": "on" if overwrite else "", "resume": "on" if resume else ""}
        facts = {**averager._facts_of_run(), "metric": metric, "better": better or "higher", "log-every": every,
                 "program": os.path.basename(sys.argv[0]) or "python", "python": platform.python_version(),
                 **{name: value for name, value in known.items() if value}}
        settings = {**_beside(facts, _settings_of(config)), **settings_of_run(), **facts}
        lines = "\n".join(_line(name, value) for name, value in sorted(settings.items()))
        was_broken = job.is_broken
        averager._end_left_run()
        try:
            call("run_open", self._directory.encode(), lines.encode(), averager._handle, ctypes.byref(self._handle))
        except Error as error:
            if error.code == _CANNOT_CREATE:  # nothing has been done
                job.is_broken = was_broken
            raise _in_words(error) from None
        note_run(self._directory)
        averager._usual_samples = batch or 1
        self._steps_before = averager._steps_taken
        averager._is_recorded = True
        averager._planned_end = averager._steps_taken + planned_steps() if planned_steps() else 0

    @property
    def run_dir(self) -> pathlib.Path:
        """The run directory."""
        return pathlib.Path(self._directory)

    def step(self, loss: Any) -> None:
        """Not collective. Tells the mean loss of this rank's samples in the step that is under way, or in the last one: a
        number or a tensor of one. Steps without it have the loss_sum of averager.step(), if that is given. A tensor on a
        GPU is waited for, as by loss.item()."""
        self._refuse_closed("step")
        call("run_loss", self._handle, number_in("run.step: loss", loss))

    def evaluate(self, loss: Optional[float] = None, **scores: float) -> None:
        """Collective, within averager.consensus(). Records rank 0's numbers: `loss`, and the metric by its name, such as
        accuracy=0.91. validation_accuracy=... and validation_loss=... are those on other samples of the training set;
        reports choose learning rates by them. Sum over the ranks before (eave.sum_over_ranks), if each rank evaluates a
        part. Raises an Error with code 76 if the metric is not finite."""
        self._refuse_closed("evaluate")
        if not self._averager._may_evaluate:
            raise Error(USAGE, "run.evaluate records the consensus: call it within `with averager.consensus():`")
        if self._metric == "loss" and loss is not None:
            scores = {"loss": loss, **scores}
        known = {self._metric, f"validation_{self._metric}", "validation_loss"}
        if self._metric not in scores or not scores.keys() <= known:
            wrong = ", ".join(sorted(scores.keys() - known))
            raise Error(USAGE, f"run.evaluate: expected {self._metric}=..., the metric of this run, and not more than "
                               f"{', '.join(sorted(known))} and loss" + (f"; not {wrong}" if wrong else ""))
        call("run_evaluate", self._handle, *self._numbers_in(loss, scores), self._validation_in(scores))

    def evaluate_workers(self, function: Callable[[Any], Mapping[str, float]]) -> None:
        """Collective, between steps, in place of evaluate() within averager.consensus(). Records the models that
        `eave train` scores: the consensus, the mean of the workers, rank 0's and the best worker's. Each rank calls
        function(model) once for each of the first two, and once for its own parameters. If all workers have the same
        parameters, because gradients are averaged and the model has no buffers, it is called only once.

        The function returns the numbers that evaluate() takes, such as {"loss": 0.3, "accuracy": 0.91}. It evaluates the
        whole test set on each rank, without sum_over_ranks, because the ranks have different models in the last call."""
        self._refuse_closed("evaluate_workers")
        scores: list[Mapping[str, float]] = []
        for hold in self._averager._models_to_score():
            with hold() as model, _alone(function):
                scores.append(function(model))
        for each in scores:
            self._require_names(each)
        pairs = [(ctypes.c_double * 2)(*self._numbers_in(each.get("loss"), each)) for each in scores]
        call("run_evaluate_workers", self._handle, *pairs[0], self._validation_in(scores[0]), pairs[len(pairs) // 2], pairs[-1])

    def _require_names(self, scores: Mapping[str, float]) -> None:
        known = {"loss", self._metric, "validation_loss", f"validation_{self._metric}"}
        if not isinstance(scores, collections.abc.Mapping) or self._metric not in scores or not scores.keys() <= known:
            raise Error(USAGE, f"run.evaluate_workers: its function returned {str(scores)[:80]}; expected a dict with "
                               f"'{self._metric}', the metric of this run, and not more than {', '.join(sorted(known))}")

    def _numbers_in(self, loss: Any, scores: Mapping[str, float], prefix: str = "") -> tuple[float, float]:
        metric = prefix + self._metric
        return _number(prefix + "loss", loss), number_in(f"run.evaluate: {metric}", scores[metric])

    def _validation_in(self, scores: Mapping[str, float]) -> Optional[ctypes.Array[ctypes.c_double]]:
        if f"validation_{self._metric}" in scores:
            return (ctypes.c_double * 2)(*self._numbers_in(scores.get("validation_loss"), scores, "validation_"))
        if "validation_loss" in scores and self._metric != "validation_loss":
            raise Error(USAGE, f"run.evaluate: validation_loss without validation_{self._metric}, by which reports choose: "
                               "give both")
        return None

    def close(self) -> None:
        """Collective. Writes the end and the summary of the run. The end of a `with` block calls it."""
        if self._handle:
            require_planned_length(self._averager._steps_taken - self._steps_before)
            call("run_close", self._handle)
            warn_of_unread_seed()
            self._handle = None
            self._end_recording()

    def _fail(self, exception: BaseException) -> None:
        """Not collective. Records that this exception has ended the run. A run that leaves on request has not failed, and
        goes on from the save that may follow: the averager ends it."""
        if not self._handle:
            return
        handle, self._handle = self._handle, None
        self._end_recording()
        if isinstance(exception, SystemExit) and is_leaving():
            self._averager._left_run = handle
            return
        code = exception.code if isinstance(exception, Error) else 1
        call("run_fail", handle, code, _why(exception).encode(errors="backslashreplace"))

    def _end_recording(self) -> None:
        self._averager._is_recorded = False
        self._averager._planned_end = 0

    def _refuse_closed(self, name: str) -> None:
        if not self._handle:
            raise Error(USAGE, f"run.{name}: this run is closed")

    def __enter__(self) -> Run:
        self._refuse_closed("__enter__")
        return self

    def __exit__(self, kind: Optional[type[BaseException]], exception: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        try:
            if exception is None:
                self.close()
        except Error as error:
            self._fail(error)
            raise
        if exception is not None:
            self._fail(exception)


def _directory(run_dir: Union[str, "os.PathLike[str]", None]) -> str:
    """Collective. Rank 0's path; under `eave compare --program` the one that compare gives. It is absolute, because the
    program may change its working directory before the run ends."""
    try:
        named = os.fsdecode(run_dir) if run_dir is not None else ""
        named.encode()
    except (TypeError, UnicodeEncodeError):
        named = "\0"
    if "\0" in named:  # the library would take what comes before it
        raise Error(USAGE, f"eave.Run: run_dir={ascii(str(run_dir)[:40])[1:-1]}; expected a path in UTF-8")
    given = directory_of_run(named)
    try:
        whole = os.path.abspath(given) if given and rank() == 0 else given
        whole.encode()
    except (OSError, UnicodeEncodeError):  # the working directory is gone, or has a name that is not UTF-8
        whole = given
    path = text_of_first_rank(whole)
    if not path:
        raise Error(USAGE, 'eave.Run: give a run directory, such as eave.Run("runs/a", averager)', is_shared=True)
    return path


@contextlib.contextmanager
def _alone(function: Callable[..., Any]) -> Iterator[None]:
    name = getattr(function, "__name__", "its function")
    job.why_alone = (f"run.evaluate_workers: each rank evaluates the whole test set in {name}, because ranks have different "
                     "models there")
    try:
        yield
    finally:
        job.why_alone = ""


def _why(exception: BaseException) -> str:
    if isinstance(exception, SystemExit):
        return f"sys.exit({exception.code!r}) within the block of the run"
    text = str(exception) if isinstance(exception, Error) else f"{type(exception).__name__}: {exception}"
    return " ".join(text.split())


def _line(name: str, value: Any) -> str:
    text = {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
    line = f"{name}={' '.join(text.split())}"
    try:
        line.encode()
    except UnicodeEncodeError:
        raise Error(USAGE, f"eave.Run: {ascii(line)[1:-1][:80]}: expected text that UTF-8 can hold, without halves of a "
                           "surrogate pair") from None
    if "\0" in line:  # the library would read no further
        raise Error(USAGE, f"eave.Run: {ascii(line)[1:-1][:80]}: expected text without a zero byte")
    return line


def _settings_of(config: Any) -> dict[str, Any]:
    if not isinstance(config or {}, collections.abc.Mapping) or not all(isinstance(name, str) for name in config or {}):
        raise Error(USAGE, f"eave.Run: config={str(config)[:40]}; expected a dict whose keys are names, such as {{'seed': 1}}")
    if wrong := [name for name in config or {} if "=" in name or name.splitlines() != [name]]:
        raise Error(USAGE, f"eave.Run: config={{{wrong[0][:40]!r}: ...}}: expected a name in one line, without =")
    return {name.replace("_", "-"): value for name, value in (config or {}).items()}


def _beside(facts: Mapping[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    """The program's settings, with "config-" before a name that stands for something else in the run. Otherwise runs of
    different settings would count as repetitions."""
    def name_of(name: str, value: Any) -> str:
        is_taken = name in _ORDERS or (name in facts and _line(name, facts[name]) != _line(name, value))
        return f"config-{name}" if is_taken else name
    return {name_of(name, value): value for name, value in config.items()}


def _number(name: str, value: Any) -> float:
    return float("nan") if value is None else number_in(f"run.evaluate: {name}", value)


def _in_words(error: Error) -> Error:
    message = str(error)
    for of_program, of_python in _WORDS:
        message = message.replace(of_program, of_python)
    return Error(error.code, message, error.is_shared)
