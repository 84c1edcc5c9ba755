"""A script that `eave compare --program` starts takes its method, seed, learning rate, batch and length from there.

Compare tells each rank by variables: EAVE_PROGRAM_COMMUNICATOR ("easgd tau=10"), EAVE_PROGRAM_SEED, and, if they are
given, EAVE_PROGRAM_LR, EAVE_PROGRAM_BATCH and EAVE_PROGRAM_STEPS or EAVE_PROGRAM_SECONDS. EAVE_RUN_DIR is the directory
of the run's results.
"""
from __future__ import annotations

import math
import os
import sys
import time
from typing import TYPE_CHECKING, Any, Callable, Generic, Iterable, Iterator, Mapping, Optional, TypeVar

from ._error import USAGE, Error
from ._ranks import rank, size, start, sum_over_ranks

if TYPE_CHECKING:
    from ._method import Option

_Number = TypeVar("_Number", int, float)
_Value = TypeVar("_Value")

_PREFIX = "EAVE_PROGRAM_"
_LEAST_STEPS = 2        # steps after which the time of a step is estimated first
_PART_OF_THE_REST = 8   # ranks compare their clocks again after an eighth of the time that is left


_plans: list[Plan] = []  # that the script has made
_runs: list[str] = []    # directories of the runs that the script has opened


def is_compared() -> bool:
    """Whether `eave compare --program` has started this process."""
    return bool(os.environ.get(_PREFIX + "COMMUNICATOR"))


def _refusal(message: str) -> Error:
    """Collective, since all ranks have the same script and variables. The start lets rank 0 speak for all."""
    start()
    return Error(USAGE, message, is_shared=True)


def method_of_run(name: Optional[str], options: Mapping[str, Option]) -> tuple[str, dict[str, Option]]:
    """Returns the method and the options of an averager: those that compare gives, else those of the script, else
    allreduce. Raises an Error if both name a method, or if the script has made no plan()."""
    if not is_compared():
        return name or "allreduce", dict(options)
    told, *words = os.environ[_PREFIX + "COMMUNICATOR"].split()
    pairs = (word.partition("=") for word in words)
    planned: dict[str, Option] = {key.replace("-", "_"): value for key, _, value in pairs}
    if name is not None:
        raise _refusal(f"this script names its method, '{name}', and eave compare --program has chosen {told}: make the "
                       "averager without a name, as eave.Averager(model, optimizer); without compare it is allreduce")
    if twice := sorted(set(planned) & set(options)):
        raise _refusal(f"this script sets {twice[0]}={options[twice[0]]}, and eave compare --program has chosen "
                       f"{twice[0]}={planned[twice[0]]}: leave it out; {told}'s options stand in --communicators "
                       f"{told}:{twice[0]}={planned[twice[0]]}")
    if not _plans:
        raise _refusal("eave compare --program has chosen the seed of this run, and perhaps its learning rate and length, and "
                       "this script does not ask for them: write plan = eave.plan(lr=..., steps=...) before the averager is "
                       "made, and take plan.seed, plan.lr and `for step in plan:` from there")
    rate: dict[str, Option] = {"lr": _plans[-1]._lr} if os.environ.get(_PREFIX + "LR") else {}
    return told, {**rate, **options, **planned}


def require_planned_rate(groups: Iterable[Mapping[str, Any]]) -> None:
    """Collective. Raises an Error if compare gives a learning rate, the script has not read it, and no parameter group
    has it: the results would be reported under a rate that was not used."""
    if not _is_unread("LR"):
        return
    planned = _plans[-1]._lr
    rates = [float(group[name]) for group in groups for name in ("lr", "initial_lr") if group.get(name) is not None]
    if any(math.isclose(rate, planned, rel_tol=1e-6) for rate in rates):
        _plans[-1]._unread.discard("LR")
        return
    raise _refusal(f"eave compare gave lr={planned:g}, and the script trains with {rates[0]:g}: use plan.lr")


