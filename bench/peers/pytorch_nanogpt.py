#!/usr/bin/env python3
"""One nanoGPT run in PyTorch on one CPU thread; the peer of eave in bench/nanogpt_run, which has the settings.

    pytorch_nanogpt.py DATA --steps N --warmup N --seed N --mode eager|compiled --attention sdpa|plain
                       --optimizer loop|foreach|fused [--score]

DATA holds train.bin and val.bin. As nanoGPT does, each step draws windows that begin at random tokens, and weights begin
as GPT-2's. The answer is one JSON line: CPU seconds of all steps but the first, in which compiled code is made. With
--score it also has the loss over all windows of val.bin, cut as eave cuts them: one after another, the last one shorter.
"""
import argparse
import dataclasses
import json
import math
import pathlib
import sys
import time
import warnings

warnings.filterwarnings("ignore", message="Failed to initialize NumPy")  # not needed, not installed

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from pytorch_steps import FLAGS
from pytorch_transformers import SHAPES, Transformer

BATCH, VOCABULARY = 12, 256
RATE, LAST_RATE, DECAY, CLIP = 1e-3, 1e-4, 0.1, 1.0


def read_tokens(path):
    """Numbers of 16 bits, all below 256."""
    return torch.from_file(str(path), dtype=torch.int16, size=path.stat().st_size // 2).long()


def make_model(attention):
    shape = dataclasses.replace(SHAPES["nanogpt-cpu"], vocabulary=VOCABULARY)
    model = Transformer(shape, attention)
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear):
            into_residual = name.endswith((".of_heads", ".dense.2"))
            nn.init.normal_(module.weight, std=0.02 / math.sqrt(2 * shape.layers) if into_residual else 0.02)
    return model, shape.context


def make_optimizer(model, flags):
    matrices = [parameter for parameter in model.parameters() if parameter.dim() >= 2]
    vectors = [parameter for parameter in model.parameters() if parameter.dim() < 2]
    groups = [{"params": matrices, "weight_decay": DECAY}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.99), **flags)


def rate_of(step, arguments):
    if step < arguments.warmup:
        return RATE * (step + 1) / (arguments.warmup + 1)
    share = (step - arguments.warmup) / (arguments.steps - arguments.warmup)
    return LAST_RATE + 0.5 * (1 + math.cos(math.pi * share)) * (RATE - LAST_RATE)


def train(forward, model, context, arguments):
    """Returns CPU seconds of all steps but the first."""
    tokens, window = read_tokens(arguments.data / "train.bin"), torch.arange(context + 1)
    optimizer = make_optimizer(model, FLAGS[arguments.optimizer])
    begin = 0.0
    for step in range(arguments.steps):
        for group in optimizer.param_groups:
            group["lr"] = rate_of(step, arguments)
        windows = tokens[torch.randint(len(tokens) - context, (BATCH, 1)) + window]
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(forward(windows[:, :-1]), windows[:, 1:].flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        if step == 0:
            begin = time.process_time()
    return time.process_time() - begin


@torch.no_grad()
def score(model, context, path):
    tokens = read_tokens(path)
    labels = len(tokens) - 1
    whole = labels // context
    batches = list(zip(tokens[:whole * context].view(whole, context).split(BATCH),
                       tokens[1:whole * context + 1].view(whole, context).split(BATCH)))
    if labels % context:
        batches.append((tokens[whole * context:-1].view(1, -1), tokens[whole * context + 1:].view(1, -1)))
    model.eval()
    total = sum(F.cross_entropy(model(x), y.flatten(), reduction="sum").double().item() for x, y in batches)
    return {"loss": total / labels, "labels": labels}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    for name in ("steps", "warmup", "seed"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--mode", choices=("eager", "compiled"), default="eager")
    parser.add_argument("--attention", choices=("sdpa", "plain"), default="sdpa")
    parser.add_argument("--optimizer", choices=tuple(FLAGS), default="fused")
    parser.add_argument("--score", action="store_true")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    torch.manual_seed(arguments.seed)
    model, context = make_model(arguments.attention)
    forward = torch.compile(model) if arguments.mode == "compiled" else model
    answer = {"torch": torch.__version__, "cpu": train(forward, model, context, arguments)}
    if arguments.score:
        answer |= score(model, context, arguments.data / "val.bin")
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
