"""Refusals that all ranks share, so that no rank waits for one that has raised an Error alone."""
from __future__ import annotations

from typing import Callable, Optional

from .._error import USAGE, Error
from .._library import VERSION
from .._ranks import require_same, size, texts_of_ranks


def refuse_together(*checks: Callable[[], None]) -> None:
    """Collective. Makes these checks, each of which may raise an Error. If one fails on any rank, all ranks raise the
    Error of the first such rank. The message names that rank, unless all ranks have the same failure."""
    failure: Optional[Error] = None
    try:
        for check in checks:
            check()
    except Error as error:
        failure = error
    if size() == 1:
        if failure:
            raise failure
        return
    texts = texts_of_ranks(str(failure) if failure else "")
    bad = [rank for rank, text in enumerate(texts) if text]
    if bad:
        where = "" if len(set(texts)) == 1 else f"rank {bad[0]}: "
        raise Error(USAGE, where + texts[bad[0]], is_shared=True)


def require_same_versions() -> None:
    """Collective. Raises an Error with code 78 unless all ranks have the same versions of eave and PyTorch."""
    import torch
    require_same(f"eave {VERSION} and PyTorch {torch.__version__.partition('+')[0]}")
