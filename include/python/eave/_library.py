"""Finds, declares and calls libeave.so by ctypes, and keeps this process's part in the job."""
from __future__ import annotations

import ctypes
import os
import pathlib
import threading
from typing import Any, Callable, Iterator, Optional

from . import _mpi
from ._error import CONFIGURATION, USAGE, Error, in_words_of_python

VERSION = "0.1.0"  # that of libeave.so, in CMakeLists.txt
INTERFACE = 1
AVERAGES_GRADIENTS, HAS_CENTER, MOVES_PARAMETERS, EXCHANGES_TOGETHER, WANTS_LOSS = 1, 2, 4, 8, 16  # as in eave.h


class Spent(ctypes.Structure):
    _fields_ = [("seconds_waiting", ctypes.c_double), ("bytes", ctypes.c_int64), ("calls", ctypes.c_int64)]


class _Job:
    """This process's part in the job."""
    library: Any = None
    library_path = ""                           # as it was given to the loader
    mpi: Optional[_mpi.Mpi] = None              # the MPI that the package loaded by itself
    place: Optional[tuple[int, int, int]] = None  # (rank, size, local rank), or None before start()
    process: Optional[int] = None               # id of the process that called start(); a fork of it is not a rank
    is_stopped = False                          # stop() has been called
    open = 0                                    # number of open averagers
    is_left_by_exit = False                     # SystemExit has left the block of an averager
    why_alone = ""                              # what this rank does by itself now, so that it may not call the others
    hand_over_all: Optional[Callable[[], None]] = None  # to be called before a collective call of a step; see Overlap
    callers: dict[int, None] = {}               # the threads that are within a collective call
    is_broken = False                           # a call has failed in such a way that the job cannot go on


job = _Job()

# Functions that only concern this rank, of those that may be called between backward() and step().
_ALONE = frozenset(("gradients_ready", "spent_by", "look_ahead", "change_rate", "shuffle", "leave_on", "run_loss", "run_fail",
                    "run_check"))
_BEGIN = frozenset(("begin_step", "begin_joined_step"))


def prefixes() -> list[pathlib.Path]:
    """The directories that may have libeave.so in a lib folder: the package itself, as in a wheel, then the prefix of
    `cmake --install`, whose package is in share/eave/python/eave."""
    package = pathlib.Path(__file__).resolve().parent
    parents = package.parents
    return [package, parents[min(3, len(parents) - 1)]]


def _places() -> Iterator[str]:
    if "LIBEAVE" in os.environ:
        yield os.path.expanduser(os.environ["LIBEAVE"])
        return
    for prefix in prefixes():
        for directory in sorted(prefix.glob("lib*")) + sorted(prefix.glob("lib/*-linux-*")):
            yield from map(str, sorted(directory.glob("libeave.so*")))
    yield "libeave.so"


def load() -> Any:
    """Loads libeave.so, and the MPI that it needs, unless that has been done. Returns the library."""
    if job.library is None:
        job.library = _load()
    return job.library


def _load() -> ctypes.CDLL:
    failures = []
    for place in _places():
        prepared = _mpi.prepare(place)
        try:
            # Open MPI's components look for its symbols among the global symbols of the process.
            library = ctypes.CDLL(place, mode=ctypes.RTLD_GLOBAL)
        except OSError as failure:
            if refusal := _mpi.explain(place, failure):
                raise refusal from None
            failures.append(f"{place}: {failure}")
            continue
        found = library.eave_interface()
        if found != INTERFACE:
            raise Error(USAGE, f"{place} has version {found} of the interface, this module needs {INTERFACE}")
        job.library_path, job.mpi = place, prepared
        return _declare(library, place)
    if "LIBEAVE" in os.environ:
        raise Error(USAGE, f"what LIBEAVE names cannot be loaded; set it to the path of a libeave.so ({failures[0]})")
    raise Error(USAGE, "libeave.so is not found; set LIBEAVE to its path (" + "; ".join(failures) + ")")


