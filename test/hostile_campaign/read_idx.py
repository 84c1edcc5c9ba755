"""Reads IDX files and CIFAR-10 with Python's gzip and NumPy. It must accept all files that eave accepts, with equal
values."""
import gzip
import pathlib
import struct
import zlib

import numpy

from read_run import Refused

NAMES = {"train_images": "train-images-idx3-ubyte", "train_labels": "train-labels-idx1-ubyte",
         "test_images": "t10k-images-idx3-ubyte", "test_labels": "t10k-labels-idx1-ubyte"}
SCALES = {"mnist": (0.1307, 0.3081), "fashion-mnist": (0.2860, 0.3530)}  # published mean and standard deviation
CIFAR_SCALE = (numpy.array([0.4914, 0.4822, 0.4465]), numpy.array([0.2470, 0.2435, 0.2616]))


def content_of(path):
    if not pathlib.Path(path).is_file():  # a FIFO or a device has no end
        raise Refused(f"{path} is no file")
    data = pathlib.Path(path).read_bytes()
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error, struct.error) as error:
        raise Refused(f"{path}: {error}") from error


def read_array(path, dimensions):
    data = content_of(path)
    if len(data) < 4 + 4 * dimensions or data[:4] != bytes([0, 0, 8, dimensions]):
        raise Refused(f"{path}: no IDX header")
    shape = struct.unpack(f">{dimensions}I", data[4:4 + 4 * dimensions])
    values = numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * dimensions)
    count = 1
    for extent in shape:
        count *= extent
    if count != values.size or not count:
        raise Refused(f"{path}: {shape} are not {values.size} values")
    return values.reshape(shape)


def find(directory, name):
    stem = NAMES[name]
    dotted = stem.replace("-idx", ".idx")
    for each in (stem, stem + ".gz", dotted, dotted + ".gz"):
        if (pathlib.Path(directory) / each).exists():
            return pathlib.Path(directory) / each
    raise Refused(f"no {name}")


def read_set(directory):
    """Returns images and labels of the training and the test part."""
    part = {}
    for name in NAMES:
        part[name] = read_array(find(directory, name), 3 if name.endswith("images") else 1)
    for images, labels in (("train_images", "train_labels"), ("test_images", "test_labels")):
        if len(part[images]) != len(part[labels]):
            raise Refused(f"{len(part[images])} images, {len(part[labels])} labels")
        if part[labels].max() > 9:
            raise Refused("a label above 9")
    if part["train_images"].shape[1:] != part["test_images"].shape[1:]:
        raise Refused("images of two sizes")
    return part


def read_cifar(directory):
    """Returns the same as read_set, for CIFAR-10."""
    files = [pathlib.Path(directory) / f"data_batch_{i}.bin" for i in range(1, 6)] + [pathlib.Path(directory) / "test_batch.bin"]
    records = []
    for path in files:
        data = path.read_bytes()
        if len(data) != 10000 * 3073:
            raise Refused(f"{path}: {len(data)} bytes")
        records.append(numpy.frombuffer(data, numpy.uint8).reshape(10000, 3073))
        if records[-1][:, 0].max() > 9:
            raise Refused(f"{path}: a label above 9")
    return {"test_labels": records[5][:, 0], "test_records": records[5],
            "train_labels": numpy.concatenate([each[:, 0] for each in records[:5]])}
