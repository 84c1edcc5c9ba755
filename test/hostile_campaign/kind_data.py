"""Trials with data sets of IDX files, plain and packed, and with CIFAR-10."""
import gzip
import os
import shutil
import struct

import numpy

import bases as good
import linear
import mutations
import read_idx
import read_run
from calls import Call
from plan import Plan, on_success

IMPOSSIBLE = 10**6  # for shapes with more values than this, the trial makes no model file


def _pack(rng, data):
    """Packs the data into a valid gzip file of an odd form, or into an invalid one."""
    whole, middle = good.packed(data), rng.randrange(len(data) + 1)
    return rng.choice([
        (good.packed(data[:middle]) + good.packed(data[middle:]), "packed in two members", True),
        (whole + bytes(rng.choice([1, 8, 512, 70000])), "padded with zeros", True),
        (whole[:3] + b"\x08" + whole[4:10] + b"a name\0" + whole[10:], "with a name in its header", True),
        (good.packed(b"") + whole + good.packed(b""), "between two empty members", True),
        (whole[:-4] + struct.pack("<I", rng.choice([0, 1, len(data) + 1, 2**32 - 1])), "with a wrong length at its end", False),
        (whole[:-8] + rng.randbytes(4) + whole[-4:], "with a wrong checksum", False),
        (good.packed(whole), "packed twice", False),
        (good.packed(data + bytes(1)), "a byte longer inside", False),
        (whole + rng.choice([b"x", b"\x1f\x8b", rng.randbytes(40)]), "with garbage behind", False)])


def _odd_header(rng, data):
    """Changes one number of an IDX header."""
    count = data[3]
    at = 4 * rng.randrange(1, count + 1)
    old = int.from_bytes(data[at:at + 4], "big")
    new = rng.choice([0, 1, old - 1, old + 1, old * 2, 2**16, 2**24, 2**31 - 1, 2**31, 2**32 - 1])
    return data[:at] + struct.pack(">I", new) + data[at + 4:], f"number at {at} is {new}"


def _bomb(rng, name):
    """Returns a file that is small when packed and large when unpacked. Its header agrees with its content."""
    millions = rng.choice([50, 200])
    images = millions * 10**6 // 64
    shape = (images, 8, 8) if name.endswith("images") else (millions * 10**6,)
    header = bytes([0, 0, 8, len(shape)]) + struct.pack(f">{len(shape)}I", *shape)
    return gzip.compress(header + bytes(millions * 10**6), 1), f"packed zeros, {millions} MB", False


def _damage(rng, directory, name):
    """Damages one file. Returns its new ending, its bytes, the damage in words, and whether the file is still valid."""
    data = (directory / read_idx.NAMES[name]).read_bytes()
    kind, ending = rng.random(), ".gz" if rng.random() < 0.5 else ""
    if kind < 0.04:
        return ".gz", *_bomb(rng, name)
    if kind < 0.30:
        return ".gz", *_pack(rng, data)
    if kind < 0.40:
        data, what = _odd_header(rng, data)
        return ending, good.packed(data) if ending else data, what, False
    if kind < 0.45:
        return ".gz", data, "not packed, though named .gz", True
    if kind < 0.50:
        return "", good.packed(data), "packed, though not named .gz", True
    if ending and rng.random() < 0.7:
        data, what = mutations.damage_bytes(rng, good.packed(data))
    else:
        data, what = mutations.damage_bytes(rng, data)
        data = good.packed(data) if ending else data
    return ending, data, what, False


def _more_tests(directory):
    """Swaps training and test images. The set is valid, but has more test images than training images."""
    for part in ("images", "labels"):
        train, test = (directory / read_idx.NAMES[f"{which}_{part}"] for which in ("train", "test"))
        train.rename(directory / "x")
        test.rename(train)
        (directory / "x").rename(test)


