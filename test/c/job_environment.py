"""The environment in which the tests of this folder start jobs with PyTorch."""
import os
import pathlib

HERE = pathlib.Path(__file__).resolve().parent


def job_environment(library):
    """`library`: the path of libeave. Ranks import eave from the sources, and PyTorch with less work (lean/)."""
    packages = (HERE / "lean", HERE.parents[1] / "include" / "python")
    return {**os.environ, "LIBEAVE": library, "PYTHONPATH": os.pathsep.join(map(str, packages)), "OMP_NUM_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1"}
