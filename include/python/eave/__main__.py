"""python -m eave doctor: which versions, library, MPI, ranks and GPUs there are. python -m eave export RUN_DIR --to
TRACKER: the records of a run for MLflow, W&B or TensorBoard. python -m eave COMMAND ...: the program `eave`, if it came
with the package."""
from __future__ import annotations

import os
import pathlib
import sys
from typing import Iterator, NoReturn

from . import _doctor, _export, _mpi
from ._error import PEER_LOST, USAGE, Error
from ._library import prefixes


def _places() -> Iterator[pathlib.Path]:
    for prefix in prefixes():
        yield prefix / "bin" / "eave"
    if "LIBEAVE" in os.environ:
        yield pathlib.Path(os.path.expanduser(os.environ["LIBEAVE"])).absolute().parent / "eave"


def _is_program(file: pathlib.Path) -> bool:
    """Whether it is the program itself. pip makes a script of the same name that calls this module."""
    try:
        with file.open("rb") as stream:
            return stream.read(4) == b"\x7fELF" and os.access(file, os.X_OK)
    except OSError:
        return False


def _environment_for(program: str) -> dict[str, str]:
    """With the folder of the MPI first among those of libraries, if the loader would not find that MPI by itself."""
    environment = dict(os.environ)
    if mpi := _mpi.prepare(program):
        others = environment.get("LD_LIBRARY_PATH")
        environment["LD_LIBRARY_PATH"] = os.path.dirname(mpi.path) + (os.pathsep + others if others else "")
    return environment


def run_program() -> NoReturn:
    """Becomes the program `eave`, with the same arguments."""
    program = next((str(file) for file in _places() if _is_program(file)), None)
    if program is None:
        print("eave: this package came without the program eave: build it (mpi_launch/guide/install.md), or run its Python "
              "part: python3 -m eave doctor", file=sys.stderr)
        sys.exit(PEER_LOST)
    try:
        environment = _environment_for(program)
    except Error as error:
        print(f"eave: {error}", file=sys.stderr)
        sys.exit(error.code)
    os.execve(program, ["eave", *sys.argv[1:]], environment)


def main() -> int:
    """The entry of `python -m eave`."""
    if _export.is_meant(sys.argv[1:]):
        return _export.main(sys.argv[2:])
    if sys.argv[1:2] != ["doctor"]:
        run_program()
    if len(sys.argv) > 2:
        print("usage: python3 -m eave doctor\n\nIt has no options. `eave doctor` is the program's, which has.", file=sys.stderr)
        return USAGE
    return _doctor.main()


if __name__ == "__main__":
    sys.exit(main())
