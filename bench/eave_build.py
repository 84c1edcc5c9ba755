"""Builds eave's programs for benchmarks."""
import os
import pathlib
import shutil
import sys

from pytorch_environment import run_logged

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "bench"


def build_eave(*targets, directory=BUILD):
    """Builds these programs, Release, and returns the directory that they are in."""
    for tool in ("cmake", "c++"):
        if shutil.which(tool) is None:
            sys.exit(f"{tool} is missing: mpi_launch/quickstart installs what building eave needs")
    print(f"building {' and '.join(targets)} in {directory}", flush=True)
    generator = ["-G", "Ninja"] if shutil.which("ninja") and not (directory / "CMakeCache.txt").exists() else []
    run_logged("configuring eave", ["cmake", "-S", ROOT, "-B", directory, *generator,
                                    "-DCMAKE_BUILD_TYPE=Release", "-DEAVE_BENCH=ON"])
    jobs = str(len(os.sched_getaffinity(0)))
    run_logged("building eave", ["cmake", "--build", directory, "--target", *targets, "-j", jobs])
    return directory
