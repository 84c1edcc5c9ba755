"""Method, the base class of averagers: a communicator over two vectors, and the order of its calls."""
from __future__ import annotations

import ctypes
import itertools
import operator
import re
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, ContextManager, Optional, TypeVar, Union

from . import _exit_hooks
from ._caller import Line, at, find_line
from ._error import CONFIGURATION, USAGE, Error, in_words_of_python
from ._leaving import LEFT, is_leaving
from ._library import WANTS_LOSS, Spent, call, job
from ._program import refuse_further_steps
from ._ranks import rank, start

if TYPE_CHECKING:
    from ._pytorch.gradients import Gradients

Option = Union[str, int, float, bool, None]
Self = TypeVar("Self", bound="Method")

_numbers = itertools.count()  # by which averagers are told apart in the order of their opening
_kept: list[Any] = []


class Method:
    """A communicator over two vectors, parameters and gradients, given by their addresses. As a context manager it is
    closed at the end of the block. If an exception leaves the block, it does not wait for other ranks."""
    _IN_PLACE_OF_COPIES = ""  # what to do instead, in the message that refuses a copy

    def __init__(self, parameters: int, gradients: int, count: int, communicator: str, options: dict[str, Option]) -> None:
        start()
        self._why_closed = ""
        self._is_recorded = False  # by an open Run
        self._left_run: Optional[ctypes.c_void_p] = None  # of a Run that all ranks left on request: save() still records
        self._began: Optional[Line] = None  # where the step that is under way began
        self._stage = _BETWEEN_STEPS
        self._rate = 0.0  # learning rate of the step under way
        self._steps_taken = 0
        self._planned_end = 0  # steps after which `eave compare` lets rank 0 take no more while a Run is open; 0: no limit
        self._usual_samples = 1  # of a step whose samples are not told; a Run tells more
        self._last_facts: Optional[tuple[str, tuple[float, int, int], int]] = None
        self._spent_before: tuple[float, int, int, int] = (0.0, 0, 0, 0)  # by the method before it began anew
        self._handle: Optional[ctypes.c_void_p] = None
        self._open(parameters, gradients, count, communicator, options)

    def _open(self, parameters: int, gradients: int, count: int, communicator: str, options: dict[str, Option]) -> None:
        words = [f"{name.replace('_', '-')}={_word(name, value)}" for name, value in sorted(options.items())]
        words.insert(0, f"communicator={_word('communicator', communicator)}")
        handle = ctypes.c_void_p()
        call("open", " ".join(words).encode(), parameters, gradients, count, ctypes.byref(handle))
        self._handle = handle
        self._traits = int(job.library.eave_traits(handle))
        job.open += 1
        self.number = next(_numbers)

    def _close_to_begin_anew(self) -> None:
        """Collective. Ends the method, as close() does; _open follows. What it has spent still counts."""
        _, spent, left_out = self._facts()
        self._spent_before = (*spent, left_out)
        handle, self._handle = self._handle, None
        call("close", handle)
        job.open -= 1

    @property
    def description(self) -> str:
        """The method's equation with the numbers of this run, then its warnings."""
        return self._facts()[0]

    @property
    def spent(self) -> tuple[float, int, int]:
        """(seconds waited, bytes sent, operations) of this rank so far; after close(), up to then."""
        return self._facts()[1]

    @property
    def steps_left_out(self) -> int:
        """The number of steps that this rank has left out so far, because their gradient or loss was not finite."""
        return self._facts()[2]

    @property
    def leaving(self) -> bool:
        """Whether all ranks leave now. It becomes true on all ranks after the same step, once any of them was asked to
        leave: by a signal (leave_on), or by ask_to_leave(). If ranks take steps independently (easgd-async), it becomes
        true after each rank's next step."""
        return is_leaving()

    def _facts(self) -> tuple[str, tuple[float, int, int], int]:
        if not self._handle:
            assert self._last_facts is not None
            return self._last_facts
        spent = Spent()
        call("spent_by", self._handle, ctypes.byref(spent))
        seconds, sent, calls, left_out = self._spent_before
        return (in_words_of_python(job.library.eave_description(self._handle).decode()),
                (seconds + spent.seconds_waiting, sent + spent.bytes, calls + spent.calls),
                left_out + job.library.eave_steps_left_out(self._handle))

    def _has(self, trait: int) -> bool:
        return bool(self._traits & trait)

    def _refuse_closed(self, name: str) -> None:
        if not self._handle:
            raise Error(USAGE, f"{name}: this averager is closed{self._why_closed}; make a new one, on all ranks")

    def _call(self, name: str, *arguments: Any) -> None:
        self._refuse_closed(name)
        call(name, self._handle, *arguments)

    @property
    def _is_in_step(self) -> bool:
        return self._stage != _BETWEEN_STEPS

    def _enter(self, name: str, before: int, after: int) -> None:
        """Goes from one stage of a step to the next. Raises an Error if `name` is not the call whose turn it is."""
        self._refuse_closed(name)
        if self._stage != before:
            raise Error(USAGE, f"{name}: {self._what_comes_first()}")
        self._stage = after

    def _what_comes_first(self) -> str:
        if self._stage == _BETWEEN_STEPS:
            return "no step has begun: call begin_step() first, before the gradients are computed"
        missing = "before_update() and after_update()" if self._stage == _COMPUTING else "after_update()"
        return f"the step that began{at(self._began)} has not ended: call {missing} first"

    def _begin_step(self, learning_rate: float, samples: Any = 0, samples_everywhere: Any = 0) -> None:
        numbers = _whole(samples), _whole(samples_everywhere), float(learning_rate)
        _require_part(*numbers[:2])
        if self._planned_end and self._steps_taken >= self._planned_end and rank() == 0:
            refuse_further_steps()
        self._enter("begin_step", _BETWEEN_STEPS, _COMPUTING)
        try:
            self._call("begin_step", *numbers)
        except Error as error:
            if error.code in (USAGE, CONFIGURATION):  # nothing has been done
                self._stage = _BETWEEN_STEPS
            raise
        self._began, self._rate = find_line(), numbers[2]

    def _change_rate(self, learning_rate: float) -> None:
        """Tells the method the rate at which the optimizer takes the step under way, if it is not the one that it knows."""
        if learning_rate != self._rate:
            self._call("change_rate", learning_rate)
            self._rate = learning_rate

    def _loss_in(self, call: str, loss_sum: Any, is_late: bool = False) -> float:
        """The loss_sum of a step as a number, 0 if it is not given. `is_late`: another call has decided already whether the
        step is left out."""
        if loss_sum is None:
            if self._has(WANTS_LOSS) and not is_late:
                raise Error(USAGE, f"{call}: the method follows the loss (adaptive_tau), so give it the sum over this rank's "
                                   f"samples, such as averager.{call}(loss.item() * len(x)), or 0 if it has none")
            return 0.0
        if is_late:
            raise Error(USAGE, f"{call}: loss_sum comes too late, because average_gradients() has decided whether this step "
                               f"is left out: call average_gradients(loss_sum), and {call}() without it")
        return number_in(f"{call}: loss_sum", loss_sum)

    def _before_update(self, loss_sum: float, has_gradient: Any = None) -> bool:
        self._enter("before_update", _COMPUTING, _UPDATING)
        updates = ctypes.c_int()
        if has_gradient is None:
            self._call("before_update", loss_sum, ctypes.byref(updates))
        else:
            self._call("before_update_of", loss_sum, has_gradient, len(has_gradient), ctypes.byref(updates))
        return updates.value != 0

    def _before_update_from(self, loss_sum: float, gradients: Gradients, has_gradient: Any) -> tuple[bool, int]:
        """Takes gradients where they lie in host memory. Returns whether the optimizer takes its step, and how often
        gradients were exchanged."""
        self._enter("before_update", _COMPUTING, _UPDATING)
        exchanges, updates = ctypes.c_int(), ctypes.c_int()
        self._call("before_update_from", loss_sum, gradients.addresses, gradients.counts, gradients.count, has_gradient,
                   len(has_gradient), exchanges, updates)
        return updates.value != 0, exchanges.value

    def _after_update(self) -> None:
        self._enter("after_update", _UPDATING, _BETWEEN_STEPS)
        self._call("after_update")
        self._steps_taken += 1

    def _write_consensus(self, into: int) -> None:
        self._enter("consensus", _BETWEEN_STEPS, _BETWEEN_STEPS)
        self._call("consensus", into)

    def close(self) -> None:
        """Collective. Ends the method on all ranks. Each rank keeps its own parameters; see consensus."""
        if self._handle:
            self._end_left_run()
            self._last_facts = self._facts()
            handle, self._handle = self._handle, None
            call("close", handle)
            job.open -= 1

    def _end_left_run(self) -> None:
        """Not collective."""
        run, self._left_run = self._left_run, None
        if run:
            call("run_fail", run, LEFT, b"")

    def _facts_of_run(self) -> dict[str, Any]:
        """The facts that a Run records of the model and the optimizer, besides the options."""
        return {}

    @property
    def _may_evaluate(self) -> bool:
        """Whether the consensus is at hand, as far as this object knows."""
        return True

    def _models_to_score(self) -> list[Callable[[], ContextManager[Any]]]:
        """Contexts in which the model is the consensus, the mean of the workers, and this rank's own."""
        raise Error(USAGE, "evaluate_workers is for an eave.Averager, which has a model; a VectorAverager has none")

    def _let_go(self) -> None:
        """Not collective. Returns the parameters and everything else of the caller's. Called before
        close(), and after an exception in its place."""

    def _abandon(self, kind: type[BaseException]) -> None:
        """Not collective. Leaves the method on this rank alone, because an exception has left its block. If the
        exception ends the process, _exit_hooks ends the other ranks; if it is caught, their next call finds out."""
        if not self._handle:
            return
        if _exit_hooks.is_alone():
            try:
                self.close()
            except Exception:
                pass  # the exception that left the block says more
            return
        self._end_left_run()
        self._last_facts = self._facts()
        job.library.eave_abandon(self._handle)
        self._handle, self._why_closed = None, f", since {kind.__name__} left its block"
        keep(self._vectors_in_use())
        self._let_go()
        job.open -= 1
        job.is_left_by_exit = job.is_left_by_exit or issubclass(kind, SystemExit)

    def _vectors_in_use(self) -> Any:
        """The objects that must stay in memory as long as an exchange may be under way."""
        return None

    def __reduce_ex__(self, _: Any) -> Any:
        """copy.copy, copy.deepcopy, pickle and torch.save call it."""
        raise Error(USAGE, f"{type(self).__name__} belongs to this process, so it cannot be copied or pickled"
                           + self._IN_PLACE_OF_COPIES)

    def __enter__(self: Self) -> Self:
        self._refuse_closed("with")
        return self

    def __exit__(self, kind: Optional[type[BaseException]], exception: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if kind is None or (issubclass(kind, SystemExit) and is_leaving()):  # all ranks close it now
            self.close()
        else:
            self._abandon(kind)


def keep(vectors: Any) -> None:
    """Keeps the vectors of an averager that has not ended on all ranks until the process ends. An exchange may still read and
    write them."""
    _kept.append(vectors)


_BETWEEN_STEPS, _COMPUTING, _UPDATING = range(3)


def _whole(samples: Any) -> int:
    """Returns `samples` as an int from 0 to 2**63 - 1, or raises an Error. ctypes would silently cut off larger
    ones."""
    try:
        number = operator.index(samples)
    except TypeError:
        number = -1
    if 0 <= number < 2**63:
        return number
    raise Error(USAGE, f"begin_step: {str(samples)[:40]!r} samples; expected a whole number from 0 up")


def _require_part(samples: int, samples_everywhere: int) -> None:
    if (samples or samples_everywhere) and samples_everywhere < max(samples, 1):
        raise Error(USAGE, f"begin_step: samples={samples} of this rank, but samples_everywhere={samples_everywhere}: "
                           "expected the sum of `samples` over all ranks")


def number_in(call: str, value: Any) -> float:
    """A number, or the only one of a tensor, as a float. Raises an Error that begins with `call` if it is something else."""
    try:
        if getattr(value, "numel", lambda: 1)() == 1:
            return float(value.detach() if hasattr(value, "detach") else value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise Error(USAGE, f"{call}: expected a number, found {' '.join(str(value)[:60].split())!r}")


def _word(name: str, value: Option) -> str:
    """The value as a word for libeave.so, in which a blank would begin the next option."""
    text = {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
    text = re.sub(r"\s*,\s*", ",", text.strip())
    if not re.search(r"\s", text):
        return text
    hint = {"plugin": "link the file from a path without blanks",
            "communicator": "give each option as an argument of its own, such as tau=10"}.get(name, "leave them out")
    raise Error(USAGE, f"{name}={value!r}: expected a value without blanks; {hint}")