def _odd_file(rng, directory, name):
    """Puts something odd in the place of a file, such as a FIFO, a directory or a link."""
    path, other = directory / read_idx.NAMES[name], directory.parent / "elsewhere"
    path.rename(other)
    if rng.randrange(6) == 0:
        path.symlink_to(other)
        return "a link to the file", True
    return mutations.put_odd(rng, path), False


def model_and_one_step(place, run, arrays, image, classes=10):
    """Writes a model, and returns the words that train it for a step that changes nothing. So the run's losses are those
    of the model on the data that eave has read."""
    linear.write_model(place.inputs / "model.safetensors", arrays, image, classes)
    return [*one_step(run), "--initial-parameters", place.inputs / "model.safetensors"]


def one_step(run):
    return [*good.MODEL, "--max-steps", 1, "--lr", "1e-30", "--momentum", 0, "--run-dir", run, "--checkpoint", "off"]


def _fits(part):
    shape = part["train_images"].shape
    return shape[1] * shape[2] * 10 <= IMPOSSIBLE and max(len(part["train_images"]), len(part["test_images"])) <= 20000


def header_of(run):
    return read_run.read_metrics(run / "metrics.jsonl")[0]


def compare_scores(run, expected, tolerance=linear.TOLERANCE):
    """Compares evaluation and training loss of a run of one step with NumPy's."""
    told = []
    lines = read_run.read_metrics(run / "metrics.jsonl")
    evaluation = [line for line in lines if line["type"] == "evaluation"][-1]["center"]
    for name, value, wanted in (("test loss", evaluation["loss"], expected["test"][0]),
                                ("training loss", _training_loss(lines), expected.get("train", (None,))[0])):
        if wanted is not None and value is not None and abs(value - wanted) > tolerance * max(1, abs(wanted)):
            told.append(f"SILENT: {name} is {value}, by independent readers {wanted}")
    return told


def _training_loss(lines):
    steps = [line for line in lines if line["type"] == "step"]
    return steps[0]["loss"] if len(steps) == 1 and len({line["rank"] for line in steps}) == 1 else None


def _check(run, directory, arrays, data):
    mean, deviation = read_idx.SCALES[data]

    @on_success
    def check(outcomes):
        part = read_idx.read_set(directory)
        header, told = header_of(run), []
        counts = numpy.bincount(part["train_labels"], minlength=10).tolist()
        found = numpy.sum([rank["class_histogram"] for rank in header["ranks"]], axis=0).tolist()
        for name, value, wanted in (("train_samples", header["train_samples"], len(part["train_images"])),
                                    ("test_samples", header["test_samples"], len(part["test_images"])), ("class_histogram", found, counts)):
            if value != wanted:
                told.append(f"SILENT: {name} is {value}, by an independent reader {wanted}")
        scores = {which: linear.score(part[f"{which}_images"], part[f"{which}_labels"], arrays, mean, deviation)
                  for which in ("train", "test")}
        return told + compare_scores(run, scores)
    return check


def make_idx(rng, place, base):
    directory, data = place.inputs / "set", rng.choice(["mnist", "fashion-mnist"])
    shutil.copytree(base.idx, directory)
    name = rng.choice(sorted(read_idx.NAMES))
    kind, names = rng.random(), [read_idx.NAMES[name], str(directory)]
    if kind < 0.08:
        _more_tests(directory)
        what, whole = "more test than training images", True
    elif kind < 0.16:
        what, whole = _odd_file(rng, directory, name)
    else:
        ending, content, what, whole = _damage(rng, directory, name)
        (directory / read_idx.NAMES[name]).unlink()
        (directory / (read_idx.NAMES[name] + ending)).write_bytes(content)
    return _train_idx(rng, place, directory, data, f"{name}: {what}", whole, names + list(read_idx.NAMES.values()))


