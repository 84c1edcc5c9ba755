"""F18: one rank was started with another configuration, model, data or program."""
import shutil
import struct
import time

import lab

LIMIT_S = 2  # from the start of mpirun to the message. mpirun itself takes up to 2 s more to end


def write_set(directory, images=300, wrong_label=None, wrong_pixel=None):
    """Writes a small data set as MNIST's files and returns its directory."""
    directory.mkdir()
    for part, count in (("train", images), ("t10k", 50)):
        labels = bytearray(i % 10 for i in range(count))
        pixels = bytearray((i * 7) % 256 for i in range(count * 784))
        if part == "train" and wrong_label is not None:
            labels[wrong_label] = (labels[wrong_label] + 1) % 10
        if part == "train" and wrong_pixel is not None:
            pixels[wrong_pixel] ^= 1
        (directory / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 0x803, count, 28, 28) + pixels)
        (directory / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, count) + labels)
    return directory


def other_program(place):
    """Returns a copy of eave with one more byte at its end, as if it had been built elsewhere."""
    directory = place.directory / "other"
    directory.mkdir()
    copy = directory / "eave"
    shutil.copy(place.eave, copy)
    with open(copy, "ab") as file:
        file.write(b"\0")
    return copy


def cases(place):
    """Returns functions that each give one case: the program of rank 0, the words of ranks 1 and 2, the words of
    rank 0, and a text of the message."""
    data = lambda name, **others: ["--data", "mnist", "--data-dir", write_set(place.directory / name, **others)]
    here = data("here")
    return [
        lambda: (place.eave, here, [*here, "--lr", "0.3"], "--lr is"),
        lambda: (place.eave, here, [*here, "--model", "lenet"], "--model is"),
        lambda: (place.eave, here, [*here, "--communicator", "easgd", "--tau", "4"], "--communicator is"),
        lambda: (place.eave, here, [*here, "--batch", "16"], "--batch is"),
        lambda: (place.eave, here, [*here, "--seed", "2"], "--seed is"),
        lambda: (place.eave, here, data("fewer", images=299), "size of the training set is"),
        lambda: (place.eave, here, data("labels", wrong_label=place.random.randrange(300)), "content of the training set is"),
        # Changes the first pixel of one of the images that eave compares.
        lambda: (place.eave, here, data("pixels", wrong_pixel=784 * (place.random.randrange(64) * 300 // 64)),
                 "content of the training set is"),
        lambda: (other_program(place), here, here, "eave is version"),
        lambda: (other_program(place), here, [*here, "--lr", "0.3"], "eave is version"),
    ]


def start_unequal(place):
    all_cases = cases(place)
    program, words, other_words, named = all_cases[place.index % len(all_cases)]()
    common = ["train", "--max-steps", "3", "--progress", "off"]
    launcher = ["mpirun", "-np", "1", str(program), *common, *map(str, other_words), ":", "-np", "2"]
    job = place.start(0, [*common, *words], launcher=launcher)
    job.wait_until(lambda: job.messages(), limit=20)
    told = time.monotonic() - job.started
    job.wait(20)
    lab.require(job.code == 78, f"{named}: {job.tail()}")
    messages = job.messages()
    lab.require(len(messages) == 1 and named in messages[0] and "rank 0" in messages[0] and "ranks 1, 2" in messages[0],
                f"expected one message with '{named}': {job.tail()}")
    lab.require_in_time(told <= LIMIT_S, f"{named}: told after {told:.2f} s")
    return {"told_s": told, "exit_s": job.seconds}


FAULTS = [lab.Fault("F18", "ranks differ in configuration, model, data or program: one message naming ranks and fields, 78",
                    start_unequal, quick=10, full=20)]
