"""A rank that averages with eave while it exchanges with mpi4py: mpi4py_job.py mpi4py-first|eave-first|single|single-on-one

single-on-one: only rank 1 has a thread level that is too low.
"""
import array
import os
import sys

if sys.argv[1] == "eave-first":
    import eave
import mpi4py

RANK = os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK"))
if sys.argv[1] == "single" or (sys.argv[1] == "single-on-one" and RANK == "1"):
    mpi4py.rc.thread_level = "single"
from mpi4py import MPI

import eave

COUNT = 10000


def average(world):
    """The gradient pulls each rank to its own number. Together the ranks move to the mean of these numbers."""
    x, g, found = (array.array("f", [0.0] * COUNT) for _ in range(3))
    averager = eave.VectorAverager(x, g, "easgd", tau=3)  # its exchanges run in the background of the steps
    for _ in range(200):
        averager.begin_step(0.1)
        assert world.allreduce(eave.rank()) == eave.size() * (eave.size() - 1) / 2
        for k in range(0, COUNT, 1000):
            g[k] = x[k] - eave.rank()
        if averager.before_update():
            for k in range(0, COUNT, 1000):
                x[k] -= 0.1 * g[k]
        averager.after_update()
    averager.consensus(found)
    averager.close()
    return found[0]


def main():
    world = MPI.COMM_WORLD
    found = average(world)
    assert (eave.rank(), eave.size()) == (world.Get_rank(), world.Get_size())
    assert abs(found - (eave.size() - 1) / 2) < 1e-3, found
    eave.stop()
    assert world.allgather(found) == [found] * world.Get_size()
    sys.stdout.write("both have gone on\n")  # one write of the whole line, also if Python does not buffer


try:
    main()
except eave.Error as error:
    print(f"mpi4py_job: {error}", file=sys.stderr)
    sys.exit(error.code)
