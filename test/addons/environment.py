#!/usr/bin/env python3
"""Installs the libraries that test/addons/run works with, from PyPI, beside the PyTorch environment, unless they are there.

    python3 test/addons/environment.py

The environment sees PyTorch through a .pth file, so it takes no second copy of it.
"""
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements.txt"
sys.path.insert(0, str(HERE.parents[1] / "bench"))
import pytorch_environment


def environment_directory():
    return pytorch_environment.environment_directory().with_name(f"addons-python{sys.version_info[0]}.{sys.version_info[1]}")


def find():
    """The environment's Python, or None if it does not exist or has other versions than pinned now."""
    directory = environment_directory()
    stamp = directory / "complete"
    if pytorch_environment.find_pytorch() and stamp.exists() and stamp.read_text() == REQUIREMENTS.read_text():
        return directory / "bin" / "python"
    return None


def prepare():
    """Returns find(); if that is None, first makes the environment."""
    if found := find():
        return found
    pytorch = pathlib.Path(pytorch_environment.prepare_pytorch()).parents[1]
    directory = environment_directory()
    python = directory / "bin" / "python"
    print(f"installing libraries from PyPI into {directory} (150 MB to download, once)", flush=True)
    shutil.rmtree(directory, ignore_errors=True)
    pytorch_environment.run_logged("making a virtual environment", [sys.executable, "-m", "venv", directory])
    packages = next(directory.glob("lib/python*/site-packages"))
    (packages / "pytorch.pth").write_text(f"{pytorch / packages.relative_to(directory)}\n")
    pytorch_environment.run_logged("installing libraries", [python, "-m", "pip", "install", "--quiet", "--no-deps",
                                                            "--no-cache-dir", "-r", REQUIREMENTS])
    (directory / "complete").write_text(REQUIREMENTS.read_text())
    return python


if __name__ == "__main__":
    sys.exit(subprocess.run([prepare(), "--version"], check=False).returncode)