def _declare(library: ctypes.CDLL, place: str) -> ctypes.CDLL:
    pointer, floats, size = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t
    flag, number, text = ctypes.POINTER(ctypes.c_int), ctypes.c_double, ctypes.c_char_p
    arguments: dict[str, list[Any]] = {
        "start": [text], "rank": [], "size": [], "local_rank": [], "stop": [], "abort": [ctypes.c_int],
        "open": [text, floats, floats, size, ctypes.POINTER(pointer)],
        "look_ahead": [pointer, floats, number],
        "begin_step": [pointer, ctypes.c_int64, ctypes.c_int64, number],
        "change_rate": [pointer, number], "gradient_ready": [pointer, size, size],
        "begin_joined_step": [pointer, ctypes.c_int64, ctypes.POINTER(number), size, flag],
        "ask_to_leave": [], "leave_on": [ctypes.c_int], "is_leaving": [],
        "before_update": [pointer, number, flag],
        "before_update_of": [pointer, number, ctypes.c_void_p, size, flag],
        "before_update_from": [pointer, number, pointer, pointer, size, ctypes.c_void_p, size, flag, flag],
        "gradients_ready": [pointer, pointer, pointer, size, size],
        "after_update": [pointer], "consensus": [pointer, floats],
        "sum": [ctypes.POINTER(number), size], "broadcast": [ctypes.c_void_p, size], "require_same": [text],
        "shuffle": [ctypes.POINTER(ctypes.c_int64), size, ctypes.c_uint64, ctypes.c_int64],
        "run_open": [text, text, pointer, ctypes.POINTER(pointer)], "run_loss": [pointer, number],
        "run_evaluate": [pointer, number, number, ctypes.POINTER(number)], "run_close": [pointer],
        "run_evaluate_workers": [pointer, number, number, *3 * [ctypes.POINTER(number)]],
        "mean_of_workers": [pointer, floats],
        "run_fail": [pointer, ctypes.c_int, text], "run_check": [text],
        "spent_by": [pointer, ctypes.POINTER(Spent)], "close": [pointer], "abandon": [pointer],
        "steps": [pointer], "state": [pointer, pointer, size, ctypes.POINTER(pointer), ctypes.POINTER(size)],
        "restore": [pointer, pointer, pointer, size, flag, ctypes.POINTER(pointer), ctypes.POINTER(size)],
        "save": [pointer, text, pointer, size, ctypes.c_int64],
        "load": [pointer, text, flag, ctypes.POINTER(pointer), ctypes.POINTER(size)],
        "description": [pointer], "traits": [pointer], "steps_left_out": [pointer], "error": [], "error_is_shared": [],
        "ranks_meet_by_mpi": [],
    }
    results: dict[str, Any] = {"description": text, "error": text, "traits": ctypes.c_uint,
                               "steps_left_out": ctypes.c_int64, "steps": ctypes.c_int64, "abort": None,
                               "ask_to_leave": None}
    for name, types in arguments.items():
        try:
            function = getattr(library, "eave_" + name)
        except AttributeError:
            raise Error(USAGE, f"{place} is older than this module: it has no eave_{name}; install both anew") from None
        function.argtypes, function.restype = types, results.get(name, ctypes.c_int)
    return library


def call(name: str, *arguments: Any) -> None:
    """Calls eave_NAME. Raises its message as an Error, in the words of a Python program. Also raises an Error if two threads
    train at the same time: each rank would order their calls in its own way, and the values of one averager would be
    averaged with those of another."""
    if job.is_stopped and name != "stop":
        raise Error(USAGE, "eave.stop() was called, and a process can join a job only once: call stop() after the last use "
                           "of eave, or not at all; the end of the program does the same")
    if job.hand_over_all and name not in _ALONE:
        job.hand_over_all()
    thread = threading.get_ident()
    if name in _BEGIN and {**job.callers, thread: None} != {thread: None}:
        raise Error(USAGE, f"{name}: another thread of this rank is within a call of eave: let one thread make all calls, "
                           "because ranks must make them in the same order")
    is_outer = name not in _ALONE and thread not in job.callers
    if is_outer:
        job.callers[thread] = None
    try:
        code = int(getattr(job.library, "eave_" + name)(*arguments))
    finally:
        if is_outer:
            del job.callers[thread]
    if code != 0:
        _raise(code, name, arguments)


def _raise(code: int, name: str, arguments: tuple[Any, ...]) -> None:
    job.is_broken = job.is_broken or code not in (USAGE, CONFIGURATION)
    options = arguments[0].decode() if name == "open" else ""
    message = in_words_of_python(job.library.eave_error().decode(), options)
    raise Error(code, message, job.library.eave_error_is_shared() != 0)
