"""Saves an Averager and restores it: by torch.save of each rank, or by a checkpoint of all ranks."""
from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Optional, Sequence, Union

from .._error import USAGE, Error
from .._library import job
from .._method import Method
from .._ranks import rank, text_of_first_rank
from .agreement import refuse_together
from .plain import bytes_of, content_of, require_readable, with_plain_numbers
from .saved_facts import (list_groups, list_parameters, refuse_other_optimizer, refuse_other_parameters,
                          refuse_other_values)

if TYPE_CHECKING:
    import torch

    from .optimizer import LookAhead
    from .parameters import ParameterVector

NOBODY, NO_CHECKPOINT = -1, -2  # as in eave.h
_STATE = "state"


class _Bytes:
    """Two variables to which a function of libeave.so writes where its bytes are. They are valid until the next one."""

    def __init__(self) -> None:
        self.place, self.count = ctypes.c_void_p(), ctypes.c_size_t()

    def references(self) -> tuple[Any, Any]:
        return ctypes.byref(self.place), ctypes.byref(self.count)

    def copy(self) -> bytes:
        return ctypes.string_at(self.place, self.count.value) if self.count.value else b""


class _States:
    """Takes and restores the state of one averager."""

    def __init__(self, method: Method) -> None:
        self._call = method._call

    def take(self, caller: bytes) -> dict[str, torch.Tensor]:
        import torch
        found = _Bytes()
        self._call("state", caller, len(caller), *found.references())
        state = torch.empty(found.count.value, dtype=torch.uint8, device="cpu")
        ctypes.memmove(state.data_ptr(), found.place, found.count.value)
        return {_STATE: state}

    def restore(self, states: Sequence[Mapping[str, Any]]) -> tuple[int, bytes]:
        """Returns the former rank that this one goes on from, and the bytes that it kept with its state."""
        tensors = [_tensor_in(state) for state in states]
        places = (ctypes.c_void_p * len(tensors))(*(each.data_ptr() for each in tensors))
        counts = (ctypes.c_size_t * len(tensors))(*(each.numel() for each in tensors))
        former, caller = ctypes.c_int(), _Bytes()
        self._call("restore", places, counts, len(tensors), ctypes.byref(former), *caller.references())
        return former.value, caller.copy()

    def save(self, directory: str, caller: bytes, kept: int) -> None:
        self._call("save", os.fsencode(directory), caller, len(caller), kept)

    def load(self, directory: str) -> tuple[int, bytes]:
        """As restore; the rank is NO_CHECKPOINT if there is none."""
        former, caller = ctypes.c_int(), _Bytes()
        self._call("load", os.fsencode(directory), ctypes.byref(former), *caller.references())
        return former.value, caller.copy()


def _tensor_in(state: Any) -> torch.Tensor:
    import torch
    tensor = state.get(_STATE) if isinstance(state, Mapping) else None
    if not isinstance(tensor, torch.Tensor) or tensor.dtype != torch.uint8:
        raise Error(USAGE, "load_state_dict: expected what averager.state_dict() returned, or a list of those of all ranks "
                           f"that saved; this is {type(state).__name__}")
    return tensor.cpu().contiguous()


def _checkpoints_in(call: str, run_dir: Union[str, os.PathLike[str]]) -> str:
    """The directory of a run's checkpoints."""
    try:
        path = os.fsdecode(run_dir)
    except TypeError:
        path = "\0"
    if "\0" in path:  # the library would take what comes before it
        raise Error(USAGE, f"{call}: run_dir={str(run_dir)[:40]!r}; expected a path")
    return os.path.join(path, "checkpoint")


def _refuse_inner_folder(given: pathlib.Path) -> None:
    """Collective, if load() has found no checkpoint. Raises an Error if it was given the directory of a run's checkpoints, or
    one of these, in place of the run's: the job would begin anew."""
    above = ""
    with contextlib.suppress(OSError):
        for pattern, folder in ("step-*/manifest.json", ".."), ("manifest.json", "../.."):
            if rank() == 0 and any(given.glob(pattern)):
                above = folder
    if above := text_of_first_rank(above):
        raise Error(USAGE, f"load: {os.fspath(given)!r} is where save() keeps its checkpoints; expected the run_dir that was "
                           f"given to save(): {os.path.normpath(given / above)!r}", is_shared=True)


