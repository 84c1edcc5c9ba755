"""VectorAverager, a communicator over two vectors, whatever computes their gradients."""
from __future__ import annotations

import ctypes
import sys
from typing import Any, Optional, Protocol

from ._error import USAGE, Error
from ._method import Method, Option, keep
from ._program import method_of_run, note_method, require_planned_rate

_FLOAT32 = "f", "<f" if sys.byteorder == "little" else ">f"  # ctypes' arrays name their byte order


class Vector(Protocol):
    """A vector of float32 with a buffer that can be written: array.array("f", ...), NumPy's, ctypes'."""

    def __len__(self) -> int: ...


def _hold(vector: Any, what: str) -> ctypes.c_char:
    """Returns the vector's first byte. While it lives, the vector cannot be resized, so it stays where it is."""
    try:
        with memoryview(vector) as view:
            fits = view.format in _FLOAT32 and view.ndim == 1 and not view.readonly and view.contiguous and len(view) > 0
    except TypeError:  # it has no buffer; a list, for example
        fits = False
    if not fits:
        raise Error(USAGE, f"{what}: expected a vector of float32 that can be written, array.array('f', ...) or "
                           f"numpy.zeros(n, 'float32'); this is {type(vector).__name__}")
    return ctypes.c_char.from_buffer(vector)


class VectorAverager(Method):
    """Averages two vectors of float32 among ranks. Until close(), `parameters` and `gradients` must stay where they are:
    array.array raises BufferError if it is resized, mmap and shared memory if they are closed. Do not resize a NumPy
    array either: with refcheck=False, its resize() moves the memory and raises nothing.

        with eave.VectorAverager(x, g, "easgd", tau=10, lr=0.1) as averager:
            for step in range(steps):
                averager.begin_step(0.1)          # the learning rate; x may change here
                g[:] = gradient_of(x)
                if averager.before_update():      # g may have become the mean over all ranks
                    x -= 0.1 * g                  # in place
                averager.after_update()
            averager.consensus(model)             # into a third vector

    `options` are those of Averager, and lr and momentum of your update. With nesterov=True, x is ahead of the iterate:
    see look_ahead. Without `with`, call close() on all ranks at the end.
    """

    def __init__(self, parameters: Vector, gradients: Vector, communicator: Optional[str] = None,
                 **options: Option) -> None:
        communicator, options = method_of_run(communicator, options)
        self._vectors = [parameters, gradients]
        if len(parameters) != len(gradients):
            raise Error(USAGE, f"{len(parameters)} parameters, but {len(gradients)} gradients")
        self._held = [_hold(parameters, "parameters"), _hold(gradients, "gradients")]
        try:
            super().__init__(ctypes.addressof(self._held[0]), ctypes.addressof(self._held[1]), len(parameters), communicator,
                             options)
        except BaseException:
            self._held.clear()
            raise
        note_method(self.description)

    def begin_step(self, learning_rate: float, samples: int = 0, samples_everywhere: int = 0) -> None:
        """Collective. Call it before gradients are computed; it may change the parameters. If batches differ in size,
        pass the samples of this rank and of all ranks. If both are 0, all ranks have the same weight in means. If the
        ranks' samples do not add up to samples_everywhere, the call that would make a mean with these weights raises an
        Error on all ranks."""
        require_planned_rate([{"lr": learning_rate}])
        self._begin_step(learning_rate, samples, samples_everywhere)

    def before_update(self, loss_sum: Optional[float] = None) -> bool:
        """Collective. Call it when the gradients are complete. Returns whether the optimizer must take its step. It
        must not if the method moves the parameters itself, or if a gradient or the loss is not finite. `loss_sum` is
        the loss summed over this rank's samples, which adaptive_tau needs."""
        return self._before_update(self._loss_in("before_update", loss_sum))

    def after_update(self) -> None:
        """Collective. Call it when the parameters have been updated."""
        self._after_update()

    def look_ahead(self, velocity: Vector, factor: float) -> None:
        """Tells where the iterate is, on which exchanges work: parameters + factor * velocity. An exchange reads
        `velocity` when it needs it. Call this before the first step, with zeros, and before each step whose factor differs
        from that of the step before."""
        if len(velocity) != len(self._vectors[0]):
            raise Error(USAGE, f"velocity: {len(velocity)} values for {len(self._vectors[0])} parameters")
        held = _hold(velocity, "velocity")
        self._call("look_ahead", ctypes.addressof(held), float(factor))
        self._vectors[2:], self._held[2:] = [velocity], [held]

    def consensus(self, into: Vector) -> None:
        """Collective, between steps. Writes the values to evaluate and save, which are equal on all ranks, to the
        vector `into`. Warns if they are still those with which all ranks began. Raises an Error with code 70 if vectors
        differ that the method keeps equal, and names the ranks."""
        if len(into) != len(self._vectors[0]):
            raise Error(USAGE, f"into: {len(into)} values for {len(self._vectors[0])} parameters")
        held = _hold(into, "into")
        self._write_consensus(ctypes.addressof(held))

    def close(self) -> None:
        """Collective. Ends the method on all ranks. Each rank keeps its own parameters; see consensus."""
        try:
            super().close()
        except BaseException:
            keep(self._vectors_in_use())  # an exchange may go on
            raise
        finally:
            self._held.clear()

    def _vectors_in_use(self) -> Any:
        """After an exception, an exchange may still read and write them until the process ends: they stay held."""
        return list(self._vectors), list(self._held)
