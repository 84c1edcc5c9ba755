"""Writes data sets whose samples eave visits in a chosen order, although it shuffles.

In its first pass eave visits the places of a set in an order that depends only on --seed and the size. The functions
here put a sample at each place so that the visits yield the order of a program with a mistake in its data loading.
"""
import gzip
import random
import struct

from trial import FASHION_MNIST

MASK = 0xFFFFFFFF
SHUFFLE = 2  # Purpose::kShuffle of eave/random.h
SIDE = 28


def philox(words, key):
    """Philox4x32-10 (Salmon et al., SC 2011)."""
    (a, b, c, d), (low, high) = words, (key & MASK, key >> 32)
    for _ in range(10):
        left, right = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = (right >> 32) ^ b ^ low, right & MASK, (left >> 32) ^ d ^ high, left & MASK
        low, high = (low + 0x9E3779B9) & MASK, (high + 0xBB67AE85) & MASK
    return a, b, c, d


def words_of(seed):
    mixed = philox((SHUFFLE, 0, 0, 0), seed)
    for block in range(1 << 32):
        yield from philox((0, 0, block, 0), mixed[0] | mixed[1] << 32)


def visits(size, seed):
    """A list whose k-th element is the place in the set that --sampling shard visits k-th in its first pass."""
    places, words = list(range(size)), words_of(seed)
    for left in range(size, 1, -1):
        product = next(words) * left
        while product & MASK < (1 << 32) % left:
            product = next(words) * left
        places[left - 1], places[product >> 32] = places[product >> 32], places[left - 1]
    return places


def read_fashion(stem, count):
    with gzip.open(FASHION_MNIST / f"{stem}-images-idx3-ubyte.gz") as images, \
            gzip.open(FASHION_MNIST / f"{stem}-labels-idx1-ubyte.gz") as labels:
        images.read(16), labels.read(8)
        return [images.read(SIDE * SIDE) for _ in range(count)], labels.read(count)


def draw_bars(count, seed):
    """Draws images of noise with a bright bar, whose height in the image is the class."""
    numbers, images, labels = random.Random(seed), [], bytearray()
    for _ in range(count):
        label, noise = numbers.randrange(10), bytearray(numbers.randbytes(SIDE * SIDE))
        noise[2 * label * SIDE:(2 * label + 4) * SIDE] = b"\xff" * (4 * SIDE)
        images.append(bytes(noise))
        labels.append(label)
    return images, bytes(labels)


def write(folder, stem, images, labels):
    head = struct.pack(">4I", 0x803, len(images), SIDE, SIDE)
    (folder / f"{stem}-images-idx3-ubyte").write_bytes(head + b"".join(images))
    (folder / f"{stem}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x801, len(labels)) + bytes(labels))


class Pictures:
    """The first `count` images of Fashion-MNIST; if `made` or if it is not installed, images drawn here."""

    def __init__(self, count, test_count, made):
        made = made or not FASHION_MNIST.is_dir()
        self.images, self.labels = draw_bars(count, 1) if made else read_fashion("train", count)
        self.test = draw_bars(test_count, 2) if made else read_fashion("t10k", test_count)

    def write(self, folder, order=None, seed=1):
        """Writes a set for --data fashion-mnist --data-dir. A run with that seed visits sample order[k] as its k-th."""
        chosen = list(range(len(order or self.images)))
        if order:
            for place, sample in zip(visits(len(order), seed), order):
                chosen[place] = sample
        folder.mkdir()
        write(folder, "train", [self.images[sample] for sample in chosen], bytes(self.labels[sample] for sample in chosen))
        write(folder, "t10k", *self.test)
        return folder


def in_parts(order, parts):
    return [order[len(order) * part // parts:len(order) * (part + 1) // parts] for part in range(parts)]


def deal(shards, batch):
    """The order in which ranks take samples, batch by batch and step by step. Each rank has one of the `shards`, all of
    the same size."""
    return [sample for first in range(0, len(shards[0]), batch) for shard in shards for sample in shard[first:first + batch]]


def wrong_order(kind, labels, ranks, batch, seed):
    """The order of samples that a mistake would cause, by `kind`:
    sorted: sorted by class
    batches: batches of the sorted set, shuffled
    classes: each rank has its own classes
    same: all ranks have the same samples, one part in `ranks` of all
    passes: three passes over a third of all samples
    again: three passes over a third of all samples, in the same order"""
    numbers, by_class = random.Random(seed), sorted(range(len(labels)), key=lambda sample: labels[sample])
    if kind == "sorted":
        return by_class
    if kind == "same":
        return deal([numbers.sample(by_class, len(by_class) // ranks)] * ranks, batch)
    if kind in ("passes", "again"):
        once = numbers.sample(by_class, len(by_class) // 3)
        return once * 3 if kind == "again" else once + [sample for _ in range(2) for sample in numbers.sample(once, len(once))]
    shards = in_parts(by_class, ranks if kind == "classes" else len(by_class) // batch)
    if kind == "batches":
        numbers.shuffle(shards)
        return sum(shards, [])
    for shard in shards:
        numbers.shuffle(shard)
    return deal(shards, batch)
