"""What a kind draws for one trial."""
import dataclasses
import typing

from judge import DOCUMENTED


@dataclasses.dataclass
class Plan:
    calls: list                                          # of calls.Call, one after another
    what: str                                            # was done to the input, in words
    names: list = dataclasses.field(default_factory=list)      # a failure's message has one of them
    may_change: list = dataclasses.field(default_factory=list)  # below the sandbox
    check: typing.Callable = None                        # of the outcomes: complaints. Called if nothing else failed
    codes: set = dataclasses.field(default_factory=lambda: set(DOCUMENTED))
    bounds: dict = dataclasses.field(default_factory=dict)      # added to those of the judge: "cpu_s", "memory_mib"
    input_bytes: int = 0
    between: typing.Callable = None                      # done after the first call, with its outcome: complaints
    clean_up: typing.Callable = None
    may_be_silent: bool = False                          # another rank has the word
    may_leave_memory: bool = False                       # names in /dev/shm: the launcher was killed


class Skip(Exception):
    """This machine cannot be made into what the trial needs."""
