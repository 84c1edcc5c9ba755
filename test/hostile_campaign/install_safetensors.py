#!/usr/bin/env python3
"""Installs the safetensors package from PyPI beside the PyTorch environment, for test/hostile, unless it is there.

Exit codes: 0 the package is installed - 69 it cannot be installed.
"""
import os
import pathlib
import subprocess
import sys

VERSION = "0.8.0"


def directory():
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(cache) / "eave" / f"safetensors-{VERSION}"


def main():
    place = directory()
    if (place / "safetensors").exists():
        return 0
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", place, f"safetensors=={VERSION}"]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        print(f"safetensors {VERSION} cannot be installed from PyPI:\n{result.stdout[-1500:]}", file=sys.stderr)
    return 0 if result.returncode == 0 else 69


if __name__ == "__main__":
    sys.exit(main())
