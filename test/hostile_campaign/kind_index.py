"""Trials with weights in several files: damaged indices, and parts that do not fit them."""
import json
import os

import kind_model
import linear
import mutations
import read_model

INDEX = "model.safetensors.index.json"
PARTS = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
ARRAYS = ["dense1.weight", "dense1.bias"]
IMAGE, CLASSES = (8, 8, 1), 10


class _Folder:
    """An index and two parts, each with one array of the good model."""

    def __init__(self, path, arrays):
        self.path, self.arrays = path, arrays
        self.index = {"metadata": {"total_size": 4 * sum(array.size for array in arrays.values())}, "weight_map": dict(zip(ARRAYS, PARTS))}
        self.map = self.index["weight_map"]
        path.mkdir()
        for name, part in self.map.items():
            self.write(part, [name])

    def write(self, part, names, **words):
        linear.write_model(self.path / part, {name: self.arrays.get(name, self.arrays["dense1.bias"]) for name in names}, IMAGE, CLASSES, **words)

    def write_index(self, text=None):
        (self.path / INDEX).write_bytes(text if text is not None else json.dumps(self.index).encode("utf-8", "surrogatepass"))


def _generic(rng, folder):
    text, what = mutations.damage_json(rng, json.dumps(folder.index))
    folder.write_index(text)
    return what


def _no_map(rng, folder):
    value = rng.choice([None, True, 1, "x", [], {}, ARRAYS, list(folder.map.items()), {ARRAYS[0]: folder.map}])
    folder.index["weight_map"] = value
    folder.write_index(rng.choice([None, b"", json.dumps(value).encode(), json.dumps(folder.map).encode()]))
    return f"weight_map {value!r}"


def _no_text(rng, folder):
    value = rng.choice([None, True, 0, 1.5, [], {}, [PARTS[0]], {"file": PARTS[0]}])
    folder.map[rng.choice(ARRAYS)] = value
    folder.write_index()
    return f"part {value!r}"


def _elsewhere(rng, folder):
    """Names a file that is no file beside the index, though a good part may be there."""
    name = rng.choice(ARRAYS)
    part = folder.map[name]
    os.link(folder.path / part, folder.path.parent / part)
    value = rng.choice([f"../{part}", str(folder.path.parent / part), str(folder.path / part), f"./{part}", f"{part}/", f"../model/{part}",
                        f"{part}\0", f"{part}\0x", part.upper(), INDEX, ".", "a" * 300, *mutations.TEXTS])
    folder.map[name] = value
    folder.write_index()
    return f"part {value[:60]!r}"


def _odd_file(rng, folder):
    """Puts a thing of another kind, a file without rights, or nothing in the place of a part or of the index."""
    folder.write_index()
    path = folder.path / rng.choice([INDEX, *PARTS])
    if rng.random() < 0.2:
        path.chmod(0)
        return f"{path.name} without rights"
    path.unlink()
    return f"{path.name} is {mutations.put_odd(rng, path) if rng.random() < 0.7 else 'missing'}"


def _damaged_part(rng, folder):
    folder.write_index()
    part = folder.path / rng.choice(PARTS)
    data, what = rng.choice([mutations.truncate, mutations.damage_bytes])(rng, part.read_bytes())
    part.write_bytes(data)
    return f"{part.name}: {what}"


def _misfit(rng, folder):
    """Lets index and parts name different arrays."""
    part, name = rng.choice(PARTS), rng.choice([*ARRAYS, "dense2.bias", "\u202ex", "\0"])
    what = rng.choice(["only in the index", "only in a part", "in both parts", "in another part"])
    if what == "only in the index":
        folder.map["dense2.bias"] = part
    elif what == "only in a part":
        del folder.map[ARRAYS[PARTS.index(part)]]
        folder.map.setdefault(rng.choice(ARRAYS), part)
    elif what == "in another part":
        folder.map.update(zip(ARRAYS, rng.choice([PARTS[::-1], PARTS[:1] * 2, PARTS[1:] * 2])))
    else:
        folder.write(part, {ARRAYS[PARTS.index(part)]: 0, name: 0})
        folder.map.setdefault(name, part)
    folder.write_index()
    return f"{name} {what}"


def _twice(rng, folder):
    pairs = [*folder.map.items()]
    pairs.insert(rng.randrange(3), (rng.choice(ARRAYS), rng.choice(PARTS)))
    text = ", ".join(f"{json.dumps(name)}: {json.dumps(part)}" for name, part in pairs)
    folder.write_index(f'{{"weight_map": {{{text}}}}}'.encode())
    return "an array twice"


def _disagreeing(rng, folder):
    """Lets one part say something else of the model than the other."""
    words = rng.choice([{"layout": "pt"}, {"layout": ""}, {"model": "flatten; dense 10; dense classes"}])
    at = rng.randrange(2)
    folder.write(PARTS[at], [ARRAYS[at]], **words)
    folder.write_index()
    return f"{PARTS[at]} says {words}"


def _many(rng, folder):
    """Adds a long list, which has to take a time in proportion to its length."""
    count, value = rng.choice([1000, 300_000]), rng.choice([0, "", [], {}, {"": {}}, [{}]])
    folder.index["more"] = [value] * count
    folder.write_index()
    return f"{count} times {value!r}"


def _nested(rng, folder):
    depth, (first, last) = rng.choice([60, 64, 65, 1000, 300_000]), rng.choice(["[]", "{}", ("[", ""), ("{", "")])
    begin, end = (first + ('"a":' if first == "{" else "")) * depth, last * depth
    folder.write_index((json.dumps(folder.index)[:-1] + f', "more": {begin}1{end}}}').encode())
    return f"{depth} times {first} nested"


def _other_order(rng, folder):
    """Spreads the same arrays in another way, in parts of other names. The folder stays valid."""
    parts = rng.choice([PARTS[::-1], PARTS[:1] * 2, ["b.safetensors", "a"], ["é\u0301", " x .safetensors"], [".hidden", "-rf"]])
    for part in set(parts):
        names = [name for name, of_name in zip(ARRAYS, parts) if of_name == part]
        folder.write(part, rng.sample(names, len(names)))
    folder.map.update(zip(ARRAYS, parts))
    folder.index = dict(rng.sample([*folder.index.items()], 2)) | {"weight_map": dict(rng.sample([*folder.map.items()], 2))}
    folder.write_index()
    return f"parts {parts}"


DAMAGE = [_generic, _generic, _no_map, _no_text, _elsewhere, _elsewhere, _odd_file, _damaged_part, _misfit, _misfit, _twice, _disagreeing, _many, _nested,
          _other_order, _other_order]


def make_index(rng, place, base):
    folder = _Folder(place.inputs / "model", read_model.read_model(base.model())[1])
    damage = rng.choice(DAMAGE)
    what = damage(rng, folder)
    source = folder.path / INDEX
    return kind_model.read(rng, place, base, rng.choice([folder.path, source]), source, what, damage is _other_order)
