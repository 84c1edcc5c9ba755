#!/usr/bin/env python3
"""Times whole PyTorch training steps on one CPU thread; the peer of compute_steps.cpp.

A step is: zero_grad, forward, cross entropy, backward, SGD with momentum 0.9 (AdamW for
transformers), on one fixed random batch. The program reads cases from standard input, one a line: MODEL BATCH LAYOUT
OPTIMIZER SECONDS, for example "lenet 32 nhwc fused 1.5". It answers each with one JSON line
that holds the median CPU and wall seconds of a step. The first case with a model builds it and
warms it up. The program keeps the model, so that later cases time only steps.

LAYOUT     nchw, or nhwc (torch.channels_last); the mlp has no images and takes only nchw. For
           transformers, sdpa or plain: the attention of pytorch_transformers.py
OPTIMIZER  loop, foreach or fused: the three implementations of PyTorch's optimizers
--compile  runs the model through torch.compile
"""
import argparse
import json
import statistics
import sys
import time
import warnings

warnings.filterwarnings("ignore", message="Failed to initialize NumPy")  # not needed, not installed

import pytorch_transformers
import torch
from torch import nn
from torch.nn import functional as F

WARM_UP_STEPS = 3
LEAST_STEPS = 3


def make_mlp():
    return nn.Sequential(
        nn.Flatten(), nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(),
        nn.Linear(1024, 10))


def make_lenet():
    return nn.Sequential(
        nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(3136, 1024), nn.ReLU(), nn.Dropout(0.5), nn.Linear(1024, 10))


def make_cifar7():
    return nn.Sequential(
        nn.Conv2d(3, 64, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(64, 128, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(128, 64, 3), nn.ReLU(),
        nn.Flatten(), nn.Linear(256, 256), nn.ReLU(), nn.Dropout(0.5), nn.Linear(256, 10))


def make_tf_cifar10():
    def norm():
        return nn.LocalResponseNorm(9, alpha=0.001, beta=0.75, k=1)

    return nn.Sequential(
        nn.Conv2d(3, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2, 1), norm(),
        nn.Conv2d(64, 64, 5, padding=2), nn.ReLU(), norm(), nn.MaxPool2d(3, 2, 1),
        nn.Flatten(), nn.Linear(2304, 384), nn.ReLU(), nn.Linear(384, 192), nn.ReLU(), nn.Linear(192, 10))


def make_cnn7():
    return nn.Sequential(
        nn.Conv2d(3, 64, 3), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(64, 128, 3), nn.ReLU(), nn.Conv2d(128, 128, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(3200, 256), nn.ReLU(), nn.Dropout(0.5),
        nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))


class Residual(nn.Module):
    """Two 3x3 convolutions with batch norm; the shortcut subsamples and pads with zero channels."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs))
        self.stride = stride
        self.padding = (outputs - inputs) // 2

    def forward(self, x):
        y = self.body(x)
        if self.stride > 1:
            x = x[:, :, ::self.stride, ::self.stride]
            x = F.pad(x, (0, 0, 0, 0, self.padding, self.padding))
        return F.relu(y.add_(x), inplace=True)


def make_resnet20():
    layers = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True)]
    channels = 16
    for width in (16, 32, 64):
        for block in range(3):
            layers.append(Residual(channels, width, 2 if width > 16 and block == 0 else 1))
            channels = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


class Projected(nn.Module):
    """Two 3x3 convolutions with batch norm; a shortcut that changes the shape has a 1x1 convolution."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.body = Residual(inputs, outputs, stride).body
        self.shortcut = nn.Identity()
        if stride > 1:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        return F.relu(self.body(x).add_(self.shortcut(x)), inplace=True)


def make_resnet18():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for width in (64, 128, 256, 512):
        for block in range(2):
            layers.append(Projected(channels, width, 2 if width > 64 and block == 0 else 1))
            channels = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


MODELS = {  # name: (maker, shape of one image as channels, height, width)
    "mlp": (make_mlp, (1, 28, 28)),
    "lenet": (make_lenet, (1, 28, 28)),
    "cifar7": (make_cifar7, (3, 28, 28)),
    "tf-cifar10": (make_tf_cifar10, (3, 24, 24)),
    "cnn7": (make_cnn7, (3, 32, 32)),
    "resnet18": (make_resnet18, (3, 64, 64)),  # smaller than ImageNet's images, so that tests of its arrays are faster
    "resnet20": (make_resnet20, (3, 32, 32)),
}


FLAGS = {"loop": {"foreach": False, "fused": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}


def make_image_case(name, batch, layout, optimizer_name):
    maker, shape = MODELS[name]
    model = maker().train()
    images = torch.rand(batch, *shape)
    labels = torch.randint(0, 10, (batch,))
    if layout == "nhwc":
        model = model.to(memory_format=torch.channels_last)
        images = images.contiguous(memory_format=torch.channels_last)
    return model, images, labels, torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, **FLAGS[optimizer_name])


def make_token_case(name, batch, attention, optimizer_name):
    model = pytorch_transformers.Transformer(pytorch_transformers.SHAPES[name], attention).train()
    optimizer = pytorch_transformers.make_optimizer(model, FLAGS[optimizer_name])
    return model, *pytorch_transformers.make_batch(name, batch), optimizer


def make_step(name, batch, layout, optimizer_name, compiled, wrap=lambda model: model):
    torch.manual_seed(1)
    make_case = make_token_case if name in pytorch_transformers.SHAPES else make_image_case
    model, inputs, labels, optimizer = make_case(name, batch, layout, optimizer_name)
    forward = wrap(torch.compile(model) if compiled else model)

    def step():
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(forward(inputs), labels).backward()
        optimizer.step()

    return step


def time_steps(step, seconds):
    cpu, wall = [], []
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds or len(cpu) < LEAST_STEPS:
        wall_start, cpu_start = time.perf_counter(), time.process_time()
        step()
        cpu.append(time.process_time() - cpu_start)
        wall.append(time.perf_counter() - wall_start)
    return {"steps": len(cpu), "cpu_seconds": statistics.median(cpu),
            "wall_seconds": statistics.median(wall)}


def answer(line, steps, compiled):
    name, batch, layout, optimizer, seconds = line.split()
    case = (name, int(batch), layout, optimizer)
    if case not in steps:
        steps[case] = make_step(*case, compiled)
        for _ in range(WARM_UP_STEPS):
            steps[case]()
    fields = {"model": name, "batch": int(batch), "layout": layout, "optimizer": optimizer}
    return fields | time_steps(steps[case], float(seconds))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compile", action="store_true", help="use torch.compile")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    print(json.dumps({"torch": torch.__version__, "cpu": torch.backends.cpu.get_cpu_capability(),
                      "threads": torch.get_num_threads()}), flush=True)
    steps = {}
    for line in sys.stdin:
        if line.strip():
            print(json.dumps(answer(line, steps, arguments.compile)), flush=True)


if __name__ == "__main__":
    main()
