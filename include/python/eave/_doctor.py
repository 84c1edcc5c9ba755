"""`python -m eave doctor`: says which versions, library, MPI, ranks and GPUs this environment has, and what is wrong."""
from __future__ import annotations

import importlib.util
import os
import pathlib
import platform
import socket
import sys
import time
from typing import Iterator

from . import _mpi
from ._error import CONFIGURATION, PEER_LOST, Error
from ._library import INTERFACE, VERSION, job, load
from ._ranks import rank, require_same, size, start, texts_of_ranks

_RANKS_IN_ENVIRONMENT = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "RANK")

Fact = tuple[str, str]


def _pytorch() -> str:
    if importlib.util.find_spec("torch") is None:
        return "not installed"
    import torch
    return str(torch.__version__)


def _gpus() -> str:
    if importlib.util.find_spec("torch") is None:
        return "not known without PyTorch"
    import torch
    if not torch.cuda.is_available():
        return "none that PyTorch can use"
    return ", ".join(torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count()))


def _library_file() -> str:
    """The path of libeave.so, also where the loader has found it by its name."""
    if os.sep in job.library_path:
        return job.library_path
    for line in pathlib.Path("/proc/self/maps").read_text(errors="replace").splitlines():
        if "/libeave.so" in line:
            return line[line.find("/"):]
    return job.library_path


def _mpi_facts() -> Iterator[Fact]:
    library = load()
    needed = _mpi.needed_by(_library_file())
    mpi = _mpi.in_use(job.mpi, needed)
    if mpi is None:
        yield "MPI", "none: this libeave.so was built without MPI, so there is always one rank"
        return
    yield "MPI", _mpi.version_of(library) or _mpi.product_of(mpi.name)
    yield "", f"{mpi.path}, {mpi.how}; ABI {mpi.name}"
    if foreign := _mpi.foreign_mpirun(mpi.name):
        yield "", f"note: the mpirun on PATH is that of {foreign}, which starts no ranks of this MPI"


def _facts_of_environment() -> Iterator[Fact]:
    yield "eave", f"{VERSION}, {pathlib.Path(__file__).resolve().parent}"
    yield "Python", f"{platform.python_version()}, {sys.executable}"
    yield "PyTorch", _pytorch()
    yield "GPU", f"{_gpus()} (on {socket.gethostname()})"
    load()
    yield "library", f"{_library_file()}, interface {INTERFACE}"
    yield from _mpi_facts()


def _facts_of_ranks() -> Iterator[Fact]:
    """Collective. Raises an Error with code 78 if ranks have different versions."""
    start()
    hosts = sorted(set(texts_of_ranks(socket.gethostname())))
    yield "ranks", f"{size()} on {', '.join(hosts)}"
    level = _mpi.thread_level_of(job.library)
    yield "threads", level or "not asked: without a launcher MPI is not started (mpirun -np 2 python3 -m eave doctor)"
    require_same("\n".join((f"eave {VERSION}", f"Python {platform.python_version()}", f"PyTorch {_pytorch()}",
                            f"MPI {_mpi.version_of(job.library)}")))


def _rank_in_environment() -> int:
    texts = (os.environ.get(name, "") for name in _RANKS_IN_ENVIRONMENT)
    return next((int(text) for text in texts if text.isdecimal()), 0)


def _show(facts: Iterator[Fact], is_shown: bool) -> None:
    for name, text in facts:
        if is_shown:
            print(f"{name:<9}{text}", flush=True)


def main() -> int:
    """Collective, if a launcher has started ranks: rank 0 speaks for all. Returns 0 if all is well, 69 if something is
    missing or ranks do not find each other, 78 if ranks have different versions."""
    number = _rank_in_environment()
    try:
        _show(_facts_of_environment(), number == 0)
        _show(_facts_of_ranks(), number == 0)
    except Error as error:
        if not error.is_shared:
            time.sleep(0.25 * min(number, 6))  # ranks often fail alike; the first to end makes mpirun end the others
        if number == 0 or not error.is_shared:
            print(f"{'wrong':<9}{error}", flush=True)
        return error.code if error.code in (PEER_LOST, CONFIGURATION) else PEER_LOST
    if rank() == 0:
        print("all is well")
    return 0
