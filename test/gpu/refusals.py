"""Runs of `eave train` that must end with a message and an exit code: user errors, and training that diverges."""
import math
import re
import tempfile

import machine
from record import LEFT_OUT, Wrong, last_words
from training import COMMON, MODELS, ON_CPU, ON_GPU, RUN_S, lacks_mpi, mpirun

# With this learning rate weights become infinite. NaN then reaches convolution, bias and relu, which cuDNN may compute
# in one kernel.
DIVERGING = ["--model", "conv2d 8 3x3; relu; conv2d 8 3x3; relu; flatten; dense classes", "--lr", "999999"]

SAMPLE_MIB = 86  # what resnet50's activations take for a sample of 224 x 224 pixels in fp32


def too_big(gpu):
    """Returns the words of a training that needs one and a half times the memory of this GPU. A batch has at most as
    many samples as there are."""
    mebibytes = float(gpu.get("memory", "1024 MiB").split()[0])
    samples = math.ceil(1.5 * mebibytes / SAMPLE_MIB)
    return ["--model", "resnet50", "--synthetic-size", "224", "--synthetic-channels", "3",
            "--batch", str(samples), "--synthetic-samples", str(samples)]


def check_divergence(record, eave):
    """Checks the gate against non-finite losses, as a user meets it: exit code 76."""
    with tempfile.TemporaryDirectory() as folder:
        words = [*COMMON, *DIVERGING, *ON_GPU, "--max-steps", "200", "--run-dir", f"{folder}/run"]
        record.run("training that diverges ends with 76", [eave, "train", *words], RUN_S, refused(76))


def refused(code, *says):
    """Returns a judge that requires this exit code and one message, with all these texts in the output."""
    def judge(ended):
        messages = re.findall(r"^eave: (?!warning: ).*", ended.text, re.MULTILINE)
        if ended.code != code:
            raise Wrong(f"exit code {ended.code}, not {code}: {last_words(ended.text)}")
        if len(messages) != 1:
            raise Wrong(f"{len(messages)} messages, not one: {' / '.join(messages)[:300]}")
        missing = [text for text in says if text not in ended.text]
        if missing:
            raise Wrong(f"the message lacks '{missing[0]}': {messages[0]}")
        return f"{code}, {messages[0].removeprefix('eave: ')[:160]}"
    return judge


def fails_by_choice(ended):
    """A judge: the run must end with 64 (usage), 71 (resource) or 78 (configuration), not by a signal or with a bug's
    code."""
    if ended.code not in (64, 71, 78):
        raise Wrong(f"exit code {ended.code}: {last_words(ended.text)}")
    return str(ended.code)


def falls_back(ended):
    if ended.code != 0 or "GPU" not in ended.text:
        raise Wrong(f"exit code {ended.code}, or no word of the GPU: {last_words(ended.text)}")


def check_errors(record, eave):
    """Checks errors that users make. Nothing else may run on the GPU, because one of these runs fills its memory."""
    no_gpu = {"CUDA_VISIBLE_DEVICES": ""}
    with tempfile.TemporaryDirectory() as folder:
        common = [*COMMON, *MODELS["lenet"]]
        words = [*common, *ON_GPU, "--run-dir", f"{folder}/run", "--overwrite"]
        alone = [eave, "train", *words]
        record.run("GPU index out of range", [*alone, "--gpu", "99"], 30, refused(64, "--gpu", "99", "counted from 0"))
        record.run("no GPU visible", alone, 30, refused(71, "GPU"), no_gpu)
        record.run("sharing without a need", [*alone, "--share-gpu"], 30, refused(64, "--share-gpu"))
        big = too_big(machine.gpu_of(record.facts["machine"]))
        record.run("out of memory", [*alone, *big], RUN_S, refused(71, "out of memory", "batch"))
        auto = [eave, "train", *common, "--run-dir", f"{folder}/auto"]
        record.run("auto without a GPU trains on the CPU", auto, RUN_S, falls_back, no_gpu)
        names = ("more ranks than GPUs", "mixed devices over nccl")
        if why := lacks_mpi(record):
            for name in names:
                record.note(name, LEFT_OUT, 0, why)
            return
        record.run(names[0], mpirun(eave, 2, words), 30, refused(64, "--share-gpu"))
        mixed = [*common, "--transport", "nccl", "--run-dir", f"{folder}/mixed"]
        record.run(names[1], mpirun(eave, 2, mixed, [([], ON_CPU), ([], ON_GPU)]), 30, fails_by_choice)
