"""Trials around a data set: copies on a local disk, doctor, a small comparison that resumes, a run that is watched."""
import os
import random
import shutil

import bases as good
import kind_data
import kind_run
import linear
import mutations
import read_idx
from calls import Call
from plan import Plan, on_success


def _planted(rng, place, target):
    """Puts a link under the name of a copy, or of a partial copy."""
    target.mkdir(parents=True)
    name = read_idx.NAMES[rng.choice(sorted(read_idx.NAMES))] + rng.choice(["", ".partial"])
    (target / name).symlink_to(place.precious / "thesis.tex")
    return f"{name} is a link in the copy"


def make_stage(rng, place, base):
    source, disk, run = place.inputs / "set", place.out / "disk", place.out / "run"
    shutil.copytree(base.idx, source)
    arrays = linear.parameters(rng, good.SIDE**2, 10)
    words = ["train", "--data", "mnist", "--data-dir", source, "--stage-to", disk, "--batch", 40,
             *kind_data.model_and_one_step(place, run, arrays, (good.SIDE, good.SIDE, 1))]
    kind, damage, calls = rng.randrange(3), None, [Call(words)]
    if kind == 0:  # eave first makes a good copy, since eave chooses where it lies
        calls = [Call(words, promised=True), Call([*words, "--overwrite"], promised=True)]
        damage = _damage_between(rng, disk)
        what = "the copy is damaged, of the same size and time"
    elif kind == 1:
        what = _planted(rng, place, disk)
    else:
        what = mutations.put_odd(rng, disk, ["a file", "a dangling link", "a FIFO"]) + " in place of the directory"
    return Plan(calls, what, ["--stage-to", str(disk)], ["out"], kind_data._check(run, source, arrays, "mnist"), between=damage)


def _damage_between(rng, disk):
    seed = rng.getrandbits(32)

    def damage(_):
        draw = random.Random(seed)
        files = sorted(path for path in disk.rglob("*ubyte*") if path.is_file())
        path = draw.choice(files)
        data, times = bytearray(path.read_bytes()), path.stat()
        place = draw.randrange(16, len(data))
        data[place] = (data[place] + 1) % 10 if "labels" in path.name else data[place] ^ 0x80
        path.write_bytes(data)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    return damage


def make_doctor(rng, place, base):
    """If doctor calls data ok, an independent reader must be able to read it."""
    directory, name = place.inputs / "set", rng.choice(sorted(read_idx.NAMES))
    shutil.copytree(base.idx, directory)
    ending, content, what, whole = kind_data._damage(rng, directory, name)
    (directory / read_idx.NAMES[name]).unlink()
    (directory / (read_idx.NAMES[name] + ending)).write_bytes(content)

    def check(outcomes):
        if b"\nok        data" not in outcomes[0].out:
            return []
        try:
            read_idx.read_set(directory)
        except read_idx.Refused as why:
            return [f"SILENT: doctor says ok of data that an independent reader refuses: {why}"]
        return []
    words = ["doctor", "--data", "mnist", "--data-dir", directory, "--run-dir", place.out]
    # doctor prints findings in its table.
    return Plan([Call(words)], f"{name}: {what}", [], [], check, input_bytes=len(content), may_be_silent=True)


def make_compare(rng, place, base):
    """A comparison with a damaged file resumes, and reports the same accuracies or names what is damaged."""
    output = place.out / "comparison"
    shutil.copytree(base.directory / "comparison", output)
    files = sorted(path for path in output.rglob("*") if path.is_file() and path.suffix in (".json", ".jsonl", ".csv"))
    path = rng.choice(files)
    what = kind_run.damage_file(rng, path)

    @on_success
    def check(outcomes):
        if path.name == "comparison.json" or b"left out: " in outcomes[0].out + outcomes[0].err:
            return []
        found, wanted = _accuracies(output / "variants.csv"), _accuracies(base.directory / "comparison" / "variants.csv")
        return [] if found == wanted else [f"SILENT: accuracies are {found}, of the comparison before {wanted}"]
    words = ["compare", *good.COMPARISON, "--output", output]
    return Plan([Call(words)], f"{path.relative_to(output)}: {what}", [str(output)], ["out/comparison"], check, bounds={"cpu_s": 4})


def _accuracies(table):
    lines = table.read_text(encoding="utf-8").splitlines()
    titles = lines[0].split(",")
    return [line.split(",")[titles.index("test_accuracy")] for line in lines[1:]]


def make_watch(rng, place, base):
    """The metrics of a run hold lines that are no JSON, or very long."""
    run = place.inputs / "run"
    shutil.copytree(base.run("easgd"), run)
    path, kind = run / "metrics.jsonl", rng.randrange(4)
    lines = path.read_bytes().split(b"\n")
    at = rng.randrange(1, len(lines))
    if kind == 0:
        lines.insert(at, b'{"type":"step","loss":' + b"1" * rng.choice([10**5, 10**7]) + b"}")
    elif kind == 1:
        lines.insert(at, bytes(rng.choice([10, 10**6, 2 * 10**7])))
    elif kind == 2:
        lines[at:] = [b'{"type":"step","rank":0' + b"[" * 10**6]
    else:
        lines.insert(at, rng.choice(mutations.TEXTS).encode("utf-8", "surrogatepass"))
    path.write_bytes(b"\n".join(lines))
    command = rng.choice([["watch", run, "--once"], ["report", run, "--html", "none"], ["plan", run, "--ranks", 2]])
    return Plan([Call(command)], f"{command[0]} of a file with an odd line {at}", [str(run)], [], input_bytes=path.stat().st_size)
