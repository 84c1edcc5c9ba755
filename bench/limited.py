"""Runs programs with a time limit. At the limit it kills them and all processes that they started."""
import ctypes
import dataclasses
import os
import pathlib
import signal
import subprocess
import threading
import time

AT_LIMIT = 124  # the exit code of a program that was killed at its limit, as with timeout(1)
GRACE_S = 3     # seconds between SIGTERM and SIGKILL: mpirun needs them to end the ranks
SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)
LIBC = ctypes.CDLL(None)


@dataclasses.dataclass
class Ended:
    """The result of a program that has ended. `text` holds its standard output and standard error."""
    code: int
    text: str
    seconds: float


def end_with_parent():
    """Runs in the child before exec: asks for SIGTERM when this program dies. The child has its own session, so the
    terminal would not end it."""
    LIBC.prctl(SET_DEATH_SIGNAL, signal.SIGTERM)


def processes():
    """(number, parent, session) of each process that is not a zombie."""
    for path in pathlib.Path("/proc").iterdir():
        if not path.name.isdigit():
            continue
        try:
            text = (path / "stat").read_text()
        except OSError:
            continue  # the process has just ended
        state, parent, _, session = text[text.rindex(")") + 2:].split()[:4]
        if state != "Z":
            yield int(path.name), int(parent), int(session)


def sessions_below(pid):
    """The sessions of a process and of all its descendants. Process groups are not enough, because mpirun gives each
    rank its own. One session is not enough either, because a program may start others in new sessions."""
    found, family = {pid}, {pid}
    known = list(processes())
    for _ in known:
        more = {number for number, parent, _ in known if parent in family} - family
        if not more:
            break
        family |= more
    return found | {session for number, _, session in known if number in family and number != pid}


def members_of(sessions):
    return [number for number, _, session in processes() if session in sessions]


def signal_all(sessions, number):
    for pid in members_of(sessions):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def end_session(leader, grace_s=GRACE_S):
    """Ends a Popen that was started with start_new_session, and all its descendants: SIGTERM to the leader, and SIGKILL
    to all that still run after `grace_s` seconds."""
    sessions = sessions_below(leader.pid)
    if leader.poll() is None and grace_s > 0:
        leader.terminate()
    until = time.monotonic() + grace_s
    while members_of(sessions) and time.monotonic() < until:
        leader.poll()
        time.sleep(0.05)
    signal_all(sessions, signal.SIGKILL)
    leader.wait()


class Running:
    """The program that execute() runs now, for signal handlers."""
    process = None


def execute(command, limit_s, environment=None, folder=None, on_line=None):
    """Runs a command. After `limit_s` seconds ends it with all its descendants, and returns code AT_LIMIT. Calls
    `on_line` with each line of output and errors as it arrives. A variable of `environment` that is None is unset. If
    the program cannot be started, the code is 127."""
    begin, lines, late = time.monotonic(), [], threading.Event()
    variables = {name: value for name, value in {**os.environ, **(environment or {})}.items() if value is not None}
    try:
        process = subprocess.Popen(list(map(str, command)), cwd=folder, env=variables, text=True, errors="replace",
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   start_new_session=True, preexec_fn=end_with_parent)
    except OSError as error:
        return Ended(127, f"{command[0]} cannot be started: {error.strerror}\n", 0.0)
    Running.process = process

    def end_late():
        late.set()
        end_session(process)

    timer = threading.Timer(max(0.0, limit_s), end_late)
    timer.start()
    try:
        for line in process.stdout:
            lines.append(line)
            if on_line:
                on_line(line)
        process.wait()
    finally:  # a signal handler may raise
        timer.cancel()
    timer.join()
    Running.process = None
    if not late.is_set():
        signal_all({process.pid}, signal.SIGKILL)  # processes left behind would disturb the next measurement
    return Ended(AT_LIMIT if late.is_set() else process.returncode, "".join(lines), time.monotonic() - begin)
