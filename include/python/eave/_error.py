"""Error: a message for the person who started the job, and the exit code of the program."""
from __future__ import annotations

import re
import unicodedata
from typing import Any

USAGE, PEER_LOST, CANNOT_CREATE, CONFIGURATION = 64, 69, 73, 78  # exit codes, as in eave.h

# Words that the program's messages tell people to type, and the words that a Python program writes instead.
_WORDS = (("to train with one rank, give --transport loopback", "to train with one rank, call eave.start('loopback') first"),
          ("or train with --device cpu", "or keep the model on the CPU"),
          ("train with --device cpu", "keep the model on the CPU"),
          ("call eave_look_ahead", "call look_ahead()"),
          ("beta 0.9 is the usual choice", "beta=0.9 is the usual choice"),
          ("allow-unstable silences", "allow_unstable=True silences"),
          ("; see --help", "; see eave train --help, with _ for -"))
_OPTION_WITH_VALUE = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*) (\S+) \(the options\)")
_OPTION = re.compile(r"(?<![\w=/.-])--(?!preset\b|mpi\b|help\b)([a-z][a-z0-9-]*)")
_TRANSPORT = re.compile(r"--transport ([a-z][a-z-]*)(?! --)\b")
_WORD_WITH_VALUE = re.compile(r"(?<![\w/.-])([a-z]+(?:-[a-z]+)+)(?==)")


def printable(text: str) -> str:
    """Replaces control characters by "?", as libeave.so does: file names may contain anything, also terminal
    commands."""
    return "".join("?" if unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") else letter for letter in text)


def _python_name(name: str) -> str:
    return name.replace("-", "_")


def in_words_of_python(message: str, options: str = "") -> str:
    """Returns a message of libeave.so as a Python program would say it: tau=0 for --tau 0, limit_step=1s for
    limit-step=1s. `options` are those of the averager, "name=value name=value", if the message is about them."""
    for of_program, of_python in _WORDS:
        message = message.replace(of_program, of_python)
    message = _TRANSPORT.sub(r"eave.start('\1')", message)
    if options:
        message = _OPTION_WITH_VALUE.sub(lambda found: f"{_python_name(found[1])}={found[2]}", message)
        message = _OPTION.sub(lambda found: _python_name(found[1]), message)
        message = message.replace(" (the options)", "")
        for name in (word.partition("=")[0] for word in options.split() if "-" in word.partition("=")[0]):
            message = re.sub(rf"(?<![\w/.-]){re.escape(name)}(?![\w-])", _python_name(name), message)
    return _WORD_WITH_VALUE.sub(lambda found: _python_name(found[1]), message)


class Error(RuntimeError):
    """The message says what happened and what to do. `code` is the exit code of the program if nothing catches the
    error.

    `is_shared`: all ranks have this error, so only rank 0 prints it."""

    def __init__(self, code: int, message: str, is_shared: bool = False) -> None:
        super().__init__(printable(message))
        self.code = code
        self.is_shared = is_shared

    def __reduce__(self) -> tuple[Any, ...]:
        """So that a process of multiprocessing can hand it over."""
        return type(self), (self.code, str(self), self.is_shared)


Error.__module__ = "eave"  # so that tracebacks show the name by which users know it
