"""Runs several jobs of this folder in one process, because each import of PyTorch takes three seconds.

    pytorch_jobs.py JOB...        such as pytorch_overlap_job.py; they share one MPI
"""
import pathlib
import runpy
import sys

for job in sys.argv[1:]:
    runpy.run_path(str(pathlib.Path(__file__).with_name(job)), run_name="__main__")
