"""Leaving: all ranks end between the same two steps when one of them is asked to, by SIGUSR1 for example."""
from __future__ import annotations

import collections.abc
import signal
import sys
from typing import Any, Iterable, Union

from ._error import USAGE, Error
from ._library import call, job

LEFT = 75  # the exit code, as in eave.h
Signals = Union[int, Iterable[int], None]

_left_open: list[Any] = []  # averagers that were open when Leaving was raised, in the order of their opening


class Leaving(SystemExit):
    """Raised by an Averager on all ranks, when the same step begins, if a rank was asked to leave. Nothing of that step has
    been done. If nothing catches it, the program ends with exit code 75. To save, catch it, save, and raise it again."""

    def __init__(self) -> None:
        super().__init__(LEFT)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()


Leaving.__module__ = "eave"


def listen(signals: Signals) -> None:
    """Makes each of these signals ask all ranks to leave, unless the program has a handler for it."""
    for number in _numbers(signals):
        call("leave_on", number)


def _numbers(signals: Signals) -> list[int]:
    are_several = isinstance(signals, collections.abc.Iterable) and not isinstance(signals, str)
    given: list[Any] = [] if signals is None else list(signals) if are_several else [signals]  # type: ignore[arg-type]
    for each in given:
        if isinstance(each, bool) or not isinstance(each, int):
            raise Error(USAGE, f"leave_on={each!r}: expected a signal such as signal.SIGUSR1, several of them, or None")
    return [int(each) for each in given]


def ask_to_leave() -> None:
    """Asks all ranks to leave together, as SIGUSR1 does by default. Not collective. Any rank may call it, also in a handler
    of a signal or in another thread."""
    if job.library is not None:
        job.library.eave_ask_to_leave()


def is_leaving() -> bool:
    return job.library is not None and job.library.eave_is_leaving() != 0


def leave(averagers: Iterable[Any]) -> None:
    """Raises Leaving. If the program then ends with these averagers open, they are closed."""
    if not _left_open and job.place is not None and job.place[0] == 0:
        print(f"eave: a rank was asked to leave: all ranks leave before their next step, with exit code {LEFT}", file=sys.stderr,
              flush=True)
    _left_open[:] = sorted(averagers, key=lambda averager: averager.number)
    raise Leaving


def close_left_open() -> None:
    """Collective. Called at the end of the program: all ranks end between the same two steps, so they can close together."""
    while _left_open:
        _left_open.pop(0).close()


DEFAULT = signal.SIGUSR1
