"""Reads from a shared library its own name (SONAME) and the names of the libraries that it needs."""
from __future__ import annotations

import pathlib
import struct
from typing import NamedTuple, Optional

_LOADED, _DYNAMIC = 1, 2                       # types of segments
_END, _NEEDED, _TEXTS, _SONAME = 0, 1, 5, 14  # tags of the dynamic segment


class Names(NamedTuple):
    soname: Optional[str]
    needed: list[str]


def read_names(file: str | pathlib.Path) -> Names:
    """Raises ValueError if the file is no shared library of 64 bits, OSError if it cannot be read."""
    content = pathlib.Path(file).read_bytes()
    if content[:4] != b"\x7fELF" or len(content) < 64 or content[4] != 2:
        raise ValueError(f"{file} is no shared library of 64 bits")
    try:
        return _names_in(content, "<" if content[5] == 1 else ">")
    except struct.error as failure:
        raise ValueError(f"{file} is cut off") from failure


def _names_in(content: bytes, order: str) -> Names:
    headers, size, count = *struct.unpack_from(order + "Q", content, 32), *struct.unpack_from(order + "HH", content, 54)
    segments = [_segment(content, order, headers + size * number) for number in range(count)]
    entries = [entry for kind, offset, _, length in segments if kind == _DYNAMIC
               for entry in _entries(content[offset:offset + length], order)]
    texts = _offset_of(next((value for tag, value in entries if tag == _TEXTS), 0), segments)

    def text(at: int) -> str:
        return content[texts + at:content.index(b"\0", texts + at)].decode(errors="replace")

    sonames = [text(value) for tag, value in entries if tag == _SONAME]
    return Names(sonames[0] if sonames else None, [text(value) for tag, value in entries if tag == _NEEDED])


def _segment(content: bytes, order: str, at: int) -> tuple[int, int, int, int]:
    """Returns (type, offset in the file, address, length in the file)."""
    kind, _, offset, address, _, length = struct.unpack_from(order + "IIQQQQ", content, at)
    return kind, offset, address, length


def _entries(dynamic: bytes, order: str) -> list[tuple[int, int]]:
    entries = []
    for tag, value in struct.iter_unpack(order + "qQ", dynamic):
        if tag == _END:
            break
        entries.append((tag, value))
    return entries


def _offset_of(address: int, segments: list[tuple[int, int, int, int]]) -> int:
    for kind, offset, begin, length in segments:
        if kind == _LOADED and begin <= address < begin + length:
            return offset + address - begin
    return 0
