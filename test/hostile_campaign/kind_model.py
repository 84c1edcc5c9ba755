"""Trials with damaged model files, which eave exports or trains from."""
import json
import shutil

import numpy

import kind_data
import linear
import mutations
import read_idx
import read_model
from calls import Call
from plan import Plan, on_success


def _split(data):
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8:8 + length]), data[8 + length:]


def _join(text, content):
    return len(text).to_bytes(8, "little") + text + content


def _twice(rng, header, content):
    """Gives one name of the header twice."""
    name = rng.choice(["dense1.weight", "dense1.bias", "__metadata__"])
    pairs = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in header.items()]
    pairs.insert(rng.randrange(len(pairs) + 1), f"{json.dumps(name)}: {json.dumps(header[name])}")
    return _join(("{" + ", ".join(pairs) + "}").encode(), content), f"{name} twice", False


def _over_each_other(rng, header, content):
    first = rng.choice([0, 4, 40])
    header["dense1.bias"]["data_offsets"] = [first, first + 40]
    return _join(json.dumps(header).encode(), content[:rng.choice([len(content), len(content) - 40])]), "arrays over the same bytes", False


def _gap(rng, header, content):
    """Adds bytes that no array covers, after or before the arrays."""
    extra = bytes(rng.choice([1, 4, 40, 64]))
    if rng.random() < 0.5:
        return _join(json.dumps(header).encode(), content + extra), f"{len(extra)} bytes behind the arrays", False
    for entry in header.values():
        if "data_offsets" in entry:
            entry["data_offsets"] = [each + len(extra) for each in entry["data_offsets"]]
    return _join(json.dumps(header).encode(), extra + content), f"{len(extra)} bytes before the arrays", False


def _other_order(rng, header, content):
    """Puts the same arrays in another order, in the header or in the content. The file stays valid."""
    if rng.random() < 0.5:
        items = list(header.items())
        rng.shuffle(items)
        return _join(json.dumps(dict(items)).encode(), content), "header in another order", True
    size = header["dense1.weight"]["data_offsets"][1] - header["dense1.weight"]["data_offsets"][0]
    header["dense1.bias"]["data_offsets"] = [0, len(content) - size]
    header["dense1.weight"]["data_offsets"] = [len(content) - size, len(content)]
    return _join(json.dumps(header).encode(), content[size:] + content[:size]), "content in another order", True


def _padded(rng, header, content):
    text = json.dumps(header).encode() + b" " * rng.choice([0, 1, 3, 8, 100])
    return _join(text, content), "header padded with blanks", True


def _more_words(rng, header, content):
    header["__metadata__"][rng.choice(["note", "\u202e", "x" * 100])] = rng.choice(mutations.TEXTS[:12])
    return _join(json.dumps(header).encode("utf-8", "surrogatepass"), content), "more metadata", True


def _other_type(rng, header, content):
    name, kind = rng.choice(["dense1.weight", "dense1.bias"]), rng.choice(["F16", "F64", "I32", "BF16", "BOOL", "f32", "X", ""])
    header[name]["dtype"] = kind
    return _join(json.dumps(header).encode(), content), f"{name} of {kind}", False


def _not_finite(rng, header, content):
    values = numpy.frombuffer(content, numpy.float32).copy()
    values[rng.randrange(values.size)] = rng.choice([numpy.nan, numpy.inf, -numpy.inf])
    return _join(json.dumps(header).encode(), values.tobytes()), "a value that is not finite", False


def _generic(rng, header, content):
    text, what = mutations.damage_json(rng, json.dumps(header))
    return _join(text, content), what, False


def _bytes(rng, header, content):
    data, what = mutations.damage_bytes(rng, _join(json.dumps(header).encode(), content))
    return data, what, False


DAMAGE = [_twice, _over_each_other, _gap, _other_order, _padded, _more_words, _other_type, _not_finite, _generic, _generic, _bytes, _bytes]
NAMES = ["model.safetensors", "model-0000"]  # the second begins the names of parts


def _check_export(source, target, layout):
    @on_success
    def check(outcomes):
        _, wanted = read_model.read_model(source)
        _, found = read_model.read_model(target)
        told = [f"SILENT: exported arrays {sorted(found)}, not {sorted(wanted)}"] if found.keys() != wanted.keys() else []
        for name in found.keys() & wanted.keys():
            turned = wanted[name].T if layout == "pytorch" else wanted[name]
            if not numpy.array_equal(found[name], turned):
                told.append(f"SILENT: array {name} differs")
            if not numpy.isfinite(found[name]).all():
                told.append(f"SILENT: exported {name} with values that are not finite")
        return told
    return check


def _check_begun(source, directory, run):
    @on_success
    def check(outcomes):
        _, arrays = read_model.read_model(source)
        part = read_idx.read_set(directory)
        scores = {which: linear.score(part[f"{which}_images"], part[f"{which}_labels"], arrays, *read_idx.SCALES["mnist"])
                  for which in ("train", "test")}
        return kind_data.compare_scores(run, scores)
    return check


def check_refused(what):
    def check(outcomes):
        return [f"SILENT: {what}"] if outcomes[0].code == 0 else []
    return check


def _of_run(rng, place, base):
    """The final model of a run, named by its file or its directory. A flipped bit contradicts the hash in its
    metadata."""
    run = place.inputs / "run"
    shutil.copytree(base.run("whole"), run, symlinks=True)
    source, what, whole = run / "model.safetensors", "the model of a run", rng.random() < 0.2
    if not whole:
        data, what = mutations.flip_array_bit(rng, source.read_bytes())
        source.write_bytes(data)
    plan = read(rng, place, base, rng.choice([run, source]), source, what, whole)
    if not whole:
        plan.check = check_refused(f"reads a model of a run with {what}")
    return plan


def read(rng, place, base, named, source, what, whole):
    """Reads the file `source` by export or as initial parameters. `named` is the word that names it on the command line.
    eave generate has to refuse this model of images."""
    target, run = place.out / "model.safetensors", place.out / "run"
    if rng.random() < 0.1:
        return Plan([Call(["generate", named])], what, NAMES, check=check_refused("generates text by a model of images"))
    if rng.random() < 0.5:
        layout = rng.choice(["eave", "pytorch"])
        call = Call(["export", named, "--safetensors", target, "--layout", layout], promised=whole)
        return Plan([call], what, NAMES, ["out/model.safetensors"], _check_export(source, target, layout))
    (place.inputs / "set").symlink_to(base.idx)
    words = ["train", "--data", "mnist", "--data-dir", place.inputs / "set", *kind_data.one_step(run), "--initial-parameters", named,
             "--batch", 40]
    return Plan([Call(words, promised=whole)], what, NAMES, ["out/run"],
                _check_begun(source, place.inputs / "set", run))


def make_model(rng, place, base):
    if rng.random() < 0.15:
        return _of_run(rng, place, base)
    header, content = _split(base.model().read_bytes())
    data, what, whole = rng.choice(DAMAGE)(rng, header, content)
    source = place.inputs / "model.safetensors"
    source.write_bytes(data)
    return read(rng, place, base, source, source, what, whole)
