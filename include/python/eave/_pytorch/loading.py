"""Lets an Averager follow load_state_dict of its model."""
from __future__ import annotations

import ctypes
import hashlib
import sys
from typing import TYPE_CHECKING

from .._error import USAGE, Error
from .._library import HAS_CENTER
from .._ranks import rank, require_same, texts_of_ranks
from .optimizer import complete_options

if TYPE_CHECKING:
    import torch

    from .._averager import Averager


def take_loaded(averager: Averager) -> None:
    """Collective after load_state_dict of the model if the method has a center, which would pull the model back to the
    values that it holds. Unless averager.load_state_dict() has followed, the method begins anew, from rank 0's model."""
    if not averager._is_loaded or not averager._has(HAS_CENTER):
        return
    name = averager._name
    require_same(f"load_state_dict of the model of {name}")
    if averager._is_recorded:
        raise Error(USAGE, f"load_state_dict has changed the model, so {name} would begin anew, and an eave.Run records it: "
                           "load before eave.Run is opened", is_shared=True)
    averager._is_loaded = False
    if rank() == 0:
        print(f"eave: load_state_dict has changed the model: {name} begins anew from rank 0's", file=sys.stderr)
    _begin_anew(averager)


def _begin_anew(averager: Averager) -> None:
    vector = averager._vector
    vector.read("load_state_dict")
    averager._settle()
    averager._close_to_begin_anew()
    averager._open(vector.values.data_ptr(), vector.gradients.vector.data_ptr(), vector.values.numel(), averager._name,
                   complete_options(averager._options, averager._optimizer, vector.values))
    vector.low.write()
    if averager._look_ahead:
        averager._look_ahead.update()
    averager._tell_look_ahead()


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
