"""Ranks of which each has a GPU of its own: the way that eave is made for. It takes a machine with 2 GPUs or more."""
import pathlib
import shutil
import sys
import tempfile

import averager
import training
from record import LEFT_OUT, SKIPPED, expect_0

MOST_GPUS = 8
RUNS = (("nccl", "allreduce"), ("auto", "allreduce"), ("nccl", "easgd"), ("auto", "easgd-async"))
STARTS_S, DIES_S = 90, 30  # until a training has made some steps; until all ranks have ended after one was killed
WITHOUT_END = ["--epochs", "1000000", "--max-steps", "100000000"]


def check_own_gpus(record, references, library, python):
    gpus = record.facts["machine"]["visible"][:MOST_GPUS]
    if len(gpus) < 2:
        record.note("each rank on a GPU of its own", SKIPPED, 0, f"this takes 2 GPUs, and this run may use {len(gpus)}")
        return
    for ranks in dict.fromkeys((2, len(gpus))):
        for transport, method in RUNS:
            training.check_pair(record, references, transport, method, ranks, (), training.NCCL_S, gpus[:ranks])
            if record.was_late:  # the others would wait just as long
                record.leave_out(f"{method} over {transport}, {ranks} ranks, did not end", record.section)
    check_death(record, references.eave, gpus[:2])
    check_averager(record, library, python, gpus[:2])


def check_death(record, eave, gpus):
    """Kills a rank in the middle of training over NCCL, whose kernels wait for it on the other GPU."""
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "run"
        words = [*training.COMMON, *training.MODELS["lenet"], *training.ON_GPU, *WITHOUT_END, "--transport", "nccl",
                 "--run-dir", run]
        command = [sys.executable, "-B", pathlib.Path(__file__).parent / "kill_a_rank.py", STARTS_S, DIES_S, run,
                   *training.mpirun(eave, len(gpus), words)]
        record.run("a rank that is killed over nccl takes the other with it", command, STARTS_S + DIES_S + 10,
                   lambda ended: expect_0(ended) or ended.text.splitlines()[-1], {"CUDA_VISIBLE_DEVICES": ",".join(gpus)})


def check_averager(record, library, python, gpus):
    """The job's batches divide among two ranks."""
    ranks = len(gpus)
    starts = {"mpirun": ["mpirun", "-np", ranks, python],
              "torchrun": [python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks]}
    for name, start in starts.items():
        check = f"PyTorch model, {ranks} ranks of {name}, each on its own GPU"
        if record.planning or record.facts["versions"]["pytorch"]:
            averager.run_job(record, check, start, library, gpus)
        else:
            record.note(check, LEFT_OUT, 0, "python3 has no PyTorch")
