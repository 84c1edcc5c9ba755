"""A program beside others: it is sent cases, one a line, and answers each by one line of JSON."""
import json
import os
import select
import signal
import subprocess
import time

ANSWER_SECONDS = 120  # for anything but a compilation


class Peer:
    """A child process that times one case for each line it is sent, with a limit for every answer."""

    def __init__(self, *command):
        self.command = list(map(str, command))
        self.start()

    def start(self):
        self.rest = b""
        # A session of its own, so that the helpers of a compiler end with it.
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        start_new_session=True)
        self.greeting = self.read(ANSWER_SECONDS)

    def read(self, limit_s):
        """One answer; {"error": ...} when none comes."""
        until = time.monotonic() + limit_s
        while b"\n" not in self.rest:
            readable, _, _ = select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))
            if not readable:
                self.stop()
                return {"error": f"no answer in {limit_s:.0f} s"}
            more = os.read(self.process.stdout.fileno(), 65536)
            if not more:
                return {"error": f"ended with code {self.process.wait()}"}
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def ask(self, *words, limit_s=ANSWER_SECONDS):
        if self.process.poll() is not None:
            self.start()
        try:
            self.process.stdin.write((" ".join(map(str, words)) + "\n").encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            return {"error": f"ended with code {self.process.wait()}"}
        return self.read(limit_s)

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
