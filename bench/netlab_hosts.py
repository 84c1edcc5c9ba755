"""Hosts of a netlab: network namespaces on one machine, joined by links of a given rate."""
import json
import os
import pathlib
import signal
import subprocess
import sys

import eave_runs

NAME = f"eave-{os.getpid()}"  # the lab's name; other labs may run at the same time
RATES = {"100mbit": 1e8, "1gbit": 1e9}  # bits per second of the limited links
SETTINGS = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def add_lab_argument(parser, only_if_given=False):
    """Adds --lab DIR. With `only_if_given`, --lab alone means the default directory, and no --lab means no lab."""
    place = pathlib.Path(os.environ.get("EAVE_LAB") or eave_runs.ROOT.parent / "shared" / "lab")
    how = {"nargs": "?", "const": place} if only_if_given else {"default": place}
    parser.add_argument("--lab", metavar="DIR", type=pathlib.Path, **how,
                        help="directory of netlab (default: $EAVE_LAB, or ../shared/lab beside the checkout)")


def require(lab):
    """The path of the lab's program. If the lab cannot be used, prints why and exits with 0: the measurement is
    skipped, it did not fail."""
    program = pathlib.Path(lab) / "netlab"
    why = (f"no program {program}: give --lab DIR or set EAVE_LAB" if not program.exists() else
           "network namespaces need root" if os.geteuid() != 0 else None)
    if why:
        print(f"{pathlib.Path(sys.argv[0]).name}: skipped, {why}")
        sys.exit(0)
    return program


class Lab:
    """A lab of `hosts` hosts, with one rank on each. Its owner calls close()."""

    def __init__(self, program, hosts):
        self.program, self.hosts = program, hosts
        for ending in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(ending, lambda number, _: sys.exit(128 + number))  # so that the owner can close the lab
        self.environment = {**os.environ, "NETLAB_NAME": NAME}
        self.call("down")

    def call(self, *words):
        ended = subprocess.run([self.program, *words], env=self.environment, text=True, capture_output=True)
        if ended.returncode != 0:
            sys.exit(f"netlab {' '.join(words)} failed:\n{ended.stdout}{ended.stderr}")

    def set_rate(self, rate):
        """Sets the rate of every link in each direction; "unlimited" removes the limit. Connections stay open."""
        self.call("up", str(self.hosts), "--rate", "none" if rate == "unlimited" else rate)

    def close(self):
        self.call("down")

    def launcher(self):
        """The words in front of a program that start one rank on each host, for eave_runs.run."""
        words = [self.program, "mpirun", "-n", str(self.hosts)]
        return ["env", f"NETLAB_NAME={NAME}", *words, *(word for name in SETTINGS for word in ("-x", name))]

    def start(self, host, command):
        """Starts a process on one host and returns its Popen, with pipes."""
        settings = [f"{name}={value}" for name, value in SETTINGS.items()]
        return subprocess.Popen([self.program, "exec", str(host), "env", *settings, *map(str, command)],
                                env=self.environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def tcp_bytes_per_second(self, seconds):
        """Runs one plain TCP stream from each host to the next, all at the same time. Returns the median of the rates
        at which bytes arrive."""
        script = eave_runs.ROOT / "bench" / "tcp_stream.py"
        streams = [self.start(host, [sys.executable, script, address(host), address((host + 1) % self.hosts), seconds])
                   for host in range(self.hosts)]
        rates = sorted(json.loads(stream.communicate()[0]) for stream in streams)
        return (rates[(len(rates) - 1) // 2] + rates[len(rates) // 2]) / 2


def address(host):
    return f"10.77.0.{host + 1}"
