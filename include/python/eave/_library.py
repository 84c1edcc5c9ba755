"""Finds, declares and calls libeave.so by ctypes, and keeps the job of which this process is a rank."""
import ctypes
import os
import pathlib
import unicodedata

INTERFACE = 1
USAGE, CONFIGURATION = 64, 78
AVERAGES_GRADIENTS, HAS_CENTER, MOVES_PARAMETERS = 1, 2, 4  # as in eave.h


def _printable(text):
    """Replaces control characters by "?", as libeave.so does: file names may contain anything, also terminal
    commands."""
    return "".join("?" if unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") else letter for letter in text)


class Error(RuntimeError):
    """The message says what happened and what to do. `code` is the exit code of the program if nothing catches the
    error.

    `is_shared`: all ranks have this error, so only rank 0 prints it."""

    def __init__(self, code, message, is_shared=False):
        super().__init__(_printable(message))
        self.code = code
        self.is_shared = is_shared


Error.__module__ = "eave"  # so that tracebacks show the name by which users know it


class Spent(ctypes.Structure):
    _fields_ = [("seconds_waiting", ctypes.c_double), ("bytes", ctypes.c_int64), ("calls", ctypes.c_int64)]


def _places():
    if "LIBEAVE" in os.environ:
        yield os.path.expanduser(os.environ["LIBEAVE"])
        return
    parents = pathlib.Path(__file__).resolve().parents
    prefix = parents[min(4, len(parents) - 1)]  # of share/eave/python/eave
    for directory in sorted(prefix.glob("lib*")) + sorted(prefix.glob("lib/*-linux-*")):
        yield from map(str, sorted(directory.glob("libeave.so*")))
    yield "libeave.so"


def _load():
    failures = []
    for place in _places():
        try:
            # Open MPI's components look for its symbols among the global symbols of the process.
            library = ctypes.CDLL(place, mode=ctypes.RTLD_GLOBAL)
        except OSError as failure:
            failures.append(f"{place}: {failure}")
            continue
        found = library.eave_interface()
        if found != INTERFACE:
            raise Error(USAGE, f"{place} has version {found} of the interface, this module needs {INTERFACE}")
        return _declare(library, place)
    if "LIBEAVE" in os.environ:
        raise Error(USAGE, f"what LIBEAVE names cannot be loaded; set it to the path of a libeave.so ({failures[0]})")
    raise Error(USAGE, "libeave.so is not found; set LIBEAVE to its path (" + "; ".join(failures) + ")")


def _declare(library, place):
    pointer, floats, size = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t
    flag, number, text = ctypes.POINTER(ctypes.c_int), ctypes.c_double, ctypes.c_char_p
    arguments = {
        "start": [text], "rank": [], "size": [], "stop": [], "abort": [ctypes.c_int],
        "open": [text, floats, floats, size, ctypes.POINTER(pointer)],
        "look_ahead": [pointer, floats, number],
        "begin_step": [pointer, ctypes.c_int64, ctypes.c_int64, number],
        "before_update": [pointer, number, flag],
        "before_update_of": [pointer, number, ctypes.c_void_p, size, flag],
        "after_update": [pointer], "consensus": [pointer, floats],
        "sum": [ctypes.POINTER(number), size], "broadcast": [ctypes.c_void_p, size], "require_same": [text],
        "spent_by": [pointer, ctypes.POINTER(Spent)], "close": [pointer],
        "description": [pointer], "traits": [pointer], "steps_left_out": [pointer], "error": [], "error_is_shared": [],
    }
    results = {"description": text, "error": text, "traits": ctypes.c_uint, "steps_left_out": ctypes.c_int64,
               "abort": None}
    for name, types in arguments.items():
        try:
            function = getattr(library, "eave_" + name)
        except AttributeError:
            raise Error(USAGE, f"{place} is older than this module: it has no eave_{name}; install both anew") from None
        function.argtypes, function.restype = types, results.get(name, ctypes.c_int)
    return library


class _Job:
    """This process's part in the job."""
    library = None
    place = None       # (rank, size), or None before start()
    process = None     # id of the process that called start(); a fork of it is not a rank
    open = 0           # number of open averagers
    is_broken = False  # a call has failed in such a way that the job cannot go on


job = _Job()


def call(name, *arguments):
    code = getattr(job.library, "eave_" + name)(*arguments)
    if code != 0:
        job.is_broken = job.is_broken or code not in (USAGE, CONFIGURATION)
        raise Error(code, job.library.eave_error().decode(), job.library.eave_error_is_shared() != 0)


def start(transport="auto"):
    """Collective. Joins the ranks that the launcher started. The first Averager calls it if nothing has called it
    yet."""
    if job.library is None:
        job.library = _load()
    if job.place is None:
        call("start", transport.encode())
        job.place, job.process = (job.library.eave_rank(), job.library.eave_size()), os.getpid()


def stop():
    """Collective. Leaves the job. It is called automatically when the process exits."""
    if job.library is not None:
        call("stop")


def rank():
    start()
    return job.place[0]


def size():
    start()
    return job.place[1]


def sum_over_ranks(values):
    """Collective. Returns a list: the sum over ranks of each of `values`, such as losses and counts. All ranks pass
    equally many numbers."""
    start()
    numbers = (ctypes.c_double * len(values))(*values)
    call("sum", numbers, len(values))
    return list(numbers)


def require_same(text):
    """Collective. Raises an Error with code 78, which has the first lines that differ, unless all ranks pass rank 0's
    text."""
    call("require_same", text.encode())


def broadcast(address, count):
    """Collective. Replaces `count` bytes at this address by those of rank 0."""
    call("broadcast", address, count)


def text_of_first_rank(text):
    """Collective. Returns rank 0's text on all ranks."""
    mine = text.encode()
    length = ctypes.c_int64(len(mine))
    broadcast(ctypes.addressof(length), ctypes.sizeof(length))
    letters = ctypes.create_string_buffer(mine, max(length.value, len(mine)) + 1)
    broadcast(ctypes.addressof(letters), length.value)
    return letters.raw[:length.value].decode()
