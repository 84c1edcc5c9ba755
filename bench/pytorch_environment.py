"""Installs PyTorch from PyPI into a virtual environment: in $XDG_CACHE_HOME/eave if that is set, otherwise in build/.

    python3 bench/pytorch_environment.py        installs it, unless it is there
"""
import importlib.util
import os
import pathlib
import platform
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "bench" / "pytorch_requirements.txt"


def run_logged(what, command):
    result = subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode != 0:
        sys.exit(f"{what} failed: {' '.join(map(str, command))}\n{result.stdout[-4000:]}")


def environment_directory():
    cache = os.environ.get("XDG_CACHE_HOME")
    base = pathlib.Path(cache) / "eave" if cache else ROOT / "build"
    pins = [line for line in REQUIREMENTS.read_text().splitlines() if line.startswith("torch==")]
    return base / f"pytorch-{pins[0].split('==')[1]}-python{sys.version_info[0]}.{sys.version_info[1]}"


def find_pytorch():
    """The environment's Python, or None if the environment does not exist or has other versions than pinned now."""
    directory = environment_directory()
    stamp = directory / "complete"  # holds the pins that the environment was made from
    if stamp.exists() and stamp.read_text() == REQUIREMENTS.read_text():
        return directory / "bin" / "python"
    return None


def pytorch_or_skip():
    """A Python that has PyTorch: find_pytorch(), else this one. If there is none, ends the test as skipped."""
    if python := find_pytorch() or (sys.executable if importlib.util.find_spec("torch") else None):
        return python
    print("skipped: there is no PyTorch here; test/c/pytorch_test --install brings it from PyPI (2.4 GB)")
    sys.exit(77)


def job_environment(library):
    """The environment of a test's job with PyTorch. `library`: the path of libeave. Ranks import eave from the sources, and
    PyTorch with less work (test/c/lean)."""
    packages = (ROOT / "test" / "c" / "lean", ROOT / "include" / "python")
    return {**os.environ, "LIBEAVE": library, "PYTHONPATH": os.pathsep.join(map(str, packages)), "OMP_NUM_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1"}


def prepare_pytorch():
    """Returns find_pytorch(); if that is None, first makes the environment."""
    found = find_pytorch()
    if found:
        return found
    if sys.version_info < (3, 11):
        sys.exit(f"PyTorch as pinned in {REQUIREMENTS.name} needs Python 3.11 or newer; this is {platform.python_version()}")
    if importlib.util.find_spec("ensurepip") is None:
        sys.exit("python3 cannot make virtual environments here: apt-get install python3-venv")
    directory = environment_directory()
    python = directory / "bin" / "python"
    print(f"installing PyTorch from PyPI into {directory} (2.4 GB to download, once)", flush=True)
    shutil.rmtree(directory, ignore_errors=True)
    run_logged("making a virtual environment", [sys.executable, "-m", "venv", directory])
    run_logged("installing PyTorch", [python, "-m", "pip", "install", "--quiet", "--no-deps",
                                      "--no-cache-dir", "-r", REQUIREMENTS])
    (directory / "complete").write_text(REQUIREMENTS.read_text())
    return python


if __name__ == "__main__":
    prepare_pytorch()
