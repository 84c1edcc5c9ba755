"""Finds the line of the caller's program that led to a call, for messages that name the line to change."""
from __future__ import annotations

import os
import sys
from types import FrameType
from typing import NamedTuple, Optional

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Line(NamedTuple):
    file: str
    number: int

    def __str__(self) -> str:
        return f"line {self.number} of {os.path.basename(self.file)}"


def _folder_of_pytorch() -> str:
    torch = sys.modules.get("torch")
    return os.path.dirname(torch.__file__) + os.sep if torch and torch.__file__ else _PACKAGE


def find_line() -> Optional[Line]:
    """The line of the caller's program that led here: the innermost frame that is neither eave's nor PyTorch's."""
    foreign = (_PACKAGE, _folder_of_pytorch(), "<eval_with_key>")
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(foreign):
            return Line(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return None


def at(line: Optional[Line]) -> str:
    """" at line 12 of train.py", or "" if the line is not known."""
    return f" at {line}" if line else ""
