"""Trials with folders of images: damaged, foreign, oddly named, and of many forms of JPEG and PNG."""
import os
import pathlib
import shutil
import struct
import zlib

import numpy
from PIL import Image

import bases as good
import kind_data
import linear
import mutations
from calls import Call
from plan import Plan, on_success

IMAGE_SIDE = 8
MEAN, DEVIATION = numpy.array([0.485, 0.456, 0.406]), numpy.array([0.229, 0.224, 0.225])
TOLERANCE = 0.02  # decoders and resizing may round differently, by one or two of 255
CLASSES = ["ants", "bees", "cats"]


def _forms(rng):
    """Returns a valid image, its ending, and its form in words."""
    width, height = rng.choice([1, 2, 7, 8, 31, 200]), rng.choice([1, 3, 8, 17, 120])
    image = good.picture(rng, width, height)
    image, options, ending, what = rng.choice([
        (image.convert("L"), {}, "jpg", "a grey JPEG"),
        (image, {"subsampling": rng.choice([0, 1, 2]), "progressive": True}, "jpg", "a progressive JPEG"),
        (image.convert("L"), {}, "png", "a grey PNG"),
        (image.convert("P", palette=Image.Palette.ADAPTIVE), {}, "png", "a PNG with a palette"),
        (image.convert("1"), {}, "png", "a PNG of one bit"),
        (image, {"optimize": True}, "PNG", "a PNG"),
        (image, {"exif": b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0"}, "JPG", "a turned JPEG"),
        (image, {"comment": b"\x1b[2J\x1b]0;x\x07"}, "jpeg", "a JPEG with a comment"),
        (image, {"restart_marker_blocks": 1}, "jpg", "a JPEG with restarts")])
    form, options = ("PNG", options) if ending.lower() == "png" else ("JPEG", options | {"quality": 95})
    return good.encoded(image, form, **options), ending, what


def _png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _large(rng):
    """Returns a small file that declares many pixels."""
    side = rng.choice([8192, 20000, 65535, 2**31 - 1])
    header = _png_chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
    data = _png_chunk(b"IDAT", zlib.compress(bytes(100_000)))
    return b"\x89PNG\r\n\x1a\n" + header + data + _png_chunk(b"IEND", b""), "png", f"{side} x {side} pixels declared", False


def _damaged_png(rng, data):
    """Changes a chunk and makes its checksum right, so that libpng itself has to find the damage."""
    chunks, place = [], 8
    while place < len(data):
        length, = struct.unpack(">I", data[place:place + 4])
        chunks.append((data[place + 4:place + 8], data[place + 8:place + 8 + length]))
        place += 12 + length
    at = rng.randrange(len(chunks))
    name, content = chunks[at]
    content, what = mutations.damage_bytes(rng, content)
    chunks[at] = (name, content)
    return data[:8] + b"".join(_png_chunk(*each) for each in chunks), f"{name.decode()}: {what}"


def _new_content(rng, data, ending):
    """Returns bytes, ending, the change in words, and whether the image is valid."""
    kind = rng.random()
    if kind < 0.25:
        data, ending, what = _forms(rng)
        return data, ending, what, True
    if kind < 0.30:
        return _large(rng)
    if kind < 0.40 and ending == "png":
        data, what = _damaged_png(rng, data)
    else:
        data, what = mutations.damage_bytes(rng, data)
    return data, ending, what, False


def _odd_neighbour(rng, folder):
    """Puts a file that is no image beside images. eave names it and passes over it."""
    name = rng.choice(["notes.txt", "Thumbs.db", "desktop.ini", "README", ".DS_Store", "labels.csv", "x.jpg.bak"])
    (folder / name).write_bytes(rng.choice([b"", b"hello\n", bytes(100)]))
    return f"{name} beside images", True


def _odd_name(rng, folder):
    path = sorted(folder.iterdir())[0]
    name = rng.choice(["\x1b[2Jred", "a\u202egpj", "line\nbreak", "é", "-rf", "a b", "x" * 200, "%s%n", "<script>", "'q'"])
    os.rename(path, folder / (name + path.suffix))
    return f"an image named {name[:20]!a}", True


def _odd_class(rng, directory):
    name = rng.choice(["\x1b[31mred", "a\u202eb", "b\nc", "zé", "z z", "x" * 200, "z\"", "-z"])
    for part in ("train", "test"):
        os.rename(directory / part / "cats", directory / part / name)
    return f"a class named {name[:20]!a}", True


def _odd_entry(rng, folder):
    path = folder / ("odd." + rng.choice(["jpg", "png"]))
    return mutations.put_odd(rng, path, ["a FIFO", "a dangling link", "a directory", "a link to /dev/zero"]) + " among images", False


def _damage(rng, directory):
    folder = directory / rng.choice(["train", "train", "test"]) / rng.choice(CLASSES)
    kind = rng.random()
    if kind < 0.08:
        return _odd_neighbour(rng, folder)
    if kind < 0.16:
        return _odd_name(rng, folder)
    if kind < 0.22:
        return _odd_class(rng, directory)
    if kind < 0.28:
        return _odd_entry(rng, folder)
    path = rng.choice(sorted(folder.iterdir()))
    data, ending, what, whole = _new_content(rng, path.read_bytes(), path.suffix[1:])
    path.unlink()
    (folder / f"{path.stem}.{ending}").write_bytes(data)
    return f"{path.parent.parent.name}/{path.parent.name}/{path.name}: {what}", whole


def _pixels(path):
    """Reads an image with Pillow: its centred square, resized with a triangle of weights (bilinear)."""
    with Image.open(path) as image:
        if image.format not in ("JPEG", "PNG"):
            raise ValueError(f"{path.name} is {image.format}")
        image.load()
        if image.mode.startswith("I"):
            image = Image.fromarray((numpy.asarray(image) >> 8).astype(numpy.uint8))
        if image.mode in ("RGBA", "LA", "PA"):
            image = image.convert("RGBA")
            image = Image.merge("RGB", image.split()[:3])
        image = image.convert("RGB")
    side = min(image.size)
    left, upper = (image.size[0] - side) / 2, (image.size[1] - side) / 2
    small = image.resize((IMAGE_SIDE, IMAGE_SIDE), Image.Resampling.BILINEAR, (left, upper, left + side, upper + side))
    return numpy.asarray(small)


def _is_image(path):
    return path.suffix.lower() in (".jpg", ".jpeg", ".png") and not path.name.startswith(".")


def _pixels_or_good(path, good_ones):
    """eave may accept damage that changes no pixel, such as damage after the last pixel. So if Pillow refuses an image,
    its pixels must be those of the good image."""
    try:
        return _pixels(path)
    except Exception:
        if path.stem not in good_ones:
            raise
        return _pixels(good_ones[path.stem])


def _read_part(directory, good_ones):
    classes = sorted(os.listdir(os.fsencode(directory)))
    images, labels = [], []
    for label, name in enumerate(classes):
        for path in sorted(pathlib.Path(os.fsdecode(os.path.join(os.fsencode(directory), name))).iterdir()):
            if _is_image(path):
                images.append(_pixels_or_good(path, good_ones))
                labels.append(label)
    return numpy.array(images), numpy.array(labels)


def _check(run, directory, arrays, good_ones):
    @on_success
    def check(outcomes):
        scores, told = {}, []
        for part in ("train", "test"):
            try:
                images, labels = _read_part(directory / part, good_ones)
            except Exception as why:
                return [f"SILENT: trained on what Pillow refuses: {why}"]
            scores[part] = linear.score(images, labels, arrays, MEAN, DEVIATION)
            counts = kind_data.header_of(run)
            if counts[f"{part}_samples"] != len(images):
                told.append(f"SILENT: {part}_samples is {counts[f'{part}_samples']}, not {len(images)}")
        return told + kind_data.compare_scores(run, scores, TOLERANCE)
    return check


def make_image(rng, place, base):
    directory = place.inputs / "photographs"
    shutil.copytree(base.images, directory)
    what, whole = _damage(rng, directory)
    good_ones = {path.stem: path for path in base.images.rglob("*") if path.is_file() and "declared" not in what}
    arrays = linear.parameters(rng, IMAGE_SIDE * IMAGE_SIDE * 3, len(CLASSES))
    run = place.out / "run"
    words = ["train", "--data", "image-folder", "--data-dir", directory, "--image-size", IMAGE_SIDE, "--decode-threads", 1, "--batch", 100,
             *kind_data.model_and_one_step(place, run, arrays, (IMAGE_SIDE, IMAGE_SIDE, 3), len(CLASSES))]
    return Plan([Call(words, promised=whole)], what, ["photographs"], ["out/run"], _check(run, directory, arrays, good_ones),
                bounds={"memory_mib": 400}, input_bytes=100_000)
