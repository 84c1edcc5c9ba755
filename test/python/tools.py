"""Installs mypy from PyPI into a virtual environment: in $XDG_CACHE_HOME/eave if that is set, otherwise in build/.

    python3 test/python/tools.py        installs it, unless it is there
"""
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MYPY = "2.4.1"


def environment_directory():
    cache = os.environ.get("XDG_CACHE_HOME")
    base = pathlib.Path(cache) / "eave" if cache else ROOT / "build"
    return base / f"mypy-{MYPY}-python{sys.version_info[0]}.{sys.version_info[1]}"


def find_mypy():
    """The environment's Python, or None if there is no complete environment."""
    directory = environment_directory()
    return directory / "bin" / "python" if (directory / "complete").exists() else None


def make_environment(directory, *packages):
    """Makes a virtual environment with these packages of PyPI. Returns its Python; ends with 69 and the reason if it
    cannot."""
    shutil.rmtree(directory, ignore_errors=True)
    python = directory / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--disable-pip-version-check", *packages]
    for command in ([sys.executable, "-m", "venv", directory], install if packages else []):
        if not command:
            continue
        ended = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if ended.returncode != 0:
            print(f"this cannot be done here: {' '.join(map(str, command))}\n{ended.stdout[-3000:]}", file=sys.stderr)
            sys.exit(69)
    return python


def main():
    if not find_mypy():
        directory = environment_directory()
        print(f"installing mypy from PyPI into {directory} (20 MB to download, once)", flush=True)
        make_environment(directory, f"mypy=={MYPY}")
        (directory / "complete").write_text(MYPY + "\n")


if __name__ == "__main__":
    main()
