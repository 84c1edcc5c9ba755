"""Ranks of which each has a GPU of its own: the way that eave is made for. It takes a machine with 2 GPUs or more."""
import pathlib
import sys
import tempfile

import averager
import training
from record import LEFT_OUT, SKIPPED, Wrong, expect_0

MOST_GPUS = 8
RUNS = (("nccl", "allreduce"), ("auto", "allreduce"), ("nccl", "easgd"), ("auto", "easgd-async"))
LEAST_FOR_GROUPS = 4  # ranks; with fewer, no two groups have two ranks each
RUNS_IN_GROUPS = (("nccl", "easgd-tree"), ("nccl", "gossip"))
STARTS_S, ENDS_S = 90, 30  # until a training has made some steps; until all ranks have ended after one was lost
# auto makes NCCL after the guard of the ranks, and nccl before it. Without a launcher, nccl has no ranks to connect.
LOSSES = (("stop", "nccl"), ("stop", "auto"), ("kill", "auto"))
LIMIT_S = 5  # after which the others give up a rank that does not answer
WITHOUT_END = ["--epochs", "1000000", "--max-steps", "100000000"]


def check_own_gpus(record, references, library, python):
    gpus = record.facts["machine"]["visible"][:MOST_GPUS]
    if len(gpus) < 2:
        record.note("each rank on a GPU of its own", SKIPPED, 0, f"this takes 2 GPUs, and this run may use {len(gpus)}")
        return
    for ranks in dict.fromkeys((2, len(gpus))):
        for transport, method in RUNS + (RUNS_IN_GROUPS if ranks >= LEAST_FOR_GROUPS else ()):
            training.check_pair(record, references, transport, method, ranks, (), training.NCCL_S, gpus[:ranks])
            if record.was_late:  # the others would wait just as long
                record.leave_out(f"{method} over {transport}, {ranks} ranks, did not end", record.section)
    for how, transport in LOSSES:
        check_loss(record, references.eave, gpus[:2], how, transport)
    check_averager(record, library, python, gpus[:2])


def check_loss(record, eave, gpus, how, transport):
    """Stops or kills a rank in the middle of training over NCCL, whose kernels wait for it on the other GPU. No launcher
    ends the other rank: it has to find out by itself."""
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "run"
        words = [*training.COMMON, *training.MODELS["lenet"], *training.METHODS["allreduce"], *training.ON_GPU,
                 *WITHOUT_END, "--limit-step", f"{LIMIT_S}s", "--run-dir", run, "--transport", transport]
        start = training.mpirun(eave, len(gpus), words) if how == "stop" else [len(gpus), eave, "train", *words]
        command = [sys.executable, "-B", pathlib.Path(__file__).parent / "lose_a_rank.py", how, STARTS_S, ENDS_S, run, *start]

        def judge(ended):
            expect_0(ended)
            training.expect_transport(ended, "nccl")
            if how == "stop" and "has not answered for" not in ended.text:
                raise Wrong("no rank says that the stopped one does not answer")
            return ended.text.splitlines()[-1]

        done = {"stop": "stopped", "kill": "killed"}[how]
        record.run(f"a rank that is {done} over {transport} ends the other with 69", command, STARTS_S + ENDS_S + 10, judge,
                   {"CUDA_VISIBLE_DEVICES": ",".join(gpus)})


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
