"""Trials with names that hold line ends and terminal sequences, in every place where eave takes a name."""
import os
import shutil

import bases as good
from calls import Call
from plan import Plan

PLANTED = "eave: planted"
# If eave printed one of these as it is, it would begin a new line or move the cursor. The last is no UTF-8.
PIECES = [b"a\n" + PLANTED.encode(), b"a\r" + PLANTED.encode(), b"\x1b[31m" + PLANTED.encode(), "\u202e".encode() + PLANTED.encode(),
          b"\t" + PLANTED.encode(), b"\n  " + PLANTED.encode(), b"\x1b]0;x\x07" + PLANTED.encode(), "\u2028".encode() + PLANTED.encode(),
          b"\xff" + PLANTED.encode()]
TRAIN = ["train", *good.SYNTHETIC, *good.MODEL, "--epochs", 1, "--batch", 8]
IMAGES = ["--data", "image-folder", "--model", "flatten; dense classes", "--image-size", 8, "--batch", 4, "--max-steps", 1]


def _name(rng):
    return b"".join(rng.sample(PIECES, rng.randrange(1, 4))) + rng.choice([b"", b".x", b"\n", "\u200b".encode()])


def _below(directory, name):
    return os.fsencode(directory) + b"/" + name


def _of_run(rng, place, base, name):
    run = _below(place.out, name)
    shutil.copytree(base.run(rng.choice(["easgd", "interrupted", "whole"])), os.fsdecode(run))
    if rng.random() < 0.4:
        with open(_below(run, rng.choice([b"metrics.jsonl", b"summary.json", b"config.json"])), "ab") as file:
            file.write(b"{")
    words = rng.choice([["summary", run], ["summary", run, run], ["report", run, "--html", "none"], ["watch", run, "--once"], ["plan", run],
                        ["checkpoint", "ls", run], ["checkpoint", "verify", run], [*TRAIN, "--run-dir", run],
                        [*TRAIN, "--resume", "--run-dir", run], [*TRAIN, "--overwrite", "--run-dir", run],
                        ["checkpoint", "export", run, "--npy", _below(place.out, b"npy" + name)]])
    return "a run directory", words, {}


def _of_checkpoints(rng, place, base, name):
    words = [*TRAIN, "--checkpoint-every", 4, "--run-dir", place.out / "run", b"--checkpoint-dir=" + _below(place.out, name)]
    if rng.random() < 0.5:
        path = _below(place.out, name)
        os.mkdir(path)
        with open(_below(path, b"mine"), "wb"):
            pass
    return "a directory of checkpoints", words, {}


def _of_images(rng, place, base, name):
    directory = place.inputs / "images"
    shutil.copytree(base.images, directory)
    folder = directory / "train" / "bees"
    kind = rng.randrange(4)
    if kind == 0:
        for part in ("train", "test"):
            os.rename(directory / part / "bees", _below(directory / part, name))
    elif kind == 1:
        os.rename(folder, _below(directory / "train", name))
    else:
        file = sorted(folder.iterdir())[0]
        new = _below(folder, name + (b".jpg" if kind == 2 else b""))
        os.rename(file, new)
        with open(new, "r+b") as damaged:
            damaged.truncate(40)
    words = rng.choice([["train", *IMAGES, "--data-dir", directory, "--on-bad-image", rng.choice(["refuse", "skip", "late"])],
                        ["doctor", "--check-images", "--run-dir", place.out, "--data", "image-folder", "--data-dir", directory]])
    return ["a class", "a class of the training images", "an image", "no image"][kind], words, {}


def _of_file(rng, place, base, name):
    path = _below(place.inputs, name)
    if rng.random() < 0.7:
        content = rng.choice([b"", b"lr = x\n", b"<html>", base.model().read_bytes(), base.model().read_bytes()[:500], b"\x7fELF", b"batch = 4\n"])
        with open(path, "wb") as file:
            file.write(content)
    words = rng.choice([[*TRAIN, b"--config=" + path], [*TRAIN, "--print-config", b"--config=" + path], [*TRAIN, b"--plugin=" + path],
                        [*TRAIN, b"--initial-parameters=" + path], ["export", path, "--npy", place.out / "npy"],
                        ["train", *good.MODEL, "--data", "mnist", b"--data-dir=" + path], [*TRAIN, b"--run-dir=" + path], ["watch", path, "--once"],
                        ["report", path, "--html", "none"]])
    return "a file", words, {}


def _of_value(rng, place, base, name):
    option = rng.choice(["communicator", "transport", "data", "optimizer", "lr", "batch", "device", "model", "limit-step", "slow-network", "resume",
                         "progress", "tau", "seed", "no-such-option"])
    kind = rng.randrange(5)
    if kind == 0:
        return f"EAVE_{option}", TRAIN, {"EAVE_" + option.upper().replace("-", "_"): os.fsdecode(name)}
    if kind == 1:
        return "a foreign variable", TRAIN, {"EAVE_" + os.fsdecode(name).replace("=", ""): "1"}
    if kind == 2:
        return "a word", rng.choice([[name], [*TRAIN, name], ["help", name], ["checkpoint", name, "run"], ["watch", name, "--plot", name]]), {}
    if kind == 3:
        return "an option", [*TRAIN, b"--" + name], {}
    return f"--{option}", [*TRAIN, b"--" + option.encode() + b"=" + name], {}


def _complaints(outcome):
    told = []
    for stream, text in (("output", outcome.out), ("errors", outcome.err)):
        lines = text.replace(b"\r", b"\n").split(b"\n")
        told += [f"a name begins a line of its {stream}: {line!r}" for line in lines if line.lstrip().startswith(PLANTED.encode())]
        told += [f"a tab of a name is in its {stream}"] if b"\t" + PLANTED.encode() in text else []
    return told


def make_name(rng, place, base):
    """eave must print the name in printable form, within the line that names it. judge.py checks the rest: nothing raw,
    and one message."""
    name = _name(rng)
    kind, words, environment = rng.choice([_of_run, _of_run, _of_checkpoints, _of_images, _of_images, _of_file, _of_file, _of_value])(
        rng, place, base, name)
    # _complaints also runs if the call fails for another reason. doctor prints findings in its table.
    return Plan([Call(words, environment)], f"{kind} is called {name!r}", [], ["out", "in"], between=_complaints,
                may_be_silent=words[0] == "doctor")
