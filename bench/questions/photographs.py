"""Makes a small folder of photographs in ten classes for the dataset image-folder: train/CLASS/NUMBER.png and
test/CLASS/NUMBER.png.

They are those of CIFAR-10 (binary version) if its directory is given. Otherwise they are patterns under noise: coloured
stripes whose slope and width depend on the class.
"""
import pathlib
import random
import struct
import zlib

SIDE, CLASSES = 32, 10
RECORD = 1 + 3 * SIDE * SIDE
NOISE = int.from_bytes(b"\x3f" * 3 * SIDE * SIDE, "little")


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(pixels):
    """A PNG file of SIDE x SIDE pixels of 3 bytes."""
    rows = b"".join(b"\0" + pixels[3 * SIDE * y:3 * SIDE * (y + 1)] for y in range(SIDE))
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")


def of_cifar(path):
    """Yields (class, pixels) of each record of a CIFAR-10 file: a byte, then planes of red, green and blue."""
    whole = path.read_bytes()
    for start in range(0, len(whole), RECORD):
        planes = whole[start + 1:start + RECORD]
        pixels = bytearray(3 * SIDE * SIDE)
        for colour in range(3):
            pixels[colour::3] = planes[colour * SIDE * SIDE:(colour + 1) * SIDE * SIDE]
        yield whole[start], bytes(pixels)


def patterns(count, seed):
    noise = random.Random(seed)
    for number in range(count):
        label = number % CLASSES
        width, slope, begin = 3 + label // 2, 1 + 2 * (label % 2), noise.randrange(SIDE)
        line = b"".join(bytes((0xC0, 0x40, 0x80) if x // width % 2 else (0x40, 0x80, 0xC0)) for x in range(8 * SIDE))
        rows = b"".join(line[3 * (begin + slope * y):][:3 * SIDE] for y in range(SIDE))
        blurred = int.from_bytes(rows, "little") & ~NOISE | noise.getrandbits(8 * len(rows)) & NOISE
        yield label, blurred.to_bytes(len(rows), "little")


def write(folder, images, most):
    """Writes at most `most` images; returns the number of images of each class."""
    counts = [0] * CLASSES
    for label, pixels in images:
        if sum(counts) == most:
            break
        place = folder / f"class{label}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{counts[label]:05}.png").write_bytes(png(pixels))
        counts[label] += 1
    return counts


def make(folder, train, test, cifar=None):
    """Writes `train` and `test` images to `folder`. `cifar` is the directory of CIFAR-10's six .bin files; None draws
    patterns."""
    folder = pathlib.Path(folder)
    if cifar:
        parts = sorted(pathlib.Path(cifar).glob("data_batch_*.bin"))
        write(folder / "train", (image for part in parts for image in of_cifar(part)), train)
        write(folder / "test", of_cifar(pathlib.Path(cifar) / "test_batch.bin"), test)
    else:
        write(folder / "train", patterns(train, 1), train)
        write(folder / "test", patterns(test, 2), test)
