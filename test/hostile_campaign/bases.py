"""Makes good inputs once for a campaign. The kinds damage copies of them."""
import gzip
import io
import json
import pathlib
import random
import shutil
import struct

import numpy
from PIL import Image

import calls
import linear
import place as places
import read_idx

SYNTHETIC = ["--data", "synthetic", "--synthetic-size", "8", "--synthetic-samples", "96", "--synthetic-test-samples", "32"]
MODEL = ["--model", "flatten; dense classes"]
RUNS = {  # maps a name to options; all these runs are deterministic
    "allreduce": ["--batch", "4", "--epochs", "2", "--evaluate-every", "0.5", "--checkpoint-every", "8"],
    "easgd": ["--communicator", "easgd", "--tau", "2", "--transport", "threads", "--ranks", "2", "--batch", "2", "--epochs", "2"],
    "async": ["--communicator", "easgd-async", "--tau", "2", "--transport", "threads", "--ranks", "2", "--batch", "2", "--epochs", "2"]}
RESUMED = ["--batch", "8", "--max-steps", "12", "--evaluate-every", "0", "--checkpoint-every", "4", "--keep", "9", "--epochs", "1"]
COMPARISON = [*SYNTHETIC, *MODEL, "--communicators", "easgd:tau=2", "--transport", "threads", "--ranks", "2", "--seeds", "1",
              "--budget", "epochs=1", "--batch", "16"]
SIDE = 8


def _gray_images(draw, count):
    return draw.integers(0, 256, (count, SIDE, SIDE), dtype=numpy.uint8)


def idx_bytes(array):
    return bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def _make_idx(directory):
    draw = numpy.random.default_rng(1)
    directory.mkdir()
    for name, array in {"train_images": _gray_images(draw, 40), "train_labels": draw.integers(0, 10, 40, dtype=numpy.uint8),
                        "test_images": _gray_images(draw, 24), "test_labels": draw.integers(0, 10, 24, dtype=numpy.uint8)}.items():
        (directory / read_idx.NAMES[name]).write_bytes(idx_bytes(array))


def _make_cifar(directory):
    """Writes CIFAR-10 files. Nearly all records are zeros, so the files take little room."""
    draw = random.Random(2)
    directory.mkdir()
    for name in [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]:
        with open(directory / name, "wb") as file:
            file.truncate(10000 * 3073)
            for _ in range(20):
                file.seek(draw.randrange(10000) * 3073)
                file.write(bytes([draw.randrange(10)]) + draw.randbytes(3072))


def picture(draw, width, height, mode="RGB"):
    """Draws a smooth picture, so that a codec's loss is small."""
    y, x = numpy.mgrid[0:height, 0:width]
    waves = [127 + 100 * numpy.sin(x / draw.uniform(3, 9) + draw.uniform(0, 6)) * numpy.cos(y / draw.uniform(3, 9)) for _ in range(3)]
    return Image.fromarray(numpy.stack(waves, -1).astype(numpy.uint8), "RGB").convert(mode)


def encoded(image, form, **options):
    stream = io.BytesIO()
    image.save(stream, form, **options)
    return stream.getvalue()


def _make_images(directory):
    draw, number = random.Random(3), 0
    for part, count in (("train", 4), ("test", 2)):
        for label in ("ants", "bees", "cats"):
            folder = directory / part / label
            folder.mkdir(parents=True)
            for _ in range(count):
                number += 1
                image = picture(draw, draw.randrange(9, 40), draw.randrange(9, 40))
                form, ending, options = draw.choice([("PNG", "png", {}), ("JPEG", "jpg", {"quality": 95}),
                                                     ("JPEG", "jpeg", {"quality": 90, "progressive": True})])
                (folder / f"{number:03}.{ending}").write_bytes(encoded(image, form, **options))


def _run(eave, place, words):
    outcome = calls.run(eave, calls.Call(words), place)
    if outcome.code != 0:
        raise RuntimeError(f"a good run failed: {words}\n{outcome.err.decode()}")
    return outcome


class Bases:
    """The paths of the good inputs, below one directory."""

    def __init__(self, directory, eave):
        self.directory, self.eave = pathlib.Path(directory), eave
        self.idx, self.cifar, self.images = (self.directory / name for name in ("idx", "cifar", "images"))
        self.catalogue = []

    def make(self):
        self.directory.mkdir(parents=True)
        _make_idx(self.idx)
        _make_cifar(self.cifar)
        _make_images(self.images)
        place = places.Place(self.directory / "making")
        for name, options in RUNS.items():
            _run(self.eave, place, ["train", *SYNTHETIC, *MODEL, *options, "--run-dir", self.run(name)])
        _run(self.eave, place, ["train", *SYNTHETIC, *MODEL, *RESUMED, "--run-dir", self.run("whole")])
        _run(self.eave, place, ["compare", *COMPARISON, "--output", self.directory / "comparison"])
        self._interrupt()
        linear.write_model(self.model(), linear.parameters(random.Random(4), SIDE * SIDE, 10), (SIDE, SIDE, 1), 10)
        help_text = _run(self.eave, place, ["help", "--format", "markdown"]).out.decode()
        (self.directory / "options.md").write_text(help_text, encoding="utf-8")
        place.remove()

    def run(self, name):
        return self.directory / "run" / name

    def model(self):
        return self.directory / "model.safetensors"

    def _interrupt(self):
        """Makes a run directory as SIGKILL after step 8 would leave it."""
        target = self.run("interrupted")
        shutil.copytree(self.run("whole"), target)
        for name in ("summary.json", "model.safetensors"):
            (target / name).unlink()
        shutil.rmtree(target / "checkpoint" / "step-000012")
        lines = (target / "metrics.jsonl").read_text().splitlines(keepends=True)
        kept = [line for line in lines if json.loads(line)["type"] == "header" or
                json.loads(line)["type"] == "step" and json.loads(line)["step"] <= 9]
        (target / "metrics.jsonl").write_text("".join(kept))


def packed(data):
    return gzip.compress(data, mtime=0)
