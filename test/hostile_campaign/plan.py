"""The plan that a kind draws for one trial."""
import dataclasses
import functools
import typing

from judge import DOCUMENTED
from read_run import Refused


@dataclasses.dataclass
class Plan:
    calls: list                                          # calls.Call objects, which run one after another
    what: str                                            # the change of the input, in words
    names: list = dataclasses.field(default_factory=list)      # a failure's message must hold one of them
    may_change: list = dataclasses.field(default_factory=list)  # paths below the sandbox
    check: typing.Callable = None                        # gets all outcomes and returns complaints
    codes: set = dataclasses.field(default_factory=lambda: set(DOCUMENTED))
    bounds: dict = dataclasses.field(default_factory=dict)      # added to the judge's bounds: "cpu_s", "memory_mib"
    input_bytes: int = 0
    between: typing.Callable = None                      # gets the first call's outcome and returns complaints
    clean_up: typing.Callable = None
    may_be_silent: bool = False                          # a failure needs no message of this call
    may_leave_memory: bool = False                       # names may stay in /dev/shm, since the launcher is killed


def on_success(check):
    """Decorates a check that has something to judge only if the last call ended with 0. If a reader of ours refuses what
    eave took, that is the complaint."""
    @functools.wraps(check)
    def checked(outcomes):
        if outcomes[-1].code != 0:
            return []
        try:
            return check(outcomes)
        except Refused as why:
            return [f"SILENT: takes what an independent reader refuses: {why}"]
    return checked


class Skip(Exception):
    """This machine cannot provide what the trial needs."""
