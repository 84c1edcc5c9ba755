"""Programs that are run with a limit of time and ended with all that they started."""
import ctypes
import dataclasses
import os
import pathlib
import signal
import subprocess
import threading
import time

AT_LIMIT = 124  # the exit code of a program that was ended at its limit, as timeout(1) has it
GRACE_S = 3     # between SIGTERM and SIGKILL: mpirun needs it to end the ranks
SET_DEATH_SIGNAL = 1  # of prctl(2)
LIBC = ctypes.CDLL(None)


@dataclasses.dataclass
class Ended:
    """A program that has ended. `text` holds its output and its errors."""
    code: int
    text: str
    seconds: float


def end_with_parent():
    """For a child before it begins: SIGTERM if this program is killed, since a session of its own outlives a terminal."""
    LIBC.prctl(SET_DEATH_SIGNAL, signal.SIGTERM)


def processes():
    """(number, parent, session) of each process that is not a zombie."""
    for path in pathlib.Path("/proc").iterdir():
        if not path.name.isdigit():
            continue
        try:
            text = (path / "stat").read_text()
        except OSError:
            continue  # it has just ended
        state, parent, _, session = text[text.rindex(")") + 2:].split()[:4]
        if state != "Z":
            yield int(path.name), int(parent), int(session)


def sessions_below(pid):
    """The sessions of a process and of all that it has started. mpirun gives each rank a process group of its own, so a
    group is not enough; and a program may start others in sessions of their own."""
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
    """Ends a Popen that was started with start_new_session, with all that it has started."""
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
    """The program that execute() runs now, for a signal's handler."""
    process = None


def execute(command, limit_s, environment=None, folder=None, on_line=None):
    """Runs a command; at its limit it ends the command's whole session, and the code is AT_LIMIT. `on_line` gets each line
    of output and errors as it comes. A variable of `environment` that is None is unset. A program that cannot be started has
    code 127."""
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
    finally:  # a handler of a signal may raise
        timer.cancel()
    timer.join()
    Running.process = None
    if not late.is_set():
        signal_all({process.pid}, signal.SIGKILL)  # what it has left behind would compute beside the next one
    return Ended(AT_LIMIT if late.is_set() else process.returncode, "".join(lines), time.monotonic() - begin)
