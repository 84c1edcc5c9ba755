"""VectorAverager, a communicator over two vectors, whatever computed them."""
import ctypes
import sys

from ._library import USAGE, Error
from ._method import Method

_FLOAT32 = "f", "<f" if sys.byteorder == "little" else ">f"  # ctypes' arrays name their byte order


def _address(vector, what):
    try:
        view = memoryview(vector)
        fits = view.format in _FLOAT32 and view.ndim == 1 and not view.readonly and view.contiguous and len(view) > 0
    except TypeError:  # it has no buffer; a list, for example
        fits = False
    if not fits:
        raise Error(USAGE, f"{what}: expected a vector of float32 that can be written, array.array('f', ...) or "
                           f"numpy.zeros(n, 'float32'); this is {type(vector).__name__}")
    return ctypes.addressof(ctypes.c_char.from_buffer(vector))


class VectorAverager(Method):
    """Averages two vectors of float32 among ranks. `parameters` and `gradients` must not move in memory until close().

        averager = eave.VectorAverager(x, g, "easgd", tau=10, lr=0.1)
        for step in range(steps):
            averager.begin_step(0.1)          # the learning rate; x may change here
            g[:] = gradient_of(x)
            if averager.before_update():      # g may have become the mean over all ranks
                x -= 0.1 * g                  # in place
            averager.after_update()
        averager.consensus(model)             # into a third vector
        averager.close()

    `options` are those of Averager, and lr and momentum of your update. With nesterov=True, x is ahead of the iterate:
    see look_ahead.
    """

    def __init__(self, parameters, gradients, communicator="allreduce", **options):
        self._vectors = [parameters, gradients]
        if len(parameters) != len(gradients):
            raise Error(USAGE, f"{len(parameters)} parameters, but {len(gradients)} gradients")
        super().__init__(_address(parameters, "parameters"), _address(gradients, "gradients"), len(parameters),
                         communicator, options)

    begin_step, before_update, after_update = Method._begin_step, Method._before_update, Method._after_update

    def look_ahead(self, velocity, factor):
        """Tells where the iterate is, on which exchanges work: parameters + factor * velocity. An exchange reads
        `velocity` when it needs it. Call this before the first step, with zeros, and after each update that changes the
        factor."""
        if len(velocity) != len(self._vectors[0]):
            raise Error(USAGE, f"velocity: {len(velocity)} values for {len(self._vectors[0])} parameters")
        self._vectors[2:] = [velocity]
        self._call("look_ahead", _address(velocity, "velocity"), float(factor))

    def consensus(self, into):
        """Collective, between steps. Writes the values to evaluate and save, which are equal on all ranks, to the
        vector `into`. Warns if they are still those with which all ranks began. Raises an Error with code 70 if vectors
        differ that the method keeps equal, and names the ranks."""
        if len(into) != len(self._vectors[0]):
            raise Error(USAGE, f"into: {len(into)} values for {len(self._vectors[0])} parameters")
        self._call("consensus", _address(into, "into"))
