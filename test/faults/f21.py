"""F21: data files that are damaged, or are not the files that the options say."""
import functools
import struct
import zlib

import lab

STEMS = {"images": "train-images-idx3-ubyte", "labels": "train-labels-idx1-ubyte",
         "test images": "t10k-images-idx3-ubyte", "test labels": "t10k-labels-idx1-ubyte"}


def header(*dimensions, kind=8):
    return bytes([0, 0, kind, len(dimensions)]) + b"".join(struct.pack(">I", each) for each in dimensions)


def good():
    return {"images": header(30, 6, 5) + bytes(i % 251 for i in range(900)), "labels": header(30) + bytes(range(10)) * 3,
            "test images": header(10, 6, 5) + bytes(300), "test labels": header(10) + bytes(range(10))}


def gzip(content):
    packer = zlib.compressobj(wbits=31)
    return packer.compress(content) + packer.flush()


def changed(content, offset, *values):
    return content[:offset] + bytes(values) + content[offset + len(values):]


def cases():
    """Yields tuples: which file, its new content, and a text that the message must contain."""
    images, labels = good()["images"], good()["labels"]
    yield from (("images", images[:size], word) for size, word in
                ((0, "is empty"), (1, "offset 1"), (3, "offset 3"), (7, "offset 7"), (15, "offset 15"),
                 (16, "16 bytes long"), (17, "17 bytes long"), (915, "915 bytes long")))
    yield from (("labels", labels[:size], word) for size, word in
                ((2, "offset 2"), (6, "offset 6"), (8, "8 bytes long"), (37, "37 bytes long")))
    yield "images", images + b"\0", "917 bytes long"
    yield "images", images + images, "1832 bytes long"
    yield "images", b"\x89PNG\r\n\x1a\n" + bytes(900), "offset 0"
    yield "images", bytes(916), "offset 0"
    yield "images", images[3::-1] + images[4:], "offset 0"
    yield "images", changed(images, 2, 0x0d), "offset 0"
    yield "images", changed(images, 3, 255), "offset 0"
    yield "images", header(1, 1, 1, 1, 1, 1, 1, 1, 1) + b"\1", "offset 0"
    yield "images", header(0, 6, 5), "offset 4"
    yield "images", header(30, 0, 5), "offset 8"
    yield "images", header(30, 6, 0), "offset 12"
    yield "images", header(1 << 31, 1 << 31, 4) + bytes(8), "64 bits"
    yield "images", header(1 << 20, 1 << 20, 1 << 10) + bytes(8), "24 bytes long"
    yield "images", header(1, 1, 65536) + bytes(65536), "offset 8"
    yield "images", labels, "offset 0"
    yield "labels", images, "offset 0"
    yield "images", gzip(images)[:-1], "offset"
    yield "images", gzip(images)[:20], "offset"
    yield "images", changed(gzip(images), 2, 7), "offset"
    yield "images", changed(gzip(images), len(gzip(images)) - 8, 0x55), "offset"
    yield "images", gzip(images + b"\0"), "offset"
    yield "images", gzip(images[:-1]), "offset"
    yield "images", gzip(header(30, 6, 5) + bytes(50 << 20)), "offset"
    yield "images", gzip(images) + gzip(images), "offset"
    yield "images", gzip(header(2000, 2000, 2000) + bytes(8)), "8000000000 bytes"
    yield "labels", changed(labels, 8, 10), "offset 8"
    yield "test labels", changed(good()["test labels"], 17, 255), "offset 17"
    yield "labels", header(29) + labels[8:37], "offset 4"


@functools.lru_cache(maxsize=None)
def all_cases():
    return list(cases())


def feed(place):
    which, content, word = all_cases()[place.index]
    directory = place.directory / "data"
    directory.mkdir()
    for name, bytes_ in (good() | {which: content}).items():
        (directory / STEMS[name]).write_bytes(bytes_)
    words = ["train", "--data", "mnist", "--data-dir", directory, "--model", "dense classes", "--batch", "4",
             "--progress", "off", "--run-dir", place.run_dir()]
    job = place.run(2, words) if place.is_full else place.run(0, [*words, "--transport", "threads", "--ranks", "2"])
    lab.require_code(job, 65)
    lab.require(len(job.messages()) == 1, f"more or less than one message: {job.tail()}")
    lab.require(STEMS[which] in job.complains(), f"the file is not named: {job.tail()}")
    lab.require(word in job.complains(), f"'{word}' is not named: {job.tail()}")
    lab.require(not (place.run_dir() / "metrics.jsonl").exists(), "a run was begun")
    return {"exit_s": job.seconds}


FAULTS = [lab.Fault("F21", "damaged data files: 65, file and place named once, before training", feed,
                    quick=len(all_cases()), full=len(all_cases()))]
