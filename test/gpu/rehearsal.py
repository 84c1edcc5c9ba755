"""The base of rehearsals: starts test/gpu/run with a stand-in (stand_in.py) for every program that it starts."""
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = ("c++", "cmake", "compute-sanitizer", "ctest", "mpirun", "ninja", "nvcc", "nvidia-smi", "python3")
SHELL = ("bash", "cut", "dirname", "env", "git", "sed", "uname")  # of this machine


class Ended:
    def __init__(self, place, code, text):
        self.code, self.text, self.out = code, text, place / "out"
        calls = place / "calls"
        self.calls = [json.loads(line) for line in calls.read_text().splitlines()] if calls.exists() else []

    def record(self, part):
        return json.loads((self.out / f"gpu-{part}.json").read_text())

    def outcomes(self, part, outcome):
        return [check["name"] for check in self.record(part)["checks"] if check["outcome"] == outcome]


class Rehearsal(unittest.TestCase):
    """Its tests run in folders of their own, and may run at the same time."""

    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="eave-gpu-rehearsal-"))
        self.addCleanup(shutil.rmtree, self.place)
        bin_folder = self.place / "bin"
        bin_folder.mkdir()
        stand_in = bin_folder / "stand_in"
        stand_in.write_text((HERE / "stand_in.py").read_text().replace("#!/usr/bin/env python3", f"#!{sys.executable} -SE", 1))
        stand_in.chmod(0o755)
        for program in PROGRAMS:
            (bin_folder / program).symlink_to(stand_in)
        for program in SHELL:
            if found := shutil.which(program):
                (bin_folder / program).symlink_to(found)

    def start(self, words, faults="", more=None):
        return self.start_program([HERE / "run", *words.split(), "--build", self.place / "build"], faults, more)

    def start_bench(self, words, faults=""):
        bench = HERE.parent.parent / "bench" / "gpu_vs_pytorch"
        return self.start_program([sys.executable, "-B", bench, *words.split(), "--program", self.place / "build" / "gpu_steps",
                                   "--python", self.place / "bin" / "python3"], faults)

    def start_program(self, command, faults, more=None):
        environment = {"PATH": str(self.place / "bin"), "STAND_IN": str(self.place), "STAND_IN_FAULTS": faults,
                       "STAND_IN_PYTHON": sys.executable, "OUT": str(self.place / "out"), "HOME": str(self.place),
                       "EAVE_GPU_PACK": str(self.place / "pack"), "TMPDIR": str(self.place),
                       "PYTHONPATH": str(self.place / "site"), **(more or {})}
        return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run_parts(self, words, faults=""):
        return self.finish(self.start(words, faults))

    def finish(self, process):
        text = process.communicate(timeout=100)[0]
        return Ended(self.place, process.returncode, text)

    def wait_for(self, holds):
        until = time.monotonic() + 30
        while not holds():
            self.assertLess(time.monotonic(), until, "it never came to that")
            time.sleep(0.02)

    def called(self, word):
        calls = self.place / "calls"
        return calls.exists() and word in calls.read_text()

    def expect_code(self, ended, code):
        self.assertEqual(ended.code, code, ended.text)

    def add_pytorch(self):
        """What machine.py reads of an installed PyTorch: its version."""
        torch = self.place / "site" / "torch"
        torch.mkdir(parents=True)
        (torch / "__init__.py").write_text("")
        (torch / "version.py").write_text("__version__ = '2.15.0'\n")

    def run_builds(self):
        """What `--without build` takes as built."""
        (self.place / "build").mkdir(exist_ok=True)
        for name in ("eave", "libeave.so", "gpu_steps"):
            if not (self.place / "build" / name).exists():
                (self.place / "build" / name).symlink_to(self.place / "bin" / "stand_in")

    def survivors(self):
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if str(self.place) in (path / "cmdline").read_text() and " Z " not in (path / "stat").read_text():
                    found.append((path / "cmdline").read_text().replace("\0", " "))
            except OSError:
                pass
        return found


def run_alone(program, name):
    command = [sys.executable, program, name]
    return name.partition(".")[2], subprocess.run(command, text=True, capture_output=True, check=False)


def run_all(program, tests):
    """Runs the tests that the command line names, or all tests of a class, some at a time: they mostly wait."""
    if len(sys.argv) > 1:
        unittest.main()
    failed, names = 0, [f"{tests.__name__}.{name}" for name in unittest.TestLoader().getTestCaseNames(tests)]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for name, ended in pool.map(lambda each: run_alone(program, each), names):
            failed += ended.returncode != 0
            print(f"FAILED {name}\n{ended.stderr}" if ended.returncode else f"passed {name}", flush=True)
    sys.exit(1 if failed else 0)
