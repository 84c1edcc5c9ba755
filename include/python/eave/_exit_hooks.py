"""Ends a rank: normally, together with the other ranks, or by an exception that ends all of them."""
import atexit
import os
import sys
import threading
import time

from ._library import Error, job, stop

TURN = 0.25  # seconds by which each rank waits longer than the one before; ending all ranks takes less
MOST_TURNS = 6
PATIENCE = 5  # seconds that the process has to end by itself after an exception

_code = None  # exit code of the exception that ends this process


def _rank():
    return job.place[0] if job.place else 0


def _is_alone():
    return job.place is None or job.place[1] == 1 or job.process != os.getpid()


def _is_told_elsewhere(error):
    """Whether another rank prints this error. If all ranks have the error, rank 0 prints it. Before eave_start has
    succeeded, a rank that does not share the error prints it."""
    return error.is_shared and (job.place is None or _rank() > 0)


def _end_all(code):
    """Flushes the output and ends all ranks. Returns only if there is no other rank."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # the stream is closed, or its reader is gone
            pass
    if "logging" in sys.modules:
        sys.modules["logging"].shutdown()
    job.library.eave_abort(code)


def _end_all_later(code):
    """Ends all ranks after PATIENCE, so that this process's threads or atexit functions do not keep them waiting."""
    def wait():
        time.sleep(PATIENCE)
        _end_all(code)
    threading.Thread(target=wait, daemon=True).start()


def _hook(kind, exception, trace, former=sys.excepthook):
    """The sys.excepthook. Ranks often fail alike, so each waits its turn: the lowest rank prints its traceback, and
    ends the other ranks before theirs."""
    global _code
    is_of_eave = issubclass(kind, Error)
    if not _is_alone():
        time.sleep(TURN * min(_rank(), MOST_TURNS))
    if not (is_of_eave and _is_told_elsewhere(exception)):
        former(kind, exception, trace)
    _code = exception.code if is_of_eave else 130 if issubclass(kind, KeyboardInterrupt) else 1
    if not _is_alone():
        _end_all_later(_code)
    if is_of_eave:
        raise SystemExit(_code)


def _at_exit():
    """Leaves the job when the process exits. If other ranks may still be at work, it does not leave normally, because
    it would wait for them."""
    if job.place is None or job.process != os.getpid():
        return
    if _code is not None and not _is_alone():
        _end_all(_code)
    failed = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if failed or job.is_broken:
        return
    if job.open == 0:
        stop()
    else:
        print(f"eave: rank {_rank()} ends with an averager open; close() it first, on all ranks", file=sys.stderr)


sys.excepthook = _hook
atexit.register(_at_exit)  # registered at import, so it runs after all functions that are registered later
