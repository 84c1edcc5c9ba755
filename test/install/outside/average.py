"""One of two ranks that average with the installed Python package: average.py python|numpy PREFIX"""
import array
import ctypes
import pathlib
import sys

import eave

COUNT = 10


def vectors_of_python():
    yield "array", lambda values: array.array("f", values)
    yield "ctypes", lambda values: (ctypes.c_float * len(values))(*values)


def vectors_of_numpy():
    import numpy
    yield "numpy", lambda values: numpy.array(values, dtype=numpy.float32)


def average(make, method, **options):
    """The gradient pulls each rank to rank + k / 10. Together both ranks move to 0.5 + k / 10."""
    x, g, found = make([0.0] * COUNT), make([0.0] * COUNT), make([0.0] * COUNT)
    averager = eave.VectorAverager(x, g, method, **options)
    for _ in range(300):
        averager.begin_step(0.1)
        for k in range(COUNT):
            g[k] = x[k] - eave.rank() - k / 10
        if averager.before_update():
            for k in range(COUNT):
                x[k] -= 0.1 * g[k]
        averager.after_update()
    averager.consensus(found)
    averager.close()
    return list(found)


def hold_mean(found, what):
    furthest = max(abs(value - 0.5 - k / 10) for k, value in enumerate(found))
    assert furthest < 1e-4, f"{what}: {found} is not the mean"


def hold_place(prefix):
    """Checks that this process has loaded the library of the installation."""
    maps = pathlib.Path("/proc/self/maps").read_text().splitlines()
    loaded = {line.split(maxsplit=5)[5] for line in maps if "/libeave.so" in line}
    assert loaded and all(path.startswith(prefix + "/") for path in loaded), f"loaded: {loaded}"


def main():
    vectors = list(vectors_of_numpy() if sys.argv[1] == "numpy" else vectors_of_python())
    for name, make in vectors:
        for method, options in (("allreduce", {}), ("easgd", {"tau": 3})):
            hold_mean(average(make, method, **options), f"{name}, {method}")
            if eave.rank() == 0:
                print(f"{name}, {method}: the mean over {eave.size()} ranks")
    hold_place(sys.argv[2])


main()