def batch_of_run(batch: int) -> int:
    """Collective. Returns the batch that a run records: that which compare gives, if the script passes it to eave.Run or
    takes it from its plan, else `batch`. Raises an Error if compare gives a batch, and a rank's run has another one:
    runs with several batches would count as repetitions of one another."""
    if not (is_compared() and os.environ.get(_PREFIX + "BATCH")):
        return batch
    planned = _told("BATCH", int, 0)
    mine = batch or (0 if _is_unread("BATCH") else planned)
    for each, used in enumerate(sum_over_ranks([float(mine if place == rank() else 0) for place in range(size())])):
        if used != planned:
            recorded = (f"batch={used:g}" if used else "no batch") + (f" on rank {each}" if each else "")
            raise _refusal(f"eave compare gave batch={planned}, and the script's run has {recorded}: use plan.batch, and pass "
                           "batch=plan.batch to eave.Run")
    return planned


def planned_steps() -> int:
    """The number of steps that compare gives to a run; 0 if it gives none."""
    return _told("STEPS", int, 0) if is_compared() else 0


def refuse_further_steps() -> None:
    """Rank 0 calls this when it begins a step beyond those that compare gives."""
    planned = planned_steps()
    raise Error(USAGE, f"eave compare gave steps={planned}, and the script begins step {planned + 1}: take them from "
                       "`for step in plan:`")


def require_planned_length(steps: int) -> None:
    """Collective, at the end of a run. `steps` is the number of steps that rank 0 has taken while the run was open.
    Raises an Error if compare gives a length, the script has not read it, and the run is shorter."""
    planned = planned_steps()
    taken = int(sum_over_ranks([float(steps) if rank() == 0 else 0.0])[0]) if planned else 0
    if taken < planned and _is_unread("STEPS"):
        raise _refusal(f"eave compare gave steps={planned}, and the script has taken {taken}: take them from "
                       "`for step in plan:`")
    if _is_unread("SECONDS"):
        raise _refusal(f"eave compare gave seconds={os.environ[_PREFIX + 'SECONDS']}, and the script has not asked for its "
                       "length: take the steps from `for step in plan:`")


def warn_of_unread_seed() -> None:
    """Rank 0 says if the script has not read the seed that compare gives. Such runs may still differ, so this is no error;
    the report finds those that do not."""
    if _is_unread("SEED") and rank() == 0:
        print(f"eave: warning: eave compare gave seed={os.environ[_PREFIX + 'SEED']}, and the script has not read plan.seed: "
              "if its random numbers do not depend on it, runs of other seeds are copies of this one", file=sys.stderr,
              flush=True)


def _is_unread(name: str) -> bool:
    """Whether compare gives this value, and the script has not read it from any of its plans."""
    return bool(_plans) and all(name in each._unread for each in _plans)


def note_method(description: str) -> None:
    """Tells compare that this run has taken the method. Otherwise compare could not tell that a script ignores it."""
    directory = os.environ.get("EAVE_RUN_DIR")
    if is_compared() and directory and rank() == 0:
        with open(directory + ".method", "w", encoding="utf-8") as file:
            file.write(description + "\n")


def directory_of_run(named: str) -> str:
    """Returns the run directory: the one that compare gives, else the one that the script names."""
    given = os.environ.get("EAVE_RUN_DIR", "")
    return given if given and (is_compared() or not named) else named


def refuse_second_run(resume: bool) -> None:
    """Collective. Compare judges one run of a script. A second one would replace it, and nobody would see that."""
    if is_compared() and _runs and not resume:
        raise _refusal("eave compare --program judges one eave.Run of a script, and this script opens a second one: record only "
                       "the training that is to be compared")


def note_run(directory: str) -> None:
    """Tells that this run is open."""
    _runs.append(directory)


def settings_of_run() -> dict[str, str]:
    """Returns those settings of a run that compare gives and that the averager does not have."""
    told = {name: os.environ.get(_PREFIX + name, "") for name in ("SEED", "STEPS", "SECONDS")}
    names = {"SEED": "seed", "STEPS": "max-steps", "SECONDS": "stop-after-time"}
    return {names[name]: text + ("s" if name == "SECONDS" else "") for name, text in told.items() if text}


