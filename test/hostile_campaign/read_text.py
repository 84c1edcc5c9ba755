"""Reads text and files of tokens with Python, and computes the loss of "embedding 8; tied_output" with NumPy in float64.
The loss depends on all tokens that eave has read."""
import numpy

from read_run import Refused

WIDTH = 8
MAGICS = {20240520: (1, "<u2", 50257), 20240801: (7, "<u4", 128256)}  # of llm.c: version, type, vocabulary
OTHERS = {20240326, 20240327, 20240328, 20240522}                     # of llm.c: checkpoints, tokenizers, questions


def read_tokens(path, vocabulary):
    """The tokens of a .bin file by nanoGPT or llm.c."""
    data = path.read_bytes()
    magic = int.from_bytes(data[:4], "little") if len(data) >= 4 else 0
    if not data or magic in OTHERS:
        raise Refused(f"{path}: no tokens")
    kind, begin = "<u2", 0
    if magic in MAGICS:
        version, kind, known = MAGICS[magic]
        said = int.from_bytes(data[8:12], "little")
        begin = 1024
        if int.from_bytes(data[4:8], "little") != version or len(data) != 1024 + said * int(kind[2]) or not said:
            raise Refused(f"{path}: its header does not fit")
        if vocabulary < known:
            raise Refused(f"{path}: its header says a larger vocabulary")
    if (len(data) - begin) % int(kind[2]):
        raise Refused(f"{path}: half a token")
    tokens = numpy.frombuffer(data, kind, offset=begin).astype(int)
    if tokens.max() >= vocabulary:
        raise Refused(f"{path}: a token beyond the vocabulary")
    return tokens


def is_text(data):
    return len(data) > 0 and 0 not in data[:8000]


def held_out(data, share):
    """Training and test part of one of less than ten files, as the guide says: the end, from the beginning of a line."""
    place = min(len(data), int((1 - share) * len(data) + 0.5))
    for line in range(place, max(1, place - 4096) - 1, -1):
        if data[line - 1:line] == b"\n" and line < len(data):
            return data[:line], data[line:]
    for _ in range(3):
        if 0 < place < len(data) and data[place] & 0xC0 == 0x80:
            place -= 1
    return data[:place], data[place:]


def loss(tokens, context, table):
    """The mean loss of windows of `context` tokens, which here is the mean over all tokens but the first."""
    rows, total, part = numpy.asarray(table, numpy.float64), 0, 64  # the logits of all tokens may not fit into memory
    for first in range(0, len(tokens) - 1, part):
        labels = tokens[first + 1:first + 1 + part]
        logits = rows[tokens[first:first + len(labels)]] @ rows.T
        largest = logits.max(axis=1, keepdims=True)
        logarithms = logits - largest - numpy.log(numpy.exp(logits - largest).sum(axis=1, keepdims=True))
        total -= logarithms[numpy.arange(len(labels)), labels].sum()
    return total / (len(tokens) - 1)