def _train_idx(rng, place, directory, data, what, whole, names):
    shape, samples = (good.SIDE, good.SIDE), 40
    try:
        part = read_idx.read_set(directory)
        if _fits(part):
            shape, samples = part["train_images"].shape[1:], len(part["train_images"])
    except (read_idx.Refused, OSError):
        pass
    arrays = linear.parameters(rng, shape[0] * shape[1], 10)
    run, ranks = place.out / "run", rng.choice([1, 1, 1, 2, 2])
    words = ["train", "--data", data, "--data-dir", directory, *model_and_one_step(place, run, arrays, (*shape, 1)),
             "--batch", samples if ranks == 1 else max(1, samples // 2)]
    words += ["--transport", "threads", "--ranks", 2] if ranks == 2 else []
    size = sum(path.lstat().st_size for path in directory.iterdir())
    call = Call(words, promised=whole, ranks=2 if rng.random() < 0.04 and ranks == 1 else 0)
    return Plan([call], what, names + [str(place.inputs / "model.safetensors")], ["out/run"], _check(run, directory, arrays, data),
                input_bytes=size)


def _damage_cifar(rng, path):
    """Damages the file in place, because it is large."""
    kind = rng.randrange(5)
    with open(path, "r+b") as file:
        if kind == 0:
            file.truncate(rng.choice([0, 1, 3072, 3073, 10000 * 3073 - 1, 9999 * 3073, 10000 * 3073 + 1, 10001 * 3073]))
            return "of another length", False
        file.seek(rng.randrange(10000) * 3073 + (0 if kind < 3 else rng.randrange(1, 3073)))
        byte = rng.choice([9, 10, 127, 255]) if kind < 3 else rng.randrange(256)
        file.write(bytes([byte]))
        return (f"a label {byte}", byte == 9) if kind < 3 else (f"a pixel {byte}", True)


def make_cifar(rng, place, base):
    directory = place.inputs / "cifar"
    directory.mkdir()
    names = sorted(path.name for path in base.cifar.iterdir())
    name = rng.choice(names)
    for each in names:
        if each == name:
            with open(directory / each, "wb") as file:
                file.truncate((base.cifar / each).stat().st_size)
            os.system(f"cp --sparse=always '{base.cifar / each}' '{directory / each}'")
        else:
            (directory / each).symlink_to(base.cifar / each)
    if rng.random() < 0.25:
        content, what = mutations.impersonate(rng, b"")
        (directory / name).write_bytes(content)
        whole = False
    else:
        what, whole = _damage_cifar(rng, directory / name)
    arrays = linear.parameters(rng, 3072, 10)
    run = place.out / "run"
    words = ["train", "--data", "cifar10", "--data-dir", directory, *model_and_one_step(place, run, arrays, (32, 32, 3))]

    @on_success
    def check(outcomes):
        part = read_idx.read_cifar(directory)
        images = part["test_records"][:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        found = header_of(run)["ranks"][0]["class_histogram"]
        wanted = numpy.bincount(part["train_labels"], minlength=10).tolist()
        told = [] if found == wanted else [f"SILENT: class_histogram is {found}, not {wanted}"]
        return told + compare_scores(run, {"test": _score_sparse(images, part["test_labels"], arrays)})
    return Plan([Call(words, promised=whole)], f"{name}: {what}", [name, str(directory)], ["out/run"], check,
                input_bytes=30_730_000, bounds={"memory_mib": 200})


def _score_sparse(images, labels, arrays):
    """Computes the same loss as linear.score. Most records are zeros, so it computes their loss once for each label."""
    zeros = ~images.reshape(len(images), -1).any(axis=1)
    total = 0.0
    if (~zeros).any():
        loss, _ = linear.score(images[~zeros], labels[~zeros], arrays, *read_idx.CIFAR_SCALE)
        total += loss * int((~zeros).sum())
    black = numpy.zeros((1, 32, 32, 3), numpy.uint8)
    for label in numpy.unique(labels[zeros]):
        loss, _ = linear.score(black, numpy.array([label]), arrays, *read_idx.CIFAR_SCALE)
        total += loss * int((zeros & (labels == label)).sum())
    return total / len(images), None
