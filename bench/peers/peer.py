"""A child process that benchmarks send cases to, one a line. It answers each with one line of JSON."""
import json
import os
import select
import subprocess
import time

from limited import end_session

ANSWER_SECONDS = 120  # the limit for every answer that needs no compilation


class Peer:
    """A child process that times one case per line, with a time limit for every answer. The constructor starts it.
    `greeting` waits for its first line, in which it describes itself."""

    def __init__(self, *command):
        self.command = list(map(str, command))
        self.start()

    def start(self):
        self.rest, self.told = b"", None
        # With its own session, a compiler's helper processes end together with it.
        try:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            start_new_session=True)
        except OSError as error:
            self.process, self.told = None, {"error": f"{self.command[0]} cannot be started: {error.strerror}"}

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    @property
    def greeting(self):
        if self.told is None:
            self.told = self.read(ANSWER_SECONDS)
        return self.told

    def read(self, limit_s):
        """The next answer, or {"error": ...} if none comes within `limit_s` seconds or the program ends."""
        until = time.monotonic() + limit_s
        while b"\n" not in self.rest:
            readable, _, _ = select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))
            if not readable:
                self.stop()
                return {"error": f"no answer in {limit_s:.0f} s", "late": True}
            more = os.read(self.process.stdout.fileno(), 65536)
            if not more:
                return {"error": f"ended with code {self.process.wait()}"}
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        try:
            return json.loads(line)
        except ValueError:
            self.stop()
            return {"error": f"no answer but '{line[:100].decode(errors='replace')}'"}

    def ask(self, *words, limit_s=ANSWER_SECONDS):
        """Sends a case and returns the answer. If the program has ended, starts it again first."""
        if not self.is_running():
            self.start()
        if self.told is None:
            self.told = self.read(limit_s)
        if "error" in self.told:
            return self.told
        try:
            self.process.stdin.write((" ".join(map(str, words)) + "\n").encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            return {"error": f"ended with code {self.process.wait()}"}
        return self.read(limit_s)

    def stop(self):
        if self.process is not None:
            end_session(self.process, 0)