class _Beside:
    """All that a model and an optimizer need besides the averaged parameters, which lie in `values`: buffers, frozen
    parameters, the optimizer's state and the states of PyTorch's random numbers."""

    def __init__(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, values: torch.Tensor) -> None:
        self._model, self._optimizer, self._values = model, optimizer, values

    def values_of_model(self) -> dict[str, Any]:
        import torch
        return {name: each for name, each in self._model.state_dict().items()
                if not (isinstance(each, torch.Tensor) and self._holds(each))}

    def take(self) -> dict[str, Any]:
        import torch
        device = self._values.device
        return {"model": self.values_of_model(), "optimizer": self._optimizer.state_dict(), "random": torch.get_rng_state(),
                "random_cuda": torch.cuda.get_rng_state(device) if device.type == "cuda" else None}

    def _holds(self, tensor: torch.Tensor) -> bool:
        begin = self._values.data_ptr()
        end = begin + self._values.numel() * self._values.element_size()
        return bool(tensor.numel() > 0 and begin <= tensor.data_ptr() < end)

    def restore(self, content: dict[str, Any], former: int) -> None:
        import torch
        self._model.load_state_dict(content["model"], strict=False)
        optimizer = content["optimizer"]
        self._optimizer.load_state_dict({**optimizer, "state": {}} if former == NOBODY else optimizer)
        if former != rank():
            return
        torch.set_rng_state(content["random"])
        if content["random_cuda"] is not None and self._values.is_cuda:
            torch.cuda.set_rng_state(content["random_cuda"], self._values.device)


