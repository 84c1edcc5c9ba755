#!/usr/bin/env python3
"""Times whole PyTorch training steps on one GPU; the peer of gpu_steps.cpp.

A step is: zero_grad, forward, cross entropy, backward and SGD with momentum 0.9 (the fused optimizer), on one fixed
random batch that lies on the GPU, channels_last. The loss is never fetched. The program reads cases from standard
input, one a line:

    MODEL BATCH PRECISION SECONDS     times steps for about SECONDS, as in "lenet 128 bf16 0.5"
    drop                              frees the models made so far, and their memory
    copy BYTES                        bytes per second, read plus written, when copying BYTES on the GPU

PRECISION  tf32: float32 with TensorFloat-32 products; bf16: autocast to bfloat16, parameters in float32
--compile  runs the model through torch.compile(mode="max-autotune"), CUDA graphs included; without it, eager

The answer to a case is one JSON line, with "error" if the case failed. The first case with a model builds, compiles and
warms up the model, which takes "prepare_seconds". The program keeps it until "drop", so that later cases time only
steps. The seconds of a step are the median over chunks of steps, each of about 50 ms of wall-clock time between two
synchronisations. Memory is the GPU memory that the warm model took (cudaMemGetInfo), and the peak of PyTorch's
allocator.
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import time
import warnings

warnings.filterwarnings("ignore")

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import pytorch_steps

WARM_UP_STEPS = 12  # torch.compile records its CUDA graphs in the first ones
LEAST_CHUNKS = 5
CHUNK_SECONDS = 0.05


class Bottleneck(nn.Module):
    """ResNet-50's block: convolutions 1x1, 3x3 (with the stride), and 1x1 with four times the width. If the shape
    changes, the shortcut has a 1x1 convolution."""

    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.body = nn.Sequential(
            nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.shortcut = nn.Identity() if inputs == outputs else nn.Sequential(
            nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x), inplace=True)


def make_resnet50():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            layers.append(Bottleneck(channels, width, 2 if width > 64 and block == 0 else 1))
            channels = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


# name: (maker, shape of one image as channels, height, width; classes)
MODELS = {name: (maker, shape, 10) for name, (maker, shape) in pytorch_steps.MODELS.items()}
MODELS["resnet50"] = (make_resnet50, (3, 224, 224), 1000)


class Gpu:
    """The device to time on. With "cpu" the script can be tried on a machine without a GPU."""

    def __init__(self, name):
        self.name = name
        self.is_gpu = name == "cuda"
        if self.is_gpu:
            torch.backends.cudnn.benchmark = True
            torch.set_float32_matmul_precision("high")
            torch.zeros(1, device=name)

    def wait(self):
        if self.is_gpu:
            torch.cuda.synchronize()

    def free_bytes(self):
        return torch.cuda.mem_get_info()[0] if self.is_gpu else 0

    def forget(self):
        torch.compiler.reset()
        if self.is_gpu:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()

    def describe(self):
        facts = {"torch": torch.__version__, "device": "cpu"}
        if self.is_gpu:
            facts |= {"device": torch.cuda.get_device_name(), "cuda": torch.version.cuda,
                      "cudnn": torch.backends.cudnn.version(), "nccl": ".".join(map(str, torch.cuda.nccl.version()))}
        return facts


def make_step(gpu, name, batch, precision, compiled):
    maker, shape, classes = MODELS[name]
    torch.manual_seed(1)
    model = maker().train().to(gpu.name, memory_format=torch.channels_last)
    images = torch.rand(batch, *shape, device=gpu.name).contiguous(memory_format=torch.channels_last)
    labels = torch.randint(0, classes, (batch,), device=gpu.name)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, fused=True)
    forward = torch.compile(model, mode="max-autotune") if compiled else model

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(gpu.name, dtype=torch.bfloat16, enabled=precision == "bf16"):
            loss = F.cross_entropy(forward(images), labels)
        loss.backward()
        optimizer.step()

    return step


def time_chunk(gpu, step, steps):
    gpu.wait()
    begin = time.perf_counter()
    for _ in range(steps):
        step()
    gpu.wait()
    return (time.perf_counter() - begin) / steps


def time_steps(gpu, step, seconds):
    steps = max(1, round(CHUNK_SECONDS / time_chunk(gpu, step, 1)))
    steps = max(1, round(CHUNK_SECONDS / time_chunk(gpu, step, steps)))
    chunks, begin = [], time.perf_counter()
    while time.perf_counter() - begin < seconds or len(chunks) < LEAST_CHUNKS:
        chunks.append(time_chunk(gpu, step, steps))
    return {"steps": steps * len(chunks), "seconds": statistics.median(chunks)}


def prepare(gpu, case, compiled):
    """A step that is ready to be timed, and the time and memory that its preparation took."""
    before, begin = gpu.free_bytes(), time.perf_counter()
    lent = torch.cuda.memory_allocated() if gpu.is_gpu else 0
    step = make_step(gpu, *case, compiled)
    for _ in range(WARM_UP_STEPS):
        step()
    gpu.wait()
    facts = {"prepare_seconds": time.perf_counter() - begin}
    if gpu.is_gpu:
        facts |= {"memory_bytes": before - gpu.free_bytes(),
                  "allocated_bytes": torch.cuda.max_memory_allocated() - lent}
    return step, facts


def time_copy(gpu, size):
    source = torch.rand(size // 4, device=gpu.name)
    target = torch.empty_like(source)
    seconds = time_steps(gpu, lambda: target.copy_(source), 0.3)["seconds"]
    return {"bytes_per_second": 2 * 4 * source.numel() / seconds}


def answer(gpu, line, ready, compiled):
    words = line.split()
    if words[0] == "drop":
        ready.clear()
        gpu.forget()
        return {}
    if words[0] == "copy":
        return time_copy(gpu, int(words[1]))
    name, batch, precision, seconds = words
    case = (name, int(batch), precision)
    if case not in ready:
        ready[case] = prepare(gpu, case, compiled)
    step, facts = ready[case]
    return {"model": name, "batch": int(batch), "precision": precision} | facts | time_steps(gpu, step, float(seconds))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compile", action="store_true", help='use torch.compile(mode="max-autotune")')
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"), help="cpu: only to try this script")
    arguments = parser.parse_args()
    gpu = Gpu(arguments.device)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the autotuner and its helpers print to standard output, which must hold only answers
    print(json.dumps(gpu.describe()), file=answers, flush=True)
    ready = {}
    for line in sys.stdin:
        try:
            found = answer(gpu, line, ready, arguments.compile)
        except Exception as error:  # out of memory, or any failure of the compiler
            found = {"error": f"{type(error).__name__}: {str(error).strip()[:300]}"}
            ready.clear()
            gpu.forget()
        print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    main()
