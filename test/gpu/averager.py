"""Runs the job of test/c that trains PyTorch models with eave.Averager, with the models on GPUs."""
import re

from record import ROOT, Wrong, expect_0, last_words

JOB = ROOT / "test" / "c" / "pytorch_job.py"
JOB_S = 120


def run_job(record, name, start, library, gpus=()):
    """Runs the job as a check. `start` are the words that start its ranks. Each has a GPU of its own of `gpus`, words of
    CUDA_VISIBLE_DEVICES, or all share one."""
    environment = {"LIBEAVE": library, "PYTHONPATH": ROOT / "include" / "python", "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"CUDA_VISIBLE_DEVICES": ",".join(gpus)} if gpus else {}

    def judge(ended):
        expect_0(ended)
        told = re.findall(r"^\d+ ranks?, .*: loss .*$", ended.text, re.MULTILINE)
        if not told or not all(" on cuda:" in line for line in told):
            raise Wrong(f"no word of training on the GPU: {last_words(ended.text)}")
        used = sorted(set(re.findall(r"^rank \d+ is on (cuda:\d+)$", ended.text, re.MULTILINE)))
        if len(used) != (len(gpus) or 1):
            raise Wrong(f"its ranks used {', '.join(used) or 'no GPU that they name'}, not {len(gpus) or 1}")
        return f"{len(told)} trainings on {', '.join(used)}, the last: {told[-1]}"

    environment = {key: str(value) for key, value in environment.items()}
    return record.run(name, [*start, JOB, "--device", "cuda"], JOB_S, judge, environment)


def check_averager(record, library, python):
    for ranks in (1, 2):
        run_job(record, f"PyTorch model on the GPU, {ranks} rank{'s' * (ranks - 1)}", ["mpirun", "-np", ranks, python], library)
