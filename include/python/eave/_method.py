"""Method, the base class of Averager and VectorAverager: a communicator that libeave.so runs over two vectors."""
import ctypes
import operator

from . import _exit_hooks  # noqa: F401  imported because it installs the hooks that end a rank
from ._library import USAGE, Error, Spent, call, job, start


class Method:
    """A communicator over two vectors, parameters and gradients, given by their addresses."""

    def __init__(self, parameters, gradients, count, communicator, options):
        start()
        words = [f"{name.replace('_', '-')}={_word(value)}" for name, value in sorted(options.items())]
        words.insert(0, f"communicator={communicator}")
        self._handle = ctypes.c_void_p()
        call("open", " ".join(words).encode(), parameters, gradients, count, ctypes.byref(self._handle))
        job.open += 1

    @property
    def description(self):
        """The method's equation with the numbers of this run, then its warnings."""
        return self._facts()[0]

    @property
    def spent(self):
        """(seconds waited, bytes sent, operations) of this rank so far; after close(), up to then."""
        return self._facts()[1]

    @property
    def steps_left_out(self):
        """The number of steps that this rank has left out so far, because their gradient or loss was not finite."""
        return self._facts()[2]

    def _facts(self):
        if not self._handle:
            return self._last_facts
        spent = Spent()
        call("spent_by", self._handle, ctypes.byref(spent))
        return (job.library.eave_description(self._handle).decode(),
                (spent.seconds_waiting, spent.bytes, spent.calls), job.library.eave_steps_left_out(self._handle))

    def _has(self, trait):
        return bool(job.library.eave_traits(self._handle) & trait)

    def _call(self, name, *arguments):
        if not self._handle:
            raise Error(USAGE, f"{name}: this averager is closed; make a new one, on all ranks")
        call(name, self._handle, *arguments)

    def _begin_step(self, learning_rate, samples=0, samples_everywhere=0):
        """Collective. Call it before gradients are computed; it may change the parameters. If batches differ in size, pass
        the samples of this rank and of all ranks. If both are 0, all ranks have the same weight in means."""
        self._call("begin_step", _whole(samples), _whole(samples_everywhere), float(learning_rate))

    def _before_update(self, loss_sum=0.0):
        """Collective. Call it when the gradients are complete. Returns whether the optimizer must take its step. It
        must not if the method moves the parameters itself, or if a gradient or the loss is not finite. `loss_sum` is
        the sum over this rank's samples, for methods that weigh replicas by it."""
        updates = ctypes.c_int()
        self._call("before_update", float(loss_sum), ctypes.byref(updates))
        return updates.value != 0

    def _after_update(self):
        """Collective. Call it when the parameters have been updated."""
        self._call("after_update")

    def close(self):
        """Collective. Ends the method on all ranks. Each rank keeps its own parameters; see consensus."""
        if self._handle:
            self._last_facts = self._facts()
            handle, self._handle = self._handle, None
            call("close", handle)
            job.open -= 1


def _whole(samples):
    """Returns `samples` as an int from 0 to 2**63 - 1, or raises an Error. ctypes would silently cut off larger
    ones."""
    try:
        number = operator.index(samples)
    except TypeError:
        number = -1
    if 0 <= number < 2**63:
        return number
    raise Error(USAGE, f"begin_step: {str(samples)[:40]!r} samples; expected a whole number from 0 up")


def _word(value):
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else value
