"""Damages bytes, texts, numbers and JSON. Each function draws from the trial's generator and says in words what it
did."""
import json
import os

INTEGERS = [-1, 0, 1, 2, 7, 127, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53 + 1, 2**62, 2**63 - 1, 2**63,
            2**64 - 1, 2**64, -2**31, -2**63, 10**30]
REALS = ["-1", "0", "-0", "1e308", "-1e308", "1e309", "1e-320", "8.908", "0.5", "1.0000001", "1e30", "nan", "NaN", "inf", "Infinity",
         "-Infinity", "1e400", "0x10", "1_000", "1,5", "١٢"]
TEXTS = ["", " ", "\x1b[2J\x1b[31mred", "\x1b]0;title\x07", "a\u202egpj.exe", "\u2066x\u2069", "\x9b31m", "x\x7fy", "line\nbreak", "\r",
         "tab\tbed", "\u0000", "é\u0301", "../../../precious/thesis.tex", "~/precious", "/etc/passwd", "%s%n%x", "%invalid_line%", "'\"`$(id)",
         "<script>alert(1)</script>", "-rf", "--help", "#", "=", "{}", "[1]", "null", "a" * 300, "b" * 70000, "\ufeffbom", "\u2028", "𝒆𝒂𝒗𝒆"]


def flip_bits(rng, data):
    data, count = bytearray(data), rng.choice([1, 1, 1, 2, 8])
    for _ in range(count):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data), f"{count} bits flipped"


