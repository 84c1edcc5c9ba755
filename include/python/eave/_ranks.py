"""The ranks of the job: joining and leaving it, and values that they share."""
from __future__ import annotations

import ctypes
import multiprocessing
import os
from typing import Sequence

from ._error import USAGE, Error
from ._library import call, job, load
from ._meeting import meeting


OF_RANK = "EAVE_PROCESS_OF_RANK"  # the process id of a rank, for processes that multiprocessing starts from it


def _refuse_process_of_rank() -> None:
    """Raises an Error in a worker of a data loader that has been spawned. It runs the program's file anew, down to
    `if __name__ == "__main__":`, has the rank's environment, and would wait for the job's ranks for ever."""
    parent = multiprocessing.parent_process()  # None while the file runs
    is_beginning = getattr(multiprocessing.current_process(), "_inheriting", False)
    if OF_RANK in os.environ and (is_beginning or (parent and os.environ[OF_RANK] == str(parent.pid))):
        raise Error(USAGE, "this process was started by a rank, as a worker of a data loader is, and is no part of the job: "
                           'call eave in that rank alone, in the file below `if __name__ == "__main__":`')


def start(transport: str = "auto") -> None:
    """Collective. Joins the ranks that the launcher started. The first Averager calls it if nothing has called it
    yet."""
    load()
    if job.place is None:
        _refuse_process_of_rank()
        with meeting(transport):
            call("start", transport.encode())
        job.place = (job.library.eave_rank(), job.library.eave_size(), job.library.eave_local_rank())
        job.process = os.getpid()
        os.environ[OF_RANK] = str(job.process)


def stop() -> None:
    """Collective. Leaves the job. It is called automatically when the process exits."""
    if job.library is not None:
        call("stop")
        job.is_stopped = job.place is not None


def _place() -> tuple[int, int, int]:
    start()
    assert job.place is not None
    return job.place


def rank() -> int:
    """This process's number among the ranks of the job, from 0."""
    return _place()[0]


def size() -> int:
    """The number of ranks in the job; 1 without a launcher."""
    return _place()[1]


def local_rank() -> int:
    """The number of ranks of this host before this one: 0 for the first rank of each host.

    With a rank for each GPU, call torch.cuda.set_device(eave.local_rank()) before model.to("cuda"). If the launcher
    shows each rank only its own GPU, as srun --gpus-per-task=1 does, that GPU is number 0 in every rank."""
    return _place()[2]


def sum_over_ranks(values: Sequence[float]) -> list[float]:
    """Collective. Returns a list: the sum over ranks of each of `values`, such as losses and counts. All ranks pass
    equally many numbers."""
    start()
    if job.why_alone:
        raise Error(USAGE, f"sum_over_ranks within {job.why_alone}")
    try:
        numbers = (ctypes.c_double * len(values))(*values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise Error(USAGE, f"sum_over_ranks: expected a list of numbers, such as [loss, count], found "
                           f"{' '.join(str(values)[:60].split())} ({error})") from None
    call("sum", numbers, len(values))
    return list(numbers)


def require_same(text: str) -> None:
    """Collective. Raises an Error with code 78, which has the first lines that differ, unless all ranks pass rank 0's
    text."""
    call("require_same", text.encode())


def broadcast(address: int, count: int) -> None:
    """Collective. Replaces `count` bytes at this address by those of rank 0."""
    call("broadcast", address, count)


def text_of_first_rank(text: str) -> str:
    """Collective. Returns rank 0's text on all ranks."""
    mine = text.encode()
    length = ctypes.c_int64(len(mine))
    broadcast(ctypes.addressof(length), ctypes.sizeof(length))
    letters = ctypes.create_string_buffer(mine, max(length.value, len(mine)) + 1)
    broadcast(ctypes.addressof(letters), length.value)
    return letters.raw[:length.value].decode()


def texts_of_ranks(text: str) -> list[str]:
    """Collective. Returns the texts of all ranks, in their order."""
    me, ranks, mine = rank(), size(), text.encode()
    lengths = [int(length) for length in sum_over_ranks([len(mine) if each == me else 0 for each in range(ranks)])]
    longest = max(lengths)
    letters = [0.0] * (longest * ranks)
    letters[me * longest:me * longest + len(mine)] = map(float, mine)
    sums = [int(letter) for letter in sum_over_ranks(letters)] if longest else []
    return [bytes(sums[each * longest:each * longest + lengths[each]]).decode() for each in range(ranks)]
