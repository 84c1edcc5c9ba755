"""The states of the global random generators of PyTorch, Python and NumPy."""
from __future__ import annotations

import random
import sys
from typing import Any, Callable


class RandomNumbers:
    """The states at the time when this is made."""

    def __init__(self) -> None:
        import torch
        self._states: list[tuple[Callable[[Any], Any], Any]] = [(torch.set_rng_state, torch.get_rng_state()),
                                                                (random.setstate, random.getstate())]
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            self._states.append((torch.cuda.set_rng_state_all, torch.cuda.get_rng_state_all()))
        if numpy := sys.modules.get("numpy"):
            self._states.append((numpy.random.set_state, numpy.random.get_state()))

    def put_back(self) -> None:
        for put, state in self._states:
            put(state)


def states_to_save() -> dict[str, Any]:
    """The states of Python's and NumPy's generators, as `extra` of Averager.save(), which saves PyTorch's itself."""
    states: dict[str, Any] = {"python": random.getstate()}
    if numpy := sys.modules.get("numpy"):
        name, keys, *numbers = numpy.random.get_state()
        states["numpy"] = (name, keys.tolist(), *numbers)
    return states


def restore(states: dict[str, Any]) -> None:
    """Takes what states_to_save() returned; another dict may lack both."""
    if "python" in states:
        random.setstate(states["python"])
    if "numpy" in states and (numpy := sys.modules.get("numpy")):
        numpy.random.set_state(states["numpy"])
