"""Trainings that differ in one thing from the usual ones: how the GPU is named, the size of the last batch, precision."""
import pathlib
import tempfile

import machine
from record import expect_0
from training import COMMON, MODELS, ON_GPU, RUN_S, Outcome, compare

BF16 = ["--device", "cuda", "--precision", "bf16"]
OF_FIRST_LOSSES_BF16 = 0.02  # lenet on the emulator of CUDA was 1.4e-3 apart in 10 steps, and 5e-3 in 20
UNEVEN = ["--synthetic-samples", "100"]  # three batches of 32 and one of 4; the steps were recorded with 32


def check_variants(record, references):
    uuid = {"CUDA_VISIBLE_DEVICES": uuid_of_gpu(record.facts["machine"])}
    check(record, references, "a GPU that CUDA_VISIBLE_DEVICES names by its UUID", environment=uuid)
    check(record, references, "a last batch that is smaller", UNEVEN)
    check(record, references, "bf16 stays near the CPU's float32", on_gpu=BF16, of_first_losses=OF_FIRST_LOSSES_BF16)


def uuid_of_gpu(facts):
    """Returns the UUID of the GPU that this run uses. If CUDA_VISIBLE_DEVICES has one, it may be that of a MIG instance,
    which nvidia-smi's list of GPUs lacks."""
    word = (facts["visible"] or ["0"])[0]
    return machine.gpu_of(facts).get("uuid", "GPU-UUID") if word.isdigit() else word


def check(record, references, name, more=(), on_gpu=ON_GPU, environment=None, **bounds):
    words = [*COMMON, *MODELS["lenet"], *more]
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "gpu"

        def judge(ended):
            expect_0(ended)
            return compare("lenet", Outcome(run), references.find(f"lenet{''.join(more)}", words, 0), **bounds)

        record.run(name, [references.eave, "train", *words, *on_gpu, "--run-dir", run], RUN_S, judge, environment)
