"""Trials with text, with files of tokens, and with vocabularies."""
import json

import numpy

import linear
import mutations
import read_run
import read_text
from calls import Call
from plan import Plan, on_success
from read_run import Refused

MODEL = f"embedding {read_text.WIDTH}; tied_output"
WORDS = "the quick brown fox jumps over a lazy dog and then it sleeps for 100 years, said nobody; ça va? ünïcödé 漢字 👍".split()
MOST_ROWS = 20000  # a batch takes all windows, so that one step sees all tokens


def _text(rng, length):
    words, size = [], 0
    while size < length:
        words.append(rng.choice(WORDS) + rng.choice([" ", " ", " ", "\n", ".\n"]))
        size += len(words[-1].encode())
    return "".join(words).encode()


def _one_step(place, run, vocabulary, context, train_tokens, rng):
    """The words that train a table of random numbers for one step on all windows, which changes nothing."""
    draw = numpy.random.default_rng(rng.getrandbits(32))
    table = draw.normal(0, 0.5, (vocabulary, read_text.WIDTH)).astype(numpy.float32)
    model = place.inputs / "model.safetensors"
    linear.write_model(model, {"embed1.weight": table}, (context, 1, 1), vocabulary, MODEL)
    windows = max(1, min(MOST_ROWS, -(-(train_tokens - 1) // context)))
    return table, ["--model", MODEL, "--context", context, "--batch", windows, "--max-steps", 1, "--lr", "1e-30", "--momentum", 0,
                   "--checkpoint", "off", "--run-dir", run, "--initial-parameters", model]


def _compare(run, context, table, train, test):
    lines, told = read_run.read_metrics(run / "metrics.jsonl"), []
    found = {"training": [line for line in lines if line["type"] == "step"][-1]["loss"],
             "test": [line for line in lines if line["type"] == "evaluation"][-1]["center"]["loss"]}
    for name, tokens in (("training", train), ("test", test)):
        wanted = read_text.loss(numpy.asarray(tokens), context, table)
        if abs(found[name] - wanted) > linear.TOLERANCE * max(1, abs(wanted)):
            told.append(f"SILENT: {name} loss is {found[name]}, by independent readers {wanted}")
    return told


def _with_header(tokens, wide):
    magic, version, kind = (20240801, 7, "<u4") if wide else (20240520, 1, "<u2")
    header = numpy.zeros(256, "<u4")
    header[:3] = magic, version, len(tokens)
    return header.tobytes() + numpy.asarray(tokens, kind).tobytes()


def make_tokens(rng, place, base):
    directory, run = place.inputs / "tokens", place.out / "run"
    directory.mkdir()
    vocabulary, context, wide = rng.choice([13, 64, 300]), rng.choice([1, 4, 7, 16]), rng.random() < 0.5
    files, size = {}, vocabulary
    for name, count in (("train.bin", rng.randrange(40, 400)), ("val.bin", rng.randrange(2, 60))):
        tokens, has_header = [rng.randrange(vocabulary) for _ in range(count)], rng.random() < 0.5
        files[name] = _with_header(tokens, wide) if has_header else numpy.asarray(tokens, "<u2").tobytes()
        if has_header:  # the model knows at least the tokens that the header names
            size = 128256 if wide else 50257
    name, what, whole = rng.choice(sorted(files)), "nothing changed", rng.random() < 0.2
    if not whole:
        files[name], what = mutations.damage_bytes(rng, files[name])
    for each, data in files.items():
        (directory / each).write_bytes(data)
    if not whole and rng.random() < 0.15:
        (directory / name).unlink()
        what = mutations.put_odd(rng, directory / name)
    table, words = _one_step(place, run, size, context, len(files["train.bin"]) // 2, rng)

    @on_success
    def check(outcomes):
        if not (directory / "val.bin").is_file():  # the end of the training file is held out
            return []
        train, test = (read_text.read_tokens(directory / each, size) for each in ("train.bin", "val.bin"))
        return _compare(run, context, table, train, test) if len(train) <= MOST_ROWS else []
    call = Call(["train", "--data", "tokens", "--data-dir", directory, "--vocabulary-size", size, *words], promised=whole)
    return Plan([call], f"{name}: {what}", [*files, str(directory), "--context"], ["out/run"], check)


def _damage(rng, data):
    return mutations.damage_text(rng, data.decode()) if rng.random() < 0.5 else mutations.damage_bytes(rng, data)


def make_text(rng, place, base):
    directory, run = place.inputs / "text", place.out / "run"
    directory.mkdir()
    context, share = rng.choice([1, 4, 7, 16]), rng.choice([0.1, 0.2, 0.3])  # with at most three files, the end of each is held out
    files = {f"{letter}.txt": _text(rng, rng.randrange(60, 600)) for letter in "abc"[:rng.randrange(1, 4)]}
    name, what, whole = rng.choice(sorted(files)), "nothing changed", rng.random() < 0.2
    if not whole:
        files[name], what = _damage(rng, files[name])
    for each, data in files.items():
        (directory / each).write_bytes(data)
    if not whole and rng.random() < 0.1:
        (directory / name).unlink()
        what = mutations.put_odd(rng, directory / name)
    table, words = _one_step(place, run, 256, context, sum(map(len, files.values())), rng)

    @on_success
    def check(outcomes):
        train, test = b"", b""
        for path in sorted(directory.iterdir()):
            if path.is_file() and read_text.is_text(path.read_bytes()):
                of_training, of_test = read_text.held_out(path.read_bytes(), share)
                train, test = train + of_training, test + of_test
        if len(test) < 2 or len(train) < 2:
            raise Refused("too little text")
        return _compare(run, context, table, list(train), list(test)) if len(train) < MOST_ROWS else []
    call = Call(["train", "--data", "text", "--data-dir", directory, "--text-test-share", share, *words], promised=whole)
    return Plan([call], f"{name}: {what}", [*files, str(directory), "--context", "text"], ["out/run"], check)


def _letters():
    """GPT-2's letters for bytes: printable ones stand for themselves, the others are counted from 256 on."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte) if byte in shown else chr(next(others)) for byte in range(256)]


PATTERN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def _tokenizer_json(ids, pairs, **parts):
    return json.dumps({"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": None, "post_processor": None, **parts,
                       "model": {"type": "BPE", "vocab": ids, "merges": [f"{a} {b}" for a, b in pairs], **parts.get("model", {})}}).encode()


def _of_bytes(ids, pairs, cut):
    """As GPT-2's, or as those of Llama 3 and Qwen."""
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": not cut}
    added = [{"id": len(ids) + number, "content": content, "special": False, "normalized": number > 0, "rstrip": number > 1}
             for number, content in enumerate(("fox", "  ", "then"))]
    if not cut:
        return _tokenizer_json(ids, pairs, pre_tokenizer=level, decoder={"type": "ByteLevel"}, added_tokens=added)
    split = {"type": "Split", "pattern": {"Regex": PATTERN}, "behavior": "Isolated", "invert": False}
    parts = [split, {"type": "Digits", "individual_digits": True}, level]
    return _tokenizer_json(ids, pairs, normalizer={"type": "NFC"}, pre_tokenizer={"type": "Sequence", "pretokenizers": parts},
                           added_tokens=added, model={"ignore_merges": True})


def _of_characters(rng, pairs):
    """As Llama 2's, or as Mistral's."""
    pairs = [tuple(part.replace("Ġ", "▁") for part in pair) for pair in pairs]
    names = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)] + ["▁", *"abcdefghijklmnopqrstuvwxyz"]
    names += ["".join(pair) for pair in pairs]
    marks = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
                                                 {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}
    space = {"normalizer": marks} if rng.random() < 0.5 else {
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": rng.random() < 0.5}}
    template = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]}
    added = [{"id": number, "content": names[number], "special": True} for number in range(3)]
    return _tokenizer_json({name: number for number, name in enumerate(names)}, pairs, **space, post_processor=template, added_tokens=added,
                           model={"unk_token": "<unk>", "byte_fallback": True, "fuse_unk": True})


def make_vocabulary(rng, place, base):
    """A small vocabulary of each form that eave reads, damaged. What eave takes, it must be able to train on."""
    directory, text, run = place.inputs / "vocabulary", place.inputs / "text", place.out / "run"
    directory.mkdir()
    text.mkdir()
    (text / "a.txt").write_bytes(_text(rng, 800))
    pairs = [("t", "h"), ("th", "e"), ("Ġ", "a"), ("o", "v"), ("e", "r"), ("ov", "er"), ("Ġ", "the")]
    names = _letters() + ["".join(pair) for pair in pairs] + ["<|endoftext|>"]
    ids = {name: number for number, name in enumerate(names)}
    merges = "#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in pairs)
    form, whole, what = rng.randrange(4), rng.random() < 0.2, "nothing changed"
    if form == 0:
        files = {"encoder.json": json.dumps(ids).encode(), "vocab.bpe": merges.encode()}
    else:
        files = {"tokenizer.json": _of_characters(rng, pairs) if form == 3 else _of_bytes(ids, pairs, cut=form == 2)}
    name = rng.choice(sorted(files))
    if not whole:
        damage = mutations.damage_json if name.endswith("json") and rng.random() < 0.6 else None
        files[name], what = damage(rng, files[name].decode()) if damage else mutations.damage_text(rng, files[name].decode())
    for each, data in files.items():
        (directory / each).write_bytes(data if isinstance(data, bytes) else data.encode())
    call = Call(["train", "--data", "text", "--data-dir", text, "--vocabulary", directory, "--model", MODEL, "--max-steps", 2,
                 "--context", 8, "--checkpoint", "off", "--run-dir", run], promised=whole)
    return Plan([call], f"{name}: {what}", [*files, str(directory), "--context", "vocabulary"], ["out/run", "home/.cache"],
                bounds={"memory_mib": 3000, "cpu_s": 30})  # a damaged number may be that of a large vocabulary
