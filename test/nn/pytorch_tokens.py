"""Repeats what test/nn/token_steps.cpp did with PyTorch: pytorch_tokens.py [FILE HEADS GROUPS KIND]...

KIND is llama, or the approximation of torch's gelu: none or tanh. Exits with 1 if a number differs.
"""
import json
import math
import pathlib
import sys

import torch
from torch.nn import functional

TOLERANCE = 1e-4  # relative to the largest number that is compared
RATE, DECAY = 1e-3, 0.1


class File:
    """The parts of a file of token_steps, in order."""

    def __init__(self, path):
        header, content = pathlib.Path(path).read_bytes().split(b"\n", 1)
        self.header = json.loads(header)
        self.values = torch.frombuffer(bytearray(content), dtype=torch.float32)
        self.begin = 0

    def take(self, *shape):
        size = math.prod(shape)
        self.begin += size
        return self.values[self.begin - size:self.begin].reshape(shape).clone()

    def take_tensors(self):
        return {name: self.take(*shape) for name, shape in self.header["tensors"]}


class Layers:
    """eave's layers from its tensors. eave numbers the layers of a kind from 1, in the order of the model's text."""

    def __init__(self, tensors):
        self.tensors, self.numbers = tensors, {}

    def take(self, prefix):
        self.numbers[prefix] = self.numbers.get(prefix, 0) + 1
        name = f"{prefix}{self.numbers[prefix]}."
        return self.tensors[name + "weight"], self.tensors.get(name + "bias")

    def linear(self, x):
        return functional.linear(x, *self.take("linear"))

    def norm(self, x):
        if "ln1.weight" in self.tensors:
            return functional.layer_norm(x, x.shape[-1:], *self.take("ln"), 1e-5)
        return functional.rms_norm(x, x.shape[-1:], self.take("rms")[0], 1e-5)


def turn(x):
    """Rotary positions as in Hugging Face's Llama: x is samples x heads x positions x width."""
    width = x.shape[-1]
    angles = torch.arange(x.shape[-2])[:, None] * 10000.0 ** (-torch.arange(0, width, 2) / width)
    cosines, sines = angles.cos().repeat(1, 2), angles.sin().repeat(1, 2)
    first, second = x.chunk(2, -1)
    return x * cosines + torch.cat([-second, first], -1) * sines


def attend(rows, heads, groups, rotary):
    width = rows.shape[-1] // (heads + 2 * groups)
    q, k, v = (part.unflatten(-1, (-1, width)).transpose(1, 2)
               for part in rows.split([heads * width, groups * width, groups * width], -1))
    if rotary:
        q, k = turn(q), turn(k)
    k, v = (part.repeat_interleave(heads // groups, 1) for part in (k, v))
    return functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)


def dense(x, layers, kind):
    x = layers.linear(x)
    if kind == "llama":
        gate, values = x.chunk(2, -1)
        return layers.linear(functional.silu(gate) * values)
    return layers.linear(functional.gelu(x, approximate=kind))


def forward(tensors, tokens, heads, groups, kind):
    """A transformer with pre-norm blocks."""
    layers = Layers(tensors)
    x = tensors["embed1.weight"][tokens]
    if "embed1.positions" in tensors:
        x = x + tensors["embed1.positions"][:tokens.shape[1]]
    for _ in range(sum(name.startswith("linear") and name.endswith("weight") for name in tensors) // 4):
        x = x + layers.linear(attend(layers.linear(layers.norm(x)), heads, groups, kind == "llama"))
        x = x + dense(layers.norm(x), layers, kind)
    return functional.linear(layers.norm(x), tensors["embed1.weight"])


def orthogonal(x):
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x


class Muon:
    """torch.optim.Muon(adjust_lr_fn="match_rms_adamw") in float32, for matrices as in Hugging Face's Llama."""

    def __init__(self, tensors, heads, groups, kind):
        self.matrices, self.velocities = [], []
        for name in (name for name in tensors if name.startswith("linear") and name.endswith("weight")):
            number, rows = int(name[len("linear"):-len(".weight")]), tensors[name].shape[0]
            parts = [rows]
            if number % 4 == 1:
                width = rows // (heads + 2 * groups)
                parts = [heads * width, groups * width, groups * width]
            elif number % 4 == 3 and kind == "llama":
                parts = 2 * [rows // 2]
            self.matrices.append((tensors[name], parts))
            self.velocities.append(torch.zeros_like(tensors[name]))

    @torch.no_grad()
    def step(self):
        for (matrix, parts), velocity in zip(self.matrices, self.velocities):
            velocity.mul_(0.95).add_(matrix.grad)
            directions = (matrix.grad + 0.95 * velocity).split(parts)
            step = torch.cat([0.2 * max(each.shape) ** 0.5 * orthogonal(each) for each in directions])
            matrix -= RATE * (step + DECAY * matrix)
            matrix.grad = None


def train(tensors, tokens, labels, steps, rule, model):
    """Returns the loss of each step. Its mean divides by all labels, those without a loss included."""
    muon = Muon(tensors if rule == "muon" else {}, *model)
    hidden = [id(matrix) for matrix, _ in muon.matrices]
    rest = [tensor for tensor in tensors.values() if id(tensor) not in hidden]
    optimizer = torch.optim.AdamW(rest, lr=RATE, betas=(0.9, 0.999), eps=1e-5, weight_decay=DECAY)
    losses = []
    for _ in range(steps):
        logits = forward(tensors, tokens, *model)
        loss = functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-1, reduction="sum")
        loss = loss / labels.numel()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        muon.step()
        losses.append(loss.detach())
    return torch.stack(losses)


def differs(what, found, expected):
    error = ((found - expected).abs().max() / expected.abs().max()).item()
    print(f"{what}: relative error {error:.1e}")
    return not error <= TOLERANCE


def compare(path, *model):
    file = File(path)
    header = file.header
    tensors = {name: value.requires_grad_() for name, value in file.take_tensors().items()}
    tokens = file.take(header["samples"], header["positions"]).long()
    labels = file.take(header["samples"], header["positions"]).long()
    logits = file.take(header["samples"], header["positions"], header["vocabulary"])
    losses, after = file.take(header["steps"]), file.take_tensors()
    assert file.begin == len(file.values)
    rule, steps = header["optimizer"], header["steps"]
    wrong = differs("logits", logits, forward(tensors, tokens, *model).detach())
    found = train(tensors, tokens, labels, steps, rule, model)
    wrong |= differs(f"losses of {steps} steps with {rule}", losses, found)
    return wrong | any([differs(name, after[name], tensor.detach()) for name, tensor in tensors.items()])


def main():
    torch.set_num_threads(1)
    words = sys.argv[1:]
    sys.exit(any([compare(words[i], int(words[i + 1]), int(words[i + 2]), words[i + 3]) for i in range(0, len(words), 4)]))


if __name__ == "__main__":
    main()
