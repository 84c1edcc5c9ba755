#!/usr/bin/env python3
"""One rank of a PyTorch training run (gloo, one thread), for time_to_accuracy: pytorch_training.py RANK RANKS ADDRESS PORT JSON

JSON has model, data (a directory), dataset, batch, lr, momentum, seed, method (ddp or post-local-sgd), tau,
evaluate_every, target, steps. The run ends with the first evaluation that reaches the target, or after `steps`. Rank 0
then prints one line of JSON: the steps made, the test accuracy, and the seconds of training without evaluations.

Models are those of pytorch_steps.py, with eave's initial distribution (normal, deviation 1 / sqrt(inputs), biases 0).
They use channels_last and the fused optimizer. Batches are shards of one permutation for each epoch.

post-local-sgd is PyTorch's own: a DDP that does not average gradients, and a PostLocalSGDOptimizer that averages
parameters after every tau-th step. Evaluations come right after an average. Its averager leaves parameters in the
contiguous layout, while their momentum stays in channels_last. The fused optimizer then adds the two in memory order,
which mixes up elements: lenet took 3 times as many steps. With this method everything is therefore contiguous.
"""
import gzip
import json
import lzma
import math
import pathlib
import sys
import time

import pytorch_job  # before torch: it keeps warnings quiet
import pytorch_steps
import torch
import torch.distributed
from torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState, post_localSGD_hook
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.distributed.optim import PostLocalSGDOptimizer
from torch.nn import functional as F

EVALUATION_BATCH = 128


def read_packed(path):
    for ending, opener in (("", open), (".gz", gzip.open), (".xz", lzma.open)):
        packed = path.with_name(path.name + ending)
        if packed.exists():
            with opener(packed, "rb") as file:
                return torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)
    sys.exit(f"pytorch_training: no {path}, nor .gz or .xz of it")


def read_fashion_mnist(directory):
    def read(name):
        images = read_packed(directory / f"{name}-images-idx3-ubyte")[16:].view(-1, 1, 28, 28)
        return images, read_packed(directory / f"{name}-labels-idx1-ubyte")[8:].long()
    return read("train"), read("t10k")


def read_cifar10(directory):
    def read(names):
        records = torch.cat([read_packed(directory / name) for name in names]).view(-1, 3073)
        return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0].long()
    return read([f"data_batch_{i}.bin" for i in range(1, 6)]), read(["test_batch.bin"])


