"""What the jobs that check eave.Averager case by case have in common. A case is a function whose name begins with hold_."""
import contextlib
import itertools
import os
import pathlib
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore", message="Failed to initialize NumPy")
import eave
import torch


_opened = []  # the averagers of the case that runs
_numbers = itertools.count()


def open_averager(*arguments, **options):
    """Returns an eave.Averager, which run_cases closes at the end of the case."""
    _opened.append(eave.Averager(*arguments, **options))
    return _opened[-1]


def refused(words, call, code=64):
    """Asserts that eave refuses the call with this code and these words."""
    try:
        call()
    except eave.Error as error:
        assert error.code == code and words in str(error), (error.code, str(error))
    else:
        raise AssertionError(f"not refused: {words}")


def is_same_everywhere(tensors):
    values = torch.cat([each.detach().double().flatten() for each in tensors])
    sums = torch.tensor(eave.sum_over_ranks(values.tolist()), dtype=torch.float64)
    return torch.allclose(sums / eave.size(), values, rtol=0, atol=1e-14)


@contextlib.contextmanager
def all_ranks_of_gloo(size=None):
    """A context in which torch.distributed has all ranks, or groups of `size` ranks that follow each other."""
    size = size or eave.size()
    name = os.path.join(tempfile.gettempdir(), f"eave-{os.getppid()}-{eave.rank() // size}-{next(_numbers)}")
    torch.distributed.init_process_group("gloo", store=torch.distributed.FileStore(name, size), rank=eave.rank() % size,
                                         world_size=size)
    try:
        yield
    finally:
        torch.distributed.destroy_process_group()


@contextlib.contextmanager
def folder_of_all_ranks():
    """A context with an empty folder, which all ranks share."""
    with tempfile.TemporaryDirectory() as own:
        yield pathlib.Path(eave._ranks.text_of_first_rank(own))
        eave.sum_over_ranks([0.0])


def run_cases(names):
    """Runs the cases among these names of a job, in the order of their names, and says which one fails."""
    for name, hold in sorted(names.items()):
        if name.startswith("hold_"):
            try:
                hold()
                while _opened:
                    _opened.pop(0).close()
            except BaseException:
                print(f"rank {eave.rank()} of {eave.size()}: {name} failed", file=sys.stderr)
                raise
            if eave.rank() == 0:
                print(f"{eave.size()} ranks: {name[5:].replace('_', ' ')}", flush=True)
