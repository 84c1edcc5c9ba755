"""How a rank ends: in good order with the others, or by an exception that ends all of them."""
import atexit
import os
import sys
import threading
import time

from ._library import Error, job, stop

TURN = 0.25  # seconds; ending all ranks takes less
MOST_TURNS = 6
PATIENCE = 5  # seconds for the process to end after an exception, before it is ended

_code = None  # of the exception that ends this process


def _rank():
    return job.place[0] if job.place else 0


def _is_alone():
    return job.place is None or job.place[1] == 1 or job.process != os.getpid()


def _is_told_elsewhere(error):
    """All ranks have it, and rank 0 tells it; where they have not come together, one that does not share it."""
    return error.is_shared and (job.place is None or _rank() > 0)


def _end_all(code):
    """Returns only if there is no other rank."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # closed, or nobody reads it
            pass
    if "logging" in sys.modules:
        sys.modules["logging"].shutdown()
    job.library.eave_abort(code)


def _end_all_later(code):
    """Threads that are still at work, or functions of atexit, must not keep the other ranks waiting."""
    def wait():
        time.sleep(PATIENCE)
        _end_all(code)
    threading.Thread(target=wait, daemon=True).start()


def _hook(kind, exception, trace, former=sys.excepthook):
    """For sys.excepthook. Ranks often fail alike: the lowest speaks, and has ended the others before their turn."""
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
    """Not in good order if others may still be at work: they would be waited for."""
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
atexit.register(_at_exit)  # when the module is imported: what is registered later runs before it
