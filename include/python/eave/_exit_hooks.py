"""Ends a rank: normally, together with the other ranks, or by an exception that ends all of them."""
from __future__ import annotations

import atexit
import io
import os
import sys
import threading
import time
from types import TracebackType
from typing import Any, Optional

from ._error import USAGE, Error
from ._leaving import close_left_open
from ._library import job
from ._ranks import stop

TURN = 0.5  # seconds by which each rank waits longer than the one before; to record a failure and end all takes less
MOST_TURNS = 6
PATIENCE_OF_MPIRUN = 2  # seconds in which mpirun ends the other ranks of one that has left
PATIENCE = 5  # seconds that the process has to end by itself after an exception, and rank 0 to end all ranks

_code: Optional[int] = None  # exit code of the exception that ends this process


def _rank() -> int:
    return job.place[0] if job.place else 0


def is_alone() -> bool:
    """Whether no other rank could be waiting for this process."""
    return job.place is None or job.place[1] == 1 or job.process != os.getpid()


def _is_told_elsewhere(error: Error) -> bool:
    """Whether another rank prints this error. If all ranks have the error, rank 0 prints it. Before eave_start has
    succeeded, another rank prints a shared error, and this rank any other."""
    return error.is_shared and (job.place is None or _rank() > 0)


def _end_all(code: int) -> None:
    """Flushes the output and ends all ranks. Returns only if there is no other rank."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # the stream is closed, or its reader is gone
            pass
    if "logging" in sys.modules:
        sys.modules["logging"].shutdown()
    job.library.eave_abort(code)


def _end_all_later(code: int) -> None:
    """Ends all ranks after PATIENCE, so that this process's threads or atexit functions do not keep them waiting."""
    def wait() -> None:
        time.sleep(PATIENCE)
        _end_all(code)
    threading.Thread(target=wait, daemon=True).start()


def _hook(kind: type[BaseException], exception: BaseException, trace: Optional[TracebackType],
          former: Any = sys.excepthook) -> None:
    """The sys.excepthook. Ranks often fail alike, so each waits its turn: the lowest rank prints its traceback, and
    ends the other ranks before theirs. The mpirun of Open MPI 4 may hang if two ranks end the job at a time, so ranks
    whose error rank 0 prints leave that to rank 0."""
    global _code
    is_told_elsewhere = isinstance(exception, Error) and _is_told_elsewhere(exception)
    if not is_alone():
        time.sleep(PATIENCE if is_told_elsewhere else TURN * min(_rank(), MOST_TURNS))
    if not is_told_elsewhere:
        former(kind, exception, trace)
    _code = exception.code if isinstance(exception, Error) else 130 if issubclass(kind, KeyboardInterrupt) else 1
    if not is_alone():
        _end_all_later(_code)
    if isinstance(exception, Error):
        _print_collected()
        raise SystemExit(_code)


def _print_collected() -> None:
    """After torch.distributed.init_process_group, PyTorch's hook calls this one and collects what it prints, which a
    SystemExit would discard. So it is printed first."""
    if isinstance(sys.stderr, io.StringIO) and sys.__stderr__:
        sys.__stderr__.write(sys.stderr.getvalue())
        sys.__stderr__.flush()


def _at_exit() -> None:
    """Leaves the job when the process exits. If other ranks may still be at work, it does not leave normally, because
    it would wait for them."""
    if job.place is None or job.process != os.getpid():
        return
    if _code is not None and not is_alone():
        _end_all(_code)
    failed = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if failed or job.is_broken:
        return
    try:
        close_left_open()
    except Error as error:
        print(f"eave: rank {_rank()}: {error}", file=sys.stderr)
        _end_all(error.code)
    if job.is_left_by_exit:
        print(f"eave: rank {_rank()} ends by sys.exit() within the block of an averager, which ends the other ranks too",
              file=sys.stderr)
    elif job.open == 0:
        stop()
    else:
        _end_with_averager_open()


def _end_with_averager_open() -> None:
    """As in _hook, the lowest rank speaks, and ends the other ones before they do. The code of sys.exit() cannot be read
    here, so this process leaves without MPI_Finalize: within a second mpirun ends the other ranks and keeps that code."""
    has_mpirun = bool(job.library.eave_ranks_meet_by_mpi())
    if not is_alone():
        time.sleep(PATIENCE_OF_MPIRUN * min(_rank(), 1) if has_mpirun else TURN * min(_rank(), MOST_TURNS))
    print(f"eave: rank {_rank()} ends with an averager open; close() it first, on all ranks, or open it by "
          "`with eave.Averager(...) as averager:`", file=sys.stderr)
    if not is_alone() and not has_mpirun:
        _end_all(USAGE)


sys.excepthook = _hook
atexit.register(_at_exit)  # registered at import, so it runs after all functions that are registered later
