"""A rank that `eave compare --program` has started ends when compare is gone, however that has ended.

Compare's launcher ends the ranks in nearly all cases. It cannot if it was killed too, or if it was just starting them.
EAVE_STARTED_BY names compare's process: the machine, the process id, and when it started, as in base/host.h.
"""
from __future__ import annotations

import os
import pathlib
import threading
import time

_BETWEEN_LOOKS = 0.5  # seconds
_PEER_LOST = 69  # an exit code of eave


def _machine() -> str:
    """As machine_name() of base/host.h: a process id means the same process only on a machine of the same name."""
    try:
        boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
    return f"{boot}-{''.join(letter for letter in space if letter in '0123456789')}"


def _start_of(process: str) -> str:
    """When a process started, or "" if it is gone."""
    try:
        fields = pathlib.Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def _end_without(process: str, started: str) -> None:
    while _start_of(process) == started:
        time.sleep(_BETWEEN_LOOKS)
    os._exit(_PEER_LOST)


def watch_starter() -> None:
    """Begins to watch the process that EAVE_STARTED_BY names, if it is one of this machine."""
    named = os.environ.get("EAVE_STARTED_BY", "").split()
    if len(named) == 3 and named[0] == _machine():
        threading.Thread(target=_end_without, args=named[1:], name="eave-starter", daemon=True).start()