class SavedMethod(Method):
    """The part of an Averager that saves and goes on."""

    _model: torch.nn.Module
    _optimizer: torch.optim.Optimizer
    _vector: ParameterVector
    _look_ahead: Optional[LookAhead]
    _is_loaded: bool
    _is_torn: bool
    _is_evaluating: bool

    def _refuse_closed_or_torn(self, call: str) -> None:
        raise NotImplementedError

    def _settle(self) -> None:
        raise NotImplementedError

    def _keep_place(self) -> None:
        raise NotImplementedError

    @property
    def steps(self) -> int:
        """The number of steps done, also by the jobs that this one goes on from."""
        self._refuse_closed("steps")
        return int(job.library.eave_steps(self._handle))

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Collective, after a step. Returns this rank's part of what the method needs to go on: the parameters, its center
        and momentum, what compression has dropped, and the counts of steps. Let each rank save it by torch.save, beside
        the model's state_dict() (for its buffers) and the optimizer's."""
        with self._read_to_save("state_dict"):
            return _States(self).take(bytes_of(self._describe()))

    def load_state_dict(self, state: Union[Mapping[str, Any], Sequence[Mapping[str, Any]]]) -> None:
        """Collective, before the first step, with the state that this rank saved. Load the model's and the optimizer's
        before. With another number of ranks, give each rank the list of the states of all ranks that saved."""
        self._read_to_load("load_state_dict")
        states = list(state) if not isinstance(state, Mapping) and isinstance(state, Sequence) else [state]
        former, saved = _States(self).restore(states)
        found = content_of(saved)
        content = found if isinstance(found, dict) else {"look_ahead": found}  # as older versions saved it
        self._refuse_other("load_state_dict", content)
        self._go_on(former, content["look_ahead"])

    def save(self, run_dir: Union[str, os.PathLike[str]], *, keep: int = 3, **extra: Any) -> None:
        """Collective, after a step. Saves a checkpoint of everything in run_dir/checkpoint/step-N: the model, the optimizer,
        the method, PyTorch's random numbers, and `extra` of each rank (tensors, numbers, text, and lists and dicts of
        them, such as scheduler=scheduler.state_dict()). It is complete and on the disk when this returns. Keeps the
        newest `keep`. Numbers of NumPy become those of Python. Raises an Error on all ranks if load() could not read a
        value, or if run_dir has a checkpoint of this or a later step, which would be lost, and this process has neither
        loaded from there nor saved there before."""
        self._refuse_saving("save")
        if not isinstance(keep, int) or keep < 1:
            raise Error(USAGE, f"save: keep={keep!r}; expected a whole number from 1 up")
        directory = _checkpoints_in("save", run_dir)
        with self._read_to_save("save"):
            beside = with_plain_numbers(_Beside(self._model, self._optimizer, self._vector.values).take())
            extra = with_plain_numbers(extra)
            refuse_together(lambda: require_readable(extra=extra, model=beside["model"], optimizer=beside["optimizer"]))
            content = {**beside, **self._describe(), "extra": extra, "optimizer_class": type(self._optimizer).__name__,
                       "groups": list_groups(self._optimizer, self._vector.trained)}
            _States(self).save(directory, bytes_of(content), keep)
        self._keep_place()

    def load(self, run_dir: Union[str, os.PathLike[str]]) -> Optional[dict[str, Any]]:
        """Collective, before the first step. Restores the newest whole checkpoint of save() and returns its `extra`. Returns
        None and does nothing if there is none. The number of ranks may differ from the one that saved: then a rank that
        was not there gets rank 0's `extra`."""
        self._read_to_load("load")
        directory = _checkpoints_in("load", run_dir)
        if os.path.isfile(run_dir):
            raise Error(USAGE, f"load: {os.fspath(run_dir)!r} is a file; expected the run_dir that was given to save()")
        former, saved = _States(self).load(directory)
        if former == NO_CHECKPOINT:
            _refuse_inner_folder(pathlib.Path(directory).parent)
            return None
        content: dict[str, Any] = content_of(saved)
        self._refuse_other("load", content)
        _Beside(self._model, self._optimizer, self._vector.values).restore(content, former)
        self._go_on(former, content["look_ahead"])
        extra: dict[str, Any] = content["extra"]
        return extra

    def _describe(self) -> dict[str, Any]:
        return {"parameters": list_parameters(self._vector.trained), "layouts": self._vector.layouts,
                "look_ahead": self._look_ahead.values if self._look_ahead else None}

    def _refuse_other(self, call: str, content: Mapping[str, Any]) -> None:
        """Call it after the averager's values have been restored, and before anything else is. After an Error only
        close() follows."""
        self._is_torn = True
        refuse_other_parameters(call, content, self._vector.trained, self._vector.layouts)
        if "optimizer" in content:
            beside = _Beside(self._model, self._optimizer, self._vector.values).values_of_model()
            refuse_other_values(content["model"], self._model, beside)
            refuse_other_optimizer(content, self._optimizer, self._vector.trained)
        self._is_torn = False

    def _refuse_saving(self, call: str) -> None:
        self._refuse_closed_or_torn(call)
        if self._is_evaluating:
            raise Error(USAGE, f"{call} within consensus(): the model's values are put back when that ends")
        if self._is_in_step:
            raise Error(USAGE, f"{call} within a step: {self._what_comes_first()}")

    @contextlib.contextmanager
    def _read_to_save(self, call: str) -> Iterator[None]:
        self._refuse_saving(call)
        with self._vector.reading(call):
            self._settle()
            yield

    def _read_to_load(self, call: str) -> None:
        self._refuse_saving(call)
        self._vector.read(call)
        self._settle()

    def _go_on(self, former: int, look_ahead: Optional[torch.Tensor]) -> None:
        """Call it after the averager's values have been restored, including those of the model that load_state_dict has
        changed."""
        self._is_loaded = False
        self._vector.low.write()
        if self._look_ahead and former == rank() and look_ahead is not None:
            self._look_ahead.restore(look_ahead)
        self._settle()
