"""A program beside others: it is sent cases, one a line, and answers each by one line of JSON."""
import json
import os
import select
import subprocess
import time

from limited import end_session

ANSWER_SECONDS = 120  # for anything but a compilation


class Peer:
    """A child process that times one case for each line it is sent, with a limit for every answer. It starts at once;
    `greeting` waits until it has told what it is."""

    def __init__(self, *command):
        self.command = list(map(str, command))
        self.start()

    def start(self):
        self.rest, self.told = b"", None
        # A session of its own, so that the helpers of a compiler end with it.
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
        """One answer; {"error": ...} if none comes."""
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
        """Starts the program anew if it has ended."""
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
