"""One start of eave: how it is started, and its outcome."""
import contextlib
import dataclasses
import os
import resource
import selectors
import signal
import subprocess
import time

MOST_OUTPUT = 4 << 20


@dataclasses.dataclass
class Call:
    words: list                                  # the words after the program's name
    environment: dict = dataclasses.field(default_factory=dict)
    ranks: int = 0                               # ranks under mpirun; 0: without mpirun
    limits: dict = dataclasses.field(default_factory=dict)   # maps "AS", "FSIZE", "NOFILE" to a number
    signal: tuple = None                         # number, seconds after the start, to "launcher" or "rank"
    closed: tuple = ()                           # standard streams (0, 1, 2) that are closed
    output: str = ""                             # a file in place of standard output, such as /dev/full
    group: str = ""                              # a cgroup to join
    wall_s: float = 60
    promised: bool = False                       # the call has to end with 0


@dataclasses.dataclass
class Outcome:
    call: Call
    code: int
    out: bytes
    err: bytes
    cpu_s: float
    wall_s: float
    memory_mib: float
    left: list                                   # processes that outlived the call
    is_late: bool = False
    stuck: str = ""                              # the processes and their states when the call took too long


def environment_of(place, call):
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "OPAL_PREFIX") if name in os.environ}
    return kept | {
        "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
        "HOSTILE_TRIAL": str(place.root)} | place.environment() | call.environment


def command_of(eave, call):
    words = [word if isinstance(word, bytes) else str(word) for word in call.words]
    return (["mpirun", "-np", str(call.ranks)] if call.ranks else []) + [str(eave), *words]


def _prepare(call):
    """Sets group, streams and limits. Runs in the child process before it becomes eave."""
    if call.group:
        with open(os.path.join(call.group, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(os.getpid()))
    for stream in call.closed:
        os.close(stream)
    for name, value in call.limits.items():
        resource.setrlimit(getattr(resource, "RLIMIT_" + name), (value, value))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def processes_of(place):
    """Returns the processes whose environment carries the trial's mark."""
    mark = b"HOSTILE_TRIAL=" + str(place.root).encode() + b"\0"
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if mark in file.read() and _state(name) != "Z":
                    found.append(int(name))
        except OSError:
            continue
    return found


def _state(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


def _describe(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().split(b"\0")[0].decode(errors="replace")
        with open(f"/proc/{pid}/wchan", encoding="ascii", errors="replace") as file:
            return f"{words} {_state(pid)} in {file.read()}"
    except OSError:
        return f"{pid} gone"


def _send(number, to, process, place):
    targets = [process.pid]
    if to == "rank":
        targets = [pid for pid in processes_of(place) if pid != process.pid][-1:] or targets
    for pid in targets:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _end_all(place, process):
    """Kills the processes that are left of a call, and returns their numbers."""
    left = [pid for pid in processes_of(place) if pid != process.pid]
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return left


def _collect(process, call, place, started):
    """Reads the output until the process ends, and sends the call's signal meanwhile. Returns the output, and whether
    the call took too long."""
    output, chooser = {"out": b"", "err": b""}, selectors.DefaultSelector()
    for name, stream in (("out", process.stdout), ("err", process.stderr)):
        if stream is not None:
            chooser.register(stream, selectors.EVENT_READ, name)
    due = started + call.signal[1] if call.signal else None
    while chooser.get_map():
        now = time.monotonic()
        if due is not None and now >= due:
            _send(call.signal[0], call.signal[2], process, place)
            due = None
        if now - started > call.wall_s:
            return output, True
        for key, _ in chooser.select(min(0.5, max(0.0, (due or now + 0.5) - now))):
            data = os.read(key.fd, 1 << 16)
            if not data:
                chooser.unregister(key.fileobj)
            elif len(output[key.data]) < MOST_OUTPUT:
                output[key.data] += data
    return output, False


def run(eave, call, place):
    started = time.monotonic()
    target = open(call.output, "wb") if call.output else subprocess.PIPE
    process = subprocess.Popen(command_of(eave, call), cwd=place.cwd, env=environment_of(place, call), stdout=target,
                               stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, start_new_session=True,
                               preexec_fn=lambda: _prepare(call))
    output, is_late = _collect(process, call, place, started)
    stuck = "; ".join(map(_describe, processes_of(place))) if is_late else ""
    if is_late:
        process.kill()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - started
    left = _end_all(place, process) if call.ranks or is_late or call.signal else []
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    if call.output:
        target.close()
    code = process.returncode if process.returncode >= 0 else 128 - process.returncode
    return Outcome(call, code, output["out"], output["err"], usage.ru_utime + usage.ru_stime, wall,
                   usage.ru_maxrss / 1024, left, is_late, stuck)
