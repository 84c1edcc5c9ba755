"""A checkpoint that only some ranks have loaded."""
from __future__ import annotations

import ctypes
import hashlib
from typing import TYPE_CHECKING

from .._error import USAGE, Error
from .._ranks import texts_of_ranks

if TYPE_CHECKING:
    import torch


def _hash_of(values: torch.Tensor) -> str:
    host = values.detach().cpu()
    size = host.numel() * host.element_size()
    return hashlib.blake2b((ctypes.c_char * size).from_address(host.data_ptr()), digest_size=16).hexdigest()


def refuse_loaded_alone(is_loaded: bool, values: torch.Tensor) -> None:
    """Collective, if load_state_dict was called on some ranks only. Raises an Error if the parameters differ between ranks
    now. They do not if the caller has sent them to the other ranks."""
    texts = texts_of_ranks(f"{is_loaded} {_hash_of(values)}")
    if len({text.split()[1] for text in texts}) == 1:
        return
    ranks = [str(rank) for rank, text in enumerate(texts) if text.startswith("True")]
    which = f"rank {ranks[0]} alone" if len(ranks) == 1 else f"ranks {', '.join(ranks)} alone"
    raise Error(USAGE, f"load_state_dict was called on {which}, and the ranks' parameters differ now: load on all ranks, or "
                       "before the Averager is made, which gives all ranks rank 0's values", is_shared=True)
