"""Trains a small BPE of each kind on texts, and writes tokenizer.json as models on Hugging Face have it. Runs in the
environment of reference_packages.py.

    reference_kinds.py FOLDER TEXT...        writes FOLDER/KIND.json for each kind, and FOLDER/KIND-added.json with added
                                             tokens for some, and prints the names of the kinds
"""
import json
import pathlib
import sys

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")
GPT4 = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
          r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK = (r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"""
            r"""\s*[\r\n]+|\s+(?!\S)|\s+""")


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


def byte_level(use_regex=False):
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)


def in_turn(*parts):
    return pre_tokenizers.Sequence(list(parts))


# The pre_tokenizer, the normalizer, options of the model.
OF_BYTES = {
    "llama3": (in_turn(split(LLAMA3), byte_level()), None, {"ignore_merges": True}),
    "qwen2": (in_turn(split(QWEN2), byte_level()), normalizers.NFC(), {}),
    "smollm": (in_turn(pre_tokenizers.Digits(individual_digits=True), byte_level(True)), None, {}),
    "runs-of-digits": (in_turn(pre_tokenizers.Digits(individual_digits=False), byte_level(True)), None, {}),
    "deepseek": (in_turn(split(r"\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"), split(DEEPSEEK), byte_level()), normalizers.Sequence([]), {}),
    "tekken": (in_turn(split(TEKKEN), byte_level()), None, {"ignore_merges": True}),
    "gpt4": (in_turn(split(GPT4, "removed", True), byte_level()), None, {}),
    "merged-with-next": (in_turn(split(r"[\s,]", "merged_with_next"), byte_level()), None, {}),
    "merged-with-previous": (in_turn(pre_tokenizers.Split(".", "merged_with_previous"), split(r"\s|\d+(?=x)|(?!\p{L})", "merged_with_previous"),
                                     byte_level()), None, {}),
    "uncut": (byte_level(), None, {}),
}
TO_MARK = normalizers.Replace(" ", "▁")
OF_CHARACTERS = {
    "llama2": (None, normalizers.Sequence([normalizers.Prepend("▁"), TO_MARK]), {"byte_fallback": True, "fuse_unk": True}),
    "mistral": (pre_tokenizers.Metaspace(prepend_scheme="first", split=False), None, {"byte_fallback": True, "fuse_unk": True}),
    "gemma": (pre_tokenizers.Split(" ", "merged_with_previous"), TO_MARK, {"byte_fallback": True, "fuse_unk": True}),
    "metaspace": (pre_tokenizers.Metaspace(prepend_scheme="always"), None, {"byte_fallback": True}),
    "metaspace-never": (pre_tokenizers.Metaspace(prepend_scheme="never"), None, {"byte_fallback": True}),
    "unknown-fused": (pre_tokenizers.Metaspace(), None, {"fuse_unk": True}),
    "unknown": (None, normalizers.Sequence([normalizers.Prepend("▁"), TO_MARK]), {}),
}

# The content, and the flags that are true. Some begin as others do, hold others, or are within special ones.
ADDED = [(" " * count, ["normalized"]) for count in range(2, 9)] + [
    ("<tool_call>", []), ("</tool_call>", []), ("<tool", []), ("_call>x", []), ("tool_ca", []), ("<|im_start|>", ["special"]), ("<|im", []),
    ("start|>", []), ("<n>", ["normalized"]), ("<n> n", ["normalized"]), ("n><n", ["normalized", "special"]), ("e\u0301x", ["normalized"]),
    ("\u212b", []), ("\n\n", []), ("▁▁", []), ("東京", ["normalized"]), ("[L]", ["lstrip"]), ("[R]", ["rstrip"]),
    ("[B]", ["lstrip", "rstrip", "normalized"]), ("word", ["single_word"]), ("wört", ["single_word", "normalized"]), ("[LW", ["lstrip", "single_word"])]
# Apart from the others, because tokenizers panics if a token takes white space away that a later one begins in.
BLANKS = [("\n", ["lstrip", "rstrip"]), ("  ", ["lstrip", "rstrip", "normalized"])]
WITH_ADDED = ["llama3", "qwen2", "smollm", "merged-with-next", "llama2", "mistral", "gemma", "metaspace", "metaspace-never", "unknown-fused"]


def train(kind, texts):
    is_of_bytes = kind in OF_BYTES
    cut, normalizer, options = (OF_BYTES if is_of_bytes else OF_CHARACTERS)[kind]
    tokenizer = Tokenizer(models.BPE(**options) if is_of_bytes else models.BPE(unk_token="<unk>", **options))
    if cut is not None:
        tokenizer.pre_tokenizer = cut
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    special = [] if is_of_bytes else ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)] * ("byte_fallback" in options)
    alphabet = pre_tokenizers.ByteLevel.alphabet() if is_of_bytes else []
    # Without a cut, lines are the words that are counted.
    trainer = trainers.BpeTrainer(vocab_size=1500 + len(special), special_tokens=special, initial_alphabet=alphabet, show_progress=False,
                                  limit_alphabet=400, max_token_length=20)
    tokenizer.train_from_iterator((line for text in texts for line in text.splitlines(keepends=True)), trainer)
    return tokenizer


def finished(tokenizer, kind):
    """As a file: the special tokens are not looked for in texts, as in eave, because added_tokens are left out."""
    written = json.loads(tokenizer.to_str())
    written["added_tokens"] = []
    if kind == "smollm":  # merges as older files have them
        written["model"]["merges"] = [" ".join(pair) for pair in written["model"]["merges"]]
    if kind == "llama3":  # words that no merge makes
        numbers = written["model"]["vocab"]
        for word in ("Ġelastic", "Ġaveraging", "zzzyx"):
            numbers.setdefault(word, len(numbers))
    return written


def with_added(written, tokens):
    """The tokenizer, as a file, with these added tokens; those that it has not are numbered behind its own."""
    numbers = dict(written["model"]["vocab"])
    flags = ["single_word", "lstrip", "rstrip", "normalized", "special"]
    added = [dict({"id": numbers.setdefault(content, len(numbers)), "content": content}, **{flag: flag in true for flag in flags})
             for content, true in tokens]
    return dict(written, added_tokens=sorted(added, key=lambda token: token["id"]))


def main():
    folder, texts = pathlib.Path(sys.argv[1]), [pathlib.Path(path).read_text(encoding="utf-8") for path in sys.argv[2:]]
    for kind in [*OF_BYTES, *OF_CHARACTERS]:
        written = finished(train(kind, texts), kind)
        files = {kind: written} | ({f"{kind}-added": with_added(written, ADDED)} if kind in WITH_ADDED else {})
        files |= {f"{kind}-blanks-added": with_added(written, BLANKS)} if kind in ("llama3", "llama2") else {}
        for name, content in files.items():
            (folder / f"{name}.json").write_text(json.dumps(content, ensure_ascii=False))
            print(name)


if __name__ == "__main__":
    main()