def truncate(rng, data):
    length = rng.choice([0, 1, 4, 8, len(data) // 2, max(0, len(data) - 1), rng.randrange(len(data) + 1)])
    return data[:length], f"cut to {min(length, len(data))} bytes"


def insert(rng, data):
    place, count = rng.randrange(len(data) + 1), rng.choice([1, 2, 4, 16, 4096])
    extra = rng.randbytes(count) if rng.random() < 0.5 else bytes(count)
    return data[:place] + extra + data[place:], f"{count} bytes inserted at {place}"


def append(rng, data):
    extra = rng.choice([b"\0", b"\n", bytes(512), b"garbage", rng.randbytes(64)])
    return data + extra, f"{len(extra)} bytes appended"


def duplicate(rng, data):
    first, last = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    return data[:last] + data[first:last] + data[last:], f"bytes {first} to {last} doubled"


def swap_parts(rng, data):
    a, b, c = sorted(rng.randrange(len(data) + 1) for _ in range(3))
    return data[:a] + data[b:c] + data[a:b] + data[c:], f"parts at {a} and {b} swapped"


def overwrite(rng, data):
    place, count = rng.randrange(len(data) + 1), rng.choice([1, 2, 4, 8])
    value = rng.choice([b"\0", b"\xff", b"\x80", b"\x7f", b"A"]) * count
    return data[:place] + value + data[place + count:], f"{count} bytes at {place} overwritten"


def erase(rng, data):
    first = rng.randrange(len(data) + 1)
    count = rng.choice([1, 4, 100])
    return data[:first] + data[first + count:], f"{count} bytes at {first} erased"


def flip_array_bit(rng, data):
    """Flips one bit of a safetensors file after its header, so that shapes and offsets stay right."""
    data, begin = bytearray(data), 8 + int.from_bytes(data[:8], "little")
    place, bit = rng.randrange(begin, len(data)), rng.randrange(8)
    data[place] ^= 1 << bit
    return bytes(data), f"bit {bit} of byte {place - begin} of its arrays flipped"


IMPOSTORS = {
    "HTML": b"<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head><body>Not Found</body></html>\n",
    "a git-lfs pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4d7a" * 16 + b"\nsize 9912422\n",
    "a zip (PyTorch)": b"PK\x03\x04\x00\x00\x08\x08\x00\x00" + bytes(20) + b"archive/data.pkl" + bytes(64),
    "a pickle": b"\x80\x02}q\x00(X\x05\x00\x00\x00labelsq\x01]q\x02K\x06a" + bytes(40) + b".",
    "GIF": b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x00;",
    "WebP": b"RIFF\x24\x00\x00\x00WEBPVP8 " + bytes(24), "BMP": b"BM\x46\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00" + bytes(60),
    "HEIC": b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic" + bytes(40), "xz": b"\xfd7zXZ\x00\x00\x04" + bytes(40),
    "zstd": b"\x28\xb5\x2f\xfd" + bytes(40), "JSON": b'{"a": 1}\n', "text": b"hello\n", "an ELF program": b"\x7fELF\x02\x01\x01" + bytes(57),
    "zeros": bytes(1024), "nothing": b"", "terminal sequences": b"\x1b[2J\x1b]0;owned\x07\xe2\x80\xae",
}


ODD_ENTRIES = {"a FIFO": os.mkfifo, "a directory": os.mkdir, "a dangling link": lambda path: path.symlink_to("nowhere"),
               "a link to itself": lambda path: path.symlink_to(path.name),
               "a link to /dev/zero": lambda path: path.symlink_to("/dev/zero"),
               "a file": lambda path: path.write_text("a file\n")}


def put_odd(rng, path, kinds=tuple(ODD_ENTRIES)):
    """Makes one of these things at `path`, where nothing is. Returns in words what it is."""
    kind = rng.choice(kinds)
    ODD_ENTRIES[kind](path)
    return kind


def impersonate(rng, _):
    name = rng.choice(sorted(IMPOSTORS))
    return IMPOSTORS[name], f"replaced by {name}"


GENERIC = [flip_bits, flip_bits, truncate, insert, append, duplicate, swap_parts, overwrite, erase, impersonate]


def damage_bytes(rng, data):
    return rng.choice(GENERIC)(rng, data)


def damage_text(rng, text):
    """Changes, doubles, moves or removes a line of the text, or damages its bytes."""
    lines, kind = text.splitlines(), rng.randrange(6)
    if kind == 0 or not lines:
        return damage_bytes(rng, text.encode())
    place = rng.randrange(len(lines))
    if kind == 1:
        lines.insert(place, lines[place])
        what = f"line {place} doubled"
    elif kind == 2:
        other = rng.randrange(len(lines))
        lines[place], lines[other] = lines[other], lines[place]
        what = f"lines {place} and {other} swapped"
    elif kind == 3:
        del lines[place]
        what = f"line {place} removed"
    elif kind == 4:
        lines[place] = rng.choice(TEXTS)
        what = f"line {place} replaced"
    else:
        lines[place] += rng.choice(TEXTS)
        what = f"line {place} lengthened"
    return ("\n".join(lines) + "\n").encode("utf-8", "surrogatepass"), what


def _places(value, path=()):
    """Returns all paths into a JSON value."""
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += _places(inner, path + (key,))
    return found


def _odd_value(rng, old):
    kind = rng.randrange(6)
    if kind == 0:
        return rng.choice(INTEGERS)
    if kind == 1:
        return Marker(rng.choice(["1e308", "-1e308", "1e309", "-1", "8.908", "-0.5", "1.5", "1e-320", "NaN", "Infinity"]))
    if kind == 2:
        return rng.choice(TEXTS)
    if kind == 3:
        return rng.choice([None, True, False, [], {}, [1, 2], {"a": 1}])
    if kind == 4 and isinstance(old, (int, float)) and not isinstance(old, bool):
        return rng.choice([-old, old + 1, old * 10, old * 1000, old / 3, -1])
    return str(old)


class Marker(str):
    """A literal that Python's json would not write. damage_json puts it into the written text."""


def damage_json(rng, text):
    """Changes, removes or doubles one value of the JSON text, or damages its bytes."""
    value = json.loads(text)
    paths = _places(value)
    if not paths or rng.random() < 0.15:
        return damage_bytes(rng, text.encode())
    path = rng.choice(paths)
    holder = value
    for key in path[:-1]:
        holder = holder[key]
    key, name, kind = path[-1], "/".join(map(str, path)), rng.random()
    if kind < 0.15:
        del holder[key]
        return json.dumps(value).encode(), f"{name} removed"
    if kind < 0.35 and isinstance(holder, dict):
        return _with_key_twice(rng, value, holder, key, name)
    new = _odd_value(rng, holder[key])
    holder[key] = "@@literal@@" if isinstance(new, Marker) else new
    written = json.dumps(value, ensure_ascii=rng.random() < 0.5)
    if isinstance(new, Marker):
        written = written.replace('"@@literal@@"', new)
    return written.encode("utf-8", "surrogatepass"), f"{name} = {str(new)[:40]!a}"


def _with_key_twice(rng, value, holder, key, name):
    old = holder.pop(key)
    new = old if rng.random() < 0.3 else _odd_value(rng, old)
    new = 0.5 if isinstance(new, Marker) else new
    pair = [f"{json.dumps(str(key))}: {json.dumps(each)}" for each in (old, new)]
    holder["@@pair@@"] = 0
    return json.dumps(value).replace('"@@pair@@": 0', ", ".join(pair)).encode(), f"{name} twice"
