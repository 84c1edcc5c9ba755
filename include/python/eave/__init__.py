"""Averages a model among the ranks of an MPI job, by any method of eave; for PyTorch in one line of its loop.

    import eave
    averager = eave.Averager(model, optimizer, "easgd", tau=10, lr=0.1)   # under mpirun; on all ranks
    for x, y in batches_of(eave.rank(), eave.size()):
        optimizer.zero_grad()
        loss(model(x), y).backward()
        averager.step()                       # in place of optimizer.step()
    with averager.consensus():                # the center or the mean, in the model for as long as this lasts
        evaluate(model)
    averager.close()

VectorAverager does the same for two vectors of float32 (array.array, NumPy, ctypes), whatever made the gradients.

A method of one's own comes from a shared object: eave.Averager(model, optimizer, "sign-vote", plugin="./sign_vote.so").

Without a launcher there is one rank, and nothing is exchanged. torchrun starts no ranks of MPI: an Error with code 69 says
so on each of them. mpi4py is not needed; where it is used, import mpi4py.MPI
before anything of eave is called: it begins MPI so that both may use it at once.
The library is found beside this package's installation, by the loader, or where the environment's LIBEAVE says.

All ranks call the same functions in the same order, so they take equally many steps, and close their averagers before
the program's end. If they do not, the job ends: a rank that waits for another for as long as limit_step="10min" says
(or EAVE_LIMIT_STEP in the environment) names it and ends with 69; ranks that call different functions end after a second.
An Error says what happened and what to do. If nobody catches it, the process ends with its `code`. An exception that
ends one rank ends all of them, and one traceback is printed for the whole job.
"""
from ._averager import Averager
from ._library import Error, rank, size, start, stop, sum_over_ranks
from ._method import VectorAverager

__all__ = ["Averager", "Error", "VectorAverager", "rank", "size", "start", "stop", "sum_over_ranks"]