DATASETS = {  # name: (reader, mean, deviation)
    "fashion-mnist": (read_fashion_mnist, (0.2860,), (0.3530,)),
    "cifar10": (read_cifar10, (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
}


class Images:
    """Batches of normalised images, cropped at random for training and at the centre for tests."""

    def __init__(self, dataset, directory, side, layout):
        reader, mean, deviation = DATASETS[dataset]
        self.train, self.test = reader(directory)
        self.side, self.layout = side, layout
        self.scale = 1 / (255 * torch.tensor(deviation)).view(1, -1, 1, 1)
        self.shift = -(torch.tensor(mean) / torch.tensor(deviation)).view(1, -1, 1, 1)

    def normalise(self, images):
        return torch.addcmul(self.shift, images.float(), self.scale).contiguous(memory_format=self.layout)

    def train_batch(self, indices, generator):
        images = self.train[0][indices]
        room = images.shape[-1] - self.side
        if room > 0:
            at = torch.randint(0, room + 1, (2, len(indices), 1), generator=generator)
            rows, columns = at + torch.arange(self.side)
            images = images.gather(2, rows[:, None, :, None].expand(-1, images.shape[1], -1, images.shape[3]))
            images = images.gather(3, columns[:, None, None, :].expand(-1, images.shape[1], self.side, -1))
        return self.normalise(images), self.train[1][indices]

    def test_batches(self, rank, ranks):
        images, labels = self.test
        at = (images.shape[-1] - self.side) // 2
        for begin in range(rank * len(labels) // ranks, (rank + 1) * len(labels) // ranks, EVALUATION_BATCH):
            end = min(begin + EVALUATION_BATCH, (rank + 1) * len(labels) // ranks)
            yield self.normalise(images[begin:end, :, at:at + self.side, at:at + self.side]), labels[begin:end]


def layout_of(case):
    return torch.contiguous_format if case["method"] == "post-local-sgd" else torch.channels_last


def initialise(model, seed):
    generator = torch.Generator().manual_seed(seed)
    for module in model.modules():
        if isinstance(module, (torch.nn.Linear, torch.nn.Conv2d)):
            with torch.no_grad():
                inputs = module.weight[0].numel()
                module.weight.copy_(torch.randn(module.weight.shape, generator=generator) / math.sqrt(inputs))
                if module.bias is not None:
                    module.bias.zero_()


def make_replica(case, rank):
    maker, shape = pytorch_steps.MODELS[case["model"]]
    model = maker().train()
    initialise(model, case["seed"])
    model = pytorch_job.wrap(model.to(memory_format=layout_of(case)))
    optimizer = torch.optim.SGD(model.parameters(), lr=case["lr"], momentum=case["momentum"], fused=True)
    if case["method"] == "post-local-sgd":
        alone = [torch.distributed.new_group([each]) for each in range(torch.distributed.get_world_size())]
        state = PostLocalSGDState(process_group=None, subgroup=alone[rank], start_localSGD_iter=0,
                                  post_local_gradient_allreduce=False)
        model.register_comm_hook(state, post_localSGD_hook)
        optimizer = PostLocalSGDOptimizer(optimizer, PeriodicModelAverager(period=case["tau"], warmup_steps=case["tau"] - 1))
    return model, optimizer, shape[-1]


def deal(case, rank, ranks, size):
    """Yields this rank's indices for each step, without end: its shard of the step's part of the epoch's
    permutation."""
    generator = torch.Generator()
    whole = case["batch"] * ranks
    for epoch in range(10**9):
        order = torch.randperm(size, generator=generator.manual_seed(1000 * case["seed"] + epoch))
        for begin in range(0, size - whole + 1, whole):
            yield order[begin + rank * case["batch"]:begin + (rank + 1) * case["batch"]]


def evaluate(model, images, rank, ranks):
    """Accuracy on the whole test set. Each rank scores its part with its own parameters, which are equal after
    averaging."""
    model.eval()
    correct = torch.zeros(1)
    with torch.no_grad():
        for inputs, labels in images.test_batches(rank, ranks):
            correct += (model.module(inputs).argmax(1) == labels).sum()
    model.train()
    torch.distributed.all_reduce(correct)
    return correct.item() / len(images.test[1])


def train(case, rank, ranks):
    torch.manual_seed(1000 * case["seed"] + rank)  # dropout
    model, optimizer, side = make_replica(case, rank)
    images = Images(case["dataset"], pathlib.Path(case["data"]), side, layout_of(case))
    crops = torch.Generator().manual_seed(1000 * case["seed"] + rank)
    seconds, accuracy = 0.0, 0.0
    marks = []
    torch.distributed.barrier()
    start = time.perf_counter()
    for step, indices in enumerate(deal(case, rank, ranks, len(images.train[1])), 1):
        inputs, labels = images.train_batch(indices, crops)
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
        if step == case["warm_up"]:
            start, seconds = time.perf_counter(), 0.0
        if step % case["evaluate_every"] and step != case["steps"]:
            continue
        torch.distributed.barrier()
        seconds += time.perf_counter() - start
        if case["target"]:
            assert case["method"] != "post-local-sgd" or step % case["tau"] == 0, "replicas differ between averages"
            accuracy = evaluate(model, images, rank, ranks)
            marks.append([step, seconds, accuracy])
        if step == case["steps"] or (case["target"] and accuracy >= case["target"]):
            return {"steps": step, "seconds": seconds, "accuracy": accuracy, "marks": marks}
        torch.distributed.barrier()
        start = time.perf_counter()


def main():
    rank, ranks, address, port, case = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4], json.loads(sys.argv[5])
    pytorch_job.join(rank, ranks, address, port)
    result = train(case, rank, ranks)
    if rank == 0:
        print(json.dumps(result | {"torch": torch.__version__}), flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
