"""What is run, how it ended, and the JSON that keeps it."""
import copy
import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PASSED, FAILED, LEFT_OUT = "passed", "failed", "left out"


@dataclasses.dataclass
class Ended:
    """A process that has ended, or was ended at its limit (code 124)."""
    code: int
    text: str  # both streams
    seconds: float


def execute(command, limit_s, environment=None, log=None):
    """Runs a command in the repository's root; at its limit it is ended with all that it started."""
    begin = time.monotonic()
    process = subprocess.Popen(list(map(str, command)), cwd=ROOT, env={**os.environ, **(environment or {})},
                               text=True, errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True)
    try:
        text, code = process.communicate(timeout=limit_s)[0], None
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        text, code = process.communicate()[0], 124
    ended = Ended(process.returncode if code is None else code, text, time.monotonic() - begin)
    if log:
        words = " ".join(map(str, command))
        log.write_text(f"{words}\n\n{ended.text}\nended with {ended.code} after {ended.seconds:.1f} s\n")
    return ended


class Record:
    """All checks so far. Every check goes on after a failure; none begins when the time is over."""

    def __init__(self, until, dry, facts):
        self.until, self.dry, self.facts = until, dry, facts
        self.checks = []
        self.section = ""
        self.logs = ROOT / "build" / "gpu"
        if not dry:
            self.logs.mkdir(parents=True, exist_ok=True)

    def of_section(self, name):
        """The same record, for the checks of one section."""
        view = copy.copy(self)
        view.section = name
        if self.dry:
            print(f"== {name}")
        return view

    def left_s(self):
        return self.until - time.monotonic()

    def note(self, name, outcome, seconds, detail=""):
        self.checks.append({"section": self.section, "name": name, "outcome": outcome, "seconds": round(seconds, 1),
                            "detail": detail})
        print(f"{outcome:8} {seconds:6.1f} s  {self.section}: {name}" + (f": {detail}" if detail else ""), flush=True)
        return outcome == PASSED

    def run(self, name, command, limit_s, judge=None, environment=None):
        """Runs a command as a check. `judge` looks at what has Ended and returns what is wrong, "" for nothing; without it
        the exit code has to be 0. Returns whether it passed."""
        if self.dry:
            words = [f"{key}={value}" for key, value in (environment or {}).items()] + list(map(str, command))
            print(f"  {name} (at most {limit_s} s): {' '.join(words)}")
            return True
        if self.left_s() < 5:
            return self.note(name, LEFT_OUT, 0, "out of time")
        log = self.logs / (re.sub(r"[^a-zA-Z0-9]+", "-", f"{self.section} {name}") + ".log")
        ended = execute(command, min(limit_s, self.left_s()), environment, log)
        if ended.code == 124:
            return self.note(name, FAILED, ended.seconds, f"not done after {ended.seconds:.0f} s")
        wrong = judge(ended) if judge else "" if ended.code == 0 else f"exit code {ended.code}: {last_words(ended.text)}"
        return self.note(name, FAILED if wrong else PASSED, ended.seconds, wrong)

    def passed(self):
        return bool(self.checks) and all(check["outcome"] == PASSED for check in self.checks)

    def write(self, path, speed):
        path.parent.mkdir(parents=True, exist_ok=True)
        found = {"what": "test/gpu/run"} | self.facts | {"checks": self.checks, "speed": speed}
        path.write_text(json.dumps(found, indent=2) + "\n")


def last_words(text, most=300):
    """The last line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"error|fail|fatal", line, re.IGNORECASE)]
    return (errors or lines or ["no output"])[-1][:most]