def _told(name: str, read: Callable[[str], _Number], otherwise: _Number) -> _Number:
    text = os.environ.get(_PREFIX + name)
    if not text:
        return otherwise
    try:
        return read(text)
    except ValueError:
        raise _refusal(f"{_PREFIX}{name} is '{text[:40]}', no number: eave compare sets it, unset it here") from None


class _Planned(Generic[_Value]):
    """A value of a plan. Whoever reads or sets it has read what compare gives by these variables."""

    def __init__(self, what: str, *variables: str) -> None:
        self.__doc__ = what
        self._variables = variables

    def __set_name__(self, owner: type[Plan], name: str) -> None:
        self._name = "_" + name

    def __get__(self, plan: Plan, owner: Any = None) -> _Value:
        if plan is None:
            return self  # of the class, for those who look for its documentation
        plan._unread.difference_update(self._variables)
        value: _Value = getattr(plan, self._name)
        return value

    def __set__(self, plan: Plan, value: _Value) -> None:
        plan._unread.difference_update(self._variables)
        setattr(plan, self._name, value)


class Plan:
    """The seed, rate, batch and length that this run should use; see plan()."""

    lr = _Planned[float]("The learning rate.", "LR")
    seed = _Planned[int]("The seed of this run.", "SEED")
    batch = _Planned[int]("The number of samples of each rank in a step.", "BATCH")
    steps = _Planned[Optional[int]]("The number of steps; None if the length is a time.", "STEPS", "SECONDS")
    seconds = _Planned[Optional[float]]("The time that the steps take; None if the length is a number of steps.",
                                        "STEPS", "SECONDS")

    def __init__(self, lr: float, steps: Optional[int], seconds: Optional[float], seed: int, batch: int) -> None:
        self._lr = _told("LR", float, lr)
        self._seed = _told("SEED", int, seed)
        self._batch = _told("BATCH", int, batch)
        self._seconds: Optional[float] = _told("SECONDS", float, seconds or 0.0) or None
        self._steps: Optional[int] = _told("STEPS", int, steps or 0) or None
        if os.environ.get(_PREFIX + "STEPS"):
            self._seconds = None
        if os.environ.get(_PREFIX + "SECONDS"):
            self._steps = None
        if (self._steps is None) == (self._seconds is None):
            raise _refusal("plan: give either steps= or seconds=, the length of a run outside of eave compare")
        # Names of the values that compare gives and the script has not read.
        self._unread = {name for name in ("LR", "SEED", "BATCH", "STEPS", "SECONDS") if os.environ.get(_PREFIX + name)}
        _plans.append(self)

    def __iter__(self) -> Iterator[int]:
        """Collective. Yields the numbers of the steps, from 0, until the run is as long as it should be. All ranks get
        the same number of steps, also if the length is a time: then rank 0's clock decides, a few dozen times in all."""
        if self.steps is not None:
            yield from range(self.steps)
            return
        began, step, until = time.monotonic(), 0, _LEAST_STEPS
        while until > step:
            yield from range(step, until)
            step, until = until, until + self._further_steps(until, time.monotonic() - began)

    def _further_steps(self, steps: int, seconds: float) -> int:
        """Collective. Returns the number of steps until ranks ask again; 0: the time is over."""
        assert self.seconds is not None
        left = self.seconds - seconds
        mine = max(1, int(left / _PART_OF_THE_REST / max(seconds / steps, 1e-9))) if left > 0 else 0
        return int(sum_over_ranks([float(mine) if rank() == 0 else 0.0])[0])


def plan(*, lr: float, steps: Optional[int] = None, seconds: Optional[float] = None, seed: int = 1,
         batch: int = 32) -> Plan:
    """Returns a Plan: lr, seed, and batch (samples of each rank). Iterate over it to get the numbers of the steps. Under
    `eave compare --program` its values are compare's. Values that compare does not give are the arguments.

        plan = eave.plan(lr=0.1, steps=600)
        torch.manual_seed(plan.seed)
        optimizer = torch.optim.SGD(model.parameters(), lr=plan.lr)
        with eave.Averager(model, optimizer) as averager:     # the method is compare's too
            for step in plan:
                ...
    """
    return Plan(lr, steps, seconds, seed, batch)
