"""The record of one part of test/gpu/run: every planned check and its outcome."""
import json
import os
import pathlib
import re
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
from limited import AT_LIMIT, execute

PASSED, FAILED, LEFT_OUT, NOT_REACHED = "passed", "FAILED", "left out", "not reached"
SKIPPED = "skipped"  # this machine cannot do it, and nobody expects it to: the part passes without it
UNFINISHED = "unfinished: this part is still running, or was cut short"
LEAST_S = 5               # no check begins if less time is left
HASTE = float(os.environ.get("EAVE_GPU_HASTE", 1))  # rehearsals divide the time limits of checks by this
LONG_S = 90               # a check that may take longer prints a line when it begins
LOG_BYTES = 12 << 20      # limit of a part's log
OUTPUT_BYTES = 400 << 10  # limit of one check's output in that log; the log keeps more of its end than of its beginning


class Wrong(Exception):
    """A judge raises it with the reason why a check failed."""


class Lacking(Exception):
    """A judge raises it with what the machine lacks, so that the check can prove nothing."""


class Record:
    """The checks of one part, in the order of the plan. The record writes its file anew after each check. So a run
    that is cut short leaves its results, and the names of the checks that it did not reach.

    A record that is `planning` runs nothing and only collects the checks. With `shows` it prints their commands."""

    def __init__(self, part, facts, until, folder=None, planned=(), shows=False, began=None):
        self.part, self.facts, self.until, self.folder = part, facts, until, folder
        self.began = time.monotonic() if began is None else began
        self.planning, self.shows = folder is None, shows
        self.section = ""
        self.result = UNFINISHED
        self.tables = {}  # maps a name to further results
        self.checks = [dict(each, outcome=NOT_REACHED) for each in planned]
        self.log_bytes = 0
        self.was_late = False  # whether the last check was ended at its time limit
        if not self.planning:
            folder.mkdir(parents=True, exist_ok=True)
            self.log.write_text("")
            self.write()

    @property
    def path(self):
        return self.folder / f"gpu-{self.part}.json"

    @property
    def log(self):
        return self.folder / f"gpu-{self.part}.log"

    def begin(self, section):
        self.section = section
        if self.shows:
            print(f"  {section}")

    def age_s(self):
        return time.monotonic() - self.began

    def left_s(self):
        return self.until - time.monotonic()

    def plan(self, name, limit_s, words):
        self.checks.append({"section": self.section, "name": name, "outcome": NOT_REACHED})
        if self.shows:
            print(f"    {name} (at most {limit_s:.0f} s): {words}" if words else f"    {name}")
        return True

    def find(self, name):
        """Returns the check of this section with this name, or None."""
        return next((each for each in self.checks if (each["section"], each["name"]) == (self.section, name)), None)

    def note(self, name, outcome, seconds=0, detail=""):
        """Keeps the outcome of a check. Returns whether it passed."""
        if self.planning:
            return self.plan(name, 0, "")
        found = {"section": self.section, "name": name, "outcome": outcome, "seconds": round(seconds, 1),
                 "at_s": round(self.age_s(), 1), "detail": detail}
        if check := self.find(name):
            check |= found
        else:
            self.checks.append(found)
        print(f"{clock(self.age_s())} {outcome:8} {self.section}: {name}" + (f": {detail}" if detail else ""), flush=True)
        self.write()
        return outcome == PASSED

    def run(self, name, command, limit_s, judge=None, environment=None, on_line=None):
        """Runs a command as a check. `judge` gets the command's result and returns what it found, or raises Wrong or
        Lacking. Without a judge the exit code has to be 0. Returns whether the check passed."""
        words = " ".join([f"{key}={value}" for key, value in (environment or {}).items()] + list(map(str, command)))
        if self.planning:
            return self.plan(name, limit_s, words)
        if (known := self.find(name)) and known["outcome"] == LEFT_OUT:
            return False
        if self.left_s() < LEAST_S:
            return self.note(name, LEFT_OUT, 0, "the part's time is over")
        limit_s /= HASTE
        is_short, limit_s = self.left_s() < limit_s, min(limit_s, self.left_s())
        if limit_s > LONG_S:
            print(f"{clock(self.age_s())} begins   {self.section}: {name} (at most {limit_s:.0f} s)", flush=True)
        ended = execute(command, limit_s, environment, ROOT, on_line)
        self.keep_output(f"{self.section}: {name}", words, ended)
        self.was_late = ended.code == AT_LIMIT
        try:
            if self.was_late and is_short:
                raise Lacking(f"the part's time was over after {ended.seconds:.0f} s of it")
            if self.was_late:
                raise Wrong(f"not done after {ended.seconds:.0f} s; its last words: {last_words(ended.text)}")
            detail = (judge or expect_0)(ended) or ""
        except Lacking as lacking:
            return self.note(name, LEFT_OUT, ended.seconds, str(lacking))
        except Wrong as wrong:
            return self.note(name, FAILED, ended.seconds, str(wrong))
        except Exception as error:  # a mistake of the judge, or output that it does not understand
            return self.note(name, FAILED, ended.seconds, f"its output was not understood: {type(error).__name__}: {error}")
        return self.note(name, PASSED, ended.seconds, detail)

    def keep_output(self, name, words, ended):
        text = ended.text.encode()
        if len(text) > OUTPUT_BYTES:
            text = text[:OUTPUT_BYTES // 4] + b"\n[...]\n" + text[-OUTPUT_BYTES * 3 // 4:]
        text = f"== {name}\n{words}\n\n".encode() + text + f"\nended with {ended.code} after {ended.seconds:.1f} s\n\n".encode()
        if self.log_bytes + len(text) <= LOG_BYTES:
            with self.log.open("ab") as log:
                log.write(text)
            self.log_bytes += len(text)

    def leave_out(self, why, section=None):
        """Marks all checks that were not reached as left out, of one section or of all sections."""
        for check in self.checks:
            if check["outcome"] == NOT_REACHED and section in (None, check["section"]):
                check |= {"outcome": LEFT_OUT, "detail": why}
        self.write()

    def having(self, *outcomes):
        return [check for check in self.checks if check["outcome"] in outcomes]

    def finish(self, why=""):
        """Ends the record after the last check, or, with a reason, when the part is cut short. Returns whether all
        checks passed."""
        self.leave_out(why or "the part ended before it")
        failed, left = len(self.having(FAILED)), len(self.having(LEFT_OUT))
        parts = [f"{len(self.having(PASSED))} of {len(self.checks)} checks passed"]
        parts += [f"{failed} FAILED"] if failed else []
        parts += [f"{left} left out"] if left else []
        parts += [f"{len(self.having(SKIPPED))} skipped"] if self.having(SKIPPED) else []
        self.result = ("passed: " if not failed + left else "FAILED: " if failed else "incomplete: ") + ", ".join(parts)
        self.result += f"; {why}" if why else ""
        self.write()
        return bool(self.checks) and failed + left == 0

    def write(self):
        if self.planning:
            return
        found = {"what": f"test/gpu/run {self.part}", "result": self.result, "seconds": round(self.age_s(), 1)}
        found |= self.facts | {"checks": self.checks} | self.tables
        write_whole(self.path, json.dumps(found, indent=1) + "\n")


def write_whole(path, text):
    """Replaces the file at once. A reader finds the former file or the new one, never a part."""
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(text)
    os.replace(fresh, path)


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def expect_0(ended):
    if ended.code != 0:
        raise Wrong(f"exit code {ended.code}: {last_words(ended.text)}")


def last_words(text, most=300):
    """Returns the last line that reports an error. If there is none, returns the last line that is no warning."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and ": warning: " not in line]
    errors = [line for line in lines if re.search(r"error|fail|fatal", line, re.IGNORECASE)]
    return (errors or lines or ["no output"])[-1][:most]
