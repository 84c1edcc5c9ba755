"""A folder for a test of the scripts in mpi_launch: programs that only pretend, and what a script says."""
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "mpi_launch"


class ScriptTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.programs = self.folder / "programs"
        self.programs.mkdir()

    def write_program(self, name, body, interpreter="/bin/sh"):
        """A program that is found before all others of this name."""
        program = self.programs / name
        program.write_text(f"#!{interpreter}\n{body}\n")
        program.chmod(0o755)
        return program

    def environment(self, **settings):
        own = {name: value for name, value in os.environ.items() if not name.startswith(("EAVE_", "SLURM_"))}
        return {**own, "PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}", **settings}

    def run_script(self, *words, code=0, cwd=None, **settings):
        """Runs the words, requires their exit code, and returns what they said."""
        ended = subprocess.run([str(word) for word in words], cwd=cwd or self.folder, stdin=subprocess.DEVNULL, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=self.environment(**settings), timeout=60)
        self.assertEqual(ended.returncode, code, ended.stdout)
        return ended.stdout


def bash_scripts():
    """All in the folders whose scripts .ci/each_change.sh checks."""
    for pattern in ("mpi_launch/*", "test/*", "test/*/*", ".ci/*", "bench/*"):
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file() and path.read_bytes()[:60].startswith((b"#!/usr/bin/env bash", b"# shellcheck shell=bash")):
                yield path
