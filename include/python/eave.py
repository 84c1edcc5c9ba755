"""Averages a model among the ranks of an MPI job, by any method of eave; for PyTorch in one line of its loop.

    import eave
    averager = eave.Averager(model, optimizer, "easgd", tau=10, lr=0.1)   # under mpirun; on all ranks
    for x, y in batches_of(eave.rank(), eave.size()):
        optimizer.zero_grad()
        loss(model(x), y).backward()
        averager.step()                       # in place of optimizer.step()
    with averager.consensus():                # the center or the mean, in the model for as long as this lasts
        evaluate(model)
    averager.close()

VectorAverager does the same for two vectors of float32 (array.array, NumPy, ctypes), whatever made the gradients.

A method of one's own comes from a shared object: eave.Averager(model, optimizer, "sign-vote", plugin="./sign_vote.so").

Without a launcher there is one rank, and nothing is exchanged. mpi4py is not needed; where it is used, import mpi4py.MPI
before anything of eave is called: it begins MPI so that both may use it at once.
The library is found beside this file's installation, by the loader, or where the environment's LIBEAVE says. An Error
says what happened and what to do. All ranks call the same functions in the same order, so they take equally many steps,
and close their averagers before the program's end.
"""
import atexit
import contextlib
import ctypes
import os
import pathlib
import sys

__all__ = ["Averager", "Error", "VectorAverager", "rank", "size", "start", "stop", "sum_over_ranks"]

INTERFACE = 1
USAGE, CONFIGURATION = 64, 78
_FLOAT32 = "f", "<f" if sys.byteorder == "little" else ">f"  # ctypes' arrays name their byte order


class Error(RuntimeError):
    """`code` is the exit code that the program should end with."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class _Spent(ctypes.Structure):
    _fields_ = [("seconds_waiting", ctypes.c_double), ("bytes", ctypes.c_int64), ("calls", ctypes.c_int64)]


def _places():
    if "LIBEAVE" in os.environ:
        yield os.environ["LIBEAVE"]
        return
    prefix = pathlib.Path(__file__).resolve().parents[min(3, len(pathlib.Path(__file__).resolve().parents) - 1)]
    for directory in sorted(prefix.glob("lib*")) + sorted(prefix.glob("lib/*-linux-*")):
        yield from map(str, sorted(directory.glob("libeave.so*")))
    yield "libeave.so"


def _load():
    failures = []
    for place in _places():
        try:
            # Open MPI's components look for its symbols among all of the process.
            library = ctypes.CDLL(place, mode=ctypes.RTLD_GLOBAL)
        except OSError as failure:
            failures.append(f"{place}: {failure}")
            continue
        found = library.eave_interface()
        if found != INTERFACE:
            raise Error(USAGE, f"{place} has version {found} of the interface, this module needs {INTERFACE}")
        return library
    if "LIBEAVE" in os.environ:
        raise Error(USAGE, f"what LIBEAVE names cannot be loaded; set it to the path of a libeave.so ({failures[0]})")
    raise Error(USAGE, "libeave.so is not found; set LIBEAVE to its path (" + "; ".join(failures) + ")")


def _declare(library):
    pointer, floats, size = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t
    arguments = {
        "start": [ctypes.c_char_p], "rank": [], "size": [], "stop": [],
        "open": [ctypes.c_char_p, floats, floats, size, ctypes.POINTER(pointer)],
        "begin_step": [pointer, ctypes.c_int64, ctypes.c_int64, ctypes.c_double],
        "before_update": [pointer, ctypes.c_double, ctypes.POINTER(ctypes.c_int)],
        "after_update": [pointer], "consensus": [pointer, floats],
        "sum": [ctypes.POINTER(ctypes.c_double), size],
        "spent_by": [pointer, ctypes.POINTER(_Spent)], "close": [pointer],
    }
    for name, types in arguments.items():
        getattr(library, "eave_" + name).argtypes = types
    library.eave_description.argtypes, library.eave_description.restype = [pointer], ctypes.c_char_p
    library.eave_error.argtypes, library.eave_error.restype = [], ctypes.c_char_p
    return library


_library = None
_place = None       # (rank, size)
_open = 0           # averagers
_is_broken = False  # the job cannot go on


def _call(name, *arguments):
    global _is_broken
    code = getattr(_library, "eave_" + name)(*arguments)
    if code != 0:
        _is_broken = _is_broken or code not in (USAGE, CONFIGURATION)
        raise Error(code, _library.eave_error().decode())


def start(transport="auto"):
    """Joins the ranks that the launcher started. Done by the first Averager where it has not been done."""
    global _library, _place
    if _library is None:
        _library = _declare(_load())
    if _place is None:
        _call("start", transport.encode())
        _place = _library.eave_rank(), _library.eave_size()
        atexit.register(_stop_at_exit)


def stop():
    """Takes leave of the other ranks; at the process's end it is done by itself."""
    if _library is not None:
        _call("stop")


def _stop_at_exit():
    """Not where others may still be at work: they would be waited for. The launcher ends them when this process is gone."""
    failed = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if failed or _is_broken:
        return
    if _open == 0:
        stop()
    else:
        print(f"eave: rank {_place[0]} ends with an averager open; close() it first, on all ranks", file=sys.stderr)


def rank():
    start()
    return _place[0]


def size():
    start()
    return _place[1]


def sum_over_ranks(values):
    """For numbers that each rank has, such as its losses and counts: a list of their sums. All ranks, as many numbers each."""
    start()
    numbers = (ctypes.c_double * len(values))(*values)
    _call("sum", numbers, len(values))
    return list(numbers)


class _Method:
    """A communicator over two vectors."""

    def __init__(self, parameters, gradients, count, communicator, options):
        start()
        words = [f"{name.replace('_', '-')}={_word(value)}" for name, value in sorted(options.items())]
        words.insert(0, f"communicator={communicator}")
        self._handle = ctypes.c_void_p()
        global _open
        _call("open", " ".join(words).encode(), parameters, gradients, count, ctypes.byref(self._handle))
        _open += 1

    @property
    def description(self):
        """The equation in force with its numbers, and what is to be warned of."""
        return _library.eave_description(self._handle).decode()

    @property
    def spent(self):
        """(seconds waited, bytes sent, operations) of this rank so far."""
        spent = _Spent()
        _call("spent_by", self._handle, ctypes.byref(spent))
        return spent.seconds_waiting, spent.bytes, spent.calls

    def _begin_step(self, learning_rate, samples=0, samples_everywhere=0):
        """Before gradients are computed: the parameters may change."""
        _call("begin_step", self._handle, int(samples), int(samples_everywhere), float(learning_rate))

    def _before_update(self, loss_sum=0.0):
        """The gradients are complete. Whether the optimizer is to take its step."""
        updates = ctypes.c_int()
        _call("before_update", self._handle, float(loss_sum), ctypes.byref(updates))
        return updates.value != 0

    def _after_update(self):
        """The parameters have moved."""
        _call("after_update", self._handle)

    def close(self):
        """Ends the method on all ranks. Each keeps its own parameters; see consensus."""
        global _open
        if self._handle:
            handle, self._handle = self._handle, None
            _call("close", handle)
            _open -= 1


def _word(value):
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else value


def _address(vector, what):
    try:
        view = memoryview(vector)
        fits = view.format in _FLOAT32 and view.ndim == 1 and not view.readonly and view.contiguous and len(view) > 0
    except TypeError:  # it has no memory to lend, as a list has none
        fits = False
    if not fits:
        raise Error(USAGE, f"{what}: expected a vector of float32 that can be written, array.array('f', ...) or "
                           f"numpy.zeros(n, 'float32'); this is {type(vector).__name__}")
    return ctypes.addressof(ctypes.c_char.from_buffer(vector))


class VectorAverager(_Method):
    """For a loop over vectors. `parameters` and `gradients` stay where they are until close().

        averager = eave.VectorAverager(x, g, "easgd", tau=10, lr=0.1)
        for step in range(steps):
            averager.begin_step(0.1)          # the learning rate; x may change here
            g[:] = gradient_of(x)
            if averager.before_update():      # g may have become the mean over all ranks
                x -= 0.1 * g                  # in place
            averager.after_update()
        averager.consensus(model)             # into a third vector
        averager.close()
    """

    def __init__(self, parameters, gradients, communicator="allreduce", **options):
        self._vectors = parameters, gradients
        if len(parameters) != len(gradients):
            raise Error(USAGE, f"{len(parameters)} parameters, but {len(gradients)} gradients")
        super().__init__(_address(parameters, "parameters"), _address(gradients, "gradients"), len(parameters),
                         communicator, options)

    begin_step, before_update, after_update = _Method._begin_step, _Method._before_update, _Method._after_update

    def consensus(self, into):
        """Between steps: what is to be evaluated and saved, the same on all ranks, goes into another vector."""
        if len(into) != len(self._vectors[0]):
            raise Error(USAGE, f"into: {len(into)} values for {len(self._vectors[0])} parameters")
        _call("consensus", self._handle, _address(into, "into"))


def _place_in(flat, at, parameter):
    """The view of `flat` from `at` on that is laid out as the parameter is. An optimizer may already hold momentum in that
    order, and fused ones take values as they come in memory."""
    import torch
    part = flat[at:at + parameter.numel()]
    for layout, dimensions in ((torch.channels_last, 4), (torch.channels_last_3d, 5)):
        if parameter.dim() == dimensions and parameter.is_contiguous(memory_format=layout):
            return part.as_strided(parameter.shape, parameter.stride())
    return part.view(parameter.shape)


def _flatten(parameters):
    """Makes all parameters views of one vector, each in its own layout, and returns it."""
    import torch
    if not parameters:
        raise Error(USAGE, "a model without parameters that are trained")
    for each in parameters:
        if each.dtype != torch.float32 or each.device.type not in ("cpu", "cuda") or each.device != parameters[0].device:
            raise Error(USAGE, f"a parameter is {each.dtype} on {each.device}; expected float32, all in the host's "
                               "memory or all on one GPU")
    flat = torch.empty(sum(each.numel() for each in parameters), dtype=torch.float32, device=parameters[0].device)
    at = 0
    for each in parameters:
        part = _place_in(flat, at, each)
        part.copy_(each.data)
        each.data = part
        at += each.numel()
    return flat


class Averager(_Method):
    """For a PyTorch model: over its trainable parameters, float32, in the host's memory or on this rank's GPU.

    `communicator` and `options` are those of `eave train --communicator`, with "_" for "-": tau=10, beta=0.9. The
    learning rate and the momentum are the optimizer's where not given. The parameters become views of one vector, with
    rank 0's values, and have to stay there: model.to() and the like come before. Buffers (batch norm's statistics) stay
    each rank's own.
    """

    def __init__(self, model, optimizer, communicator="allreduce", **options):
        import torch
        self._torch, self._model, self._optimizer = torch, model, optimizer
        self._parameters = [each for each in model.parameters() if each.requires_grad]
        self._flat = _flatten(self._parameters)
        self._gradients = torch.zeros_like(self._flat)
        if self._flat.is_cuda:
            options.update(device="cuda", gpu=self._flat.device.index)
        group = optimizer.param_groups[0]
        options.setdefault("lr", float(group["lr"]))
        if group.get("momentum"):
            options.setdefault("momentum", float(group["momentum"]))
        self._settle()
        super().__init__(self._flat.data_ptr(), self._gradients.data_ptr(), self._flat.numel(), communicator, options)
        self._is_in_step = self._is_evaluating = False
        self._hook = model.register_forward_pre_hook(self._before_forward)

    def _before_forward(self, model, _):
        if model.training and self._torch.is_grad_enabled() and not self._is_in_step and not self._is_evaluating:
            self.begin_step()

    def _settle(self):
        """eave works in a queue of its own: what PyTorch has been asked to compute comes first."""
        if self._flat.is_cuda:
            self._torch.cuda.current_stream(self._flat.device).synchronize()

    def begin_step(self, samples=0, samples_everywhere=0):
        """Called by the model's forward when it trains. By hand, before it: for batches that differ in size."""
        self._settle()
        self._begin_step(self._optimizer.param_groups[0]["lr"], samples, samples_everywhere)
        self._is_in_step = True

    def step(self, loss_sum=0.0):
        """In place of optimizer.step(): that, with what the method does before and after it."""
        if not self._is_in_step:
            raise Error(USAGE, "step: the model has computed nothing in train mode since the last one")
        self._collect_gradients()
        self._settle()
        if self._before_update(loss_sum):
            self._optimizer.step()
        self._settle()
        self._after_update()
        self._is_in_step = False

    def _collect_gradients(self):
        """Into one vector too: zero_grad may have dropped the views of it."""
        at, begin = 0, self._flat.data_ptr()
        for each in self._parameters:
            if each.numel() and each.data_ptr() != begin + at * self._flat.element_size():
                raise Error(USAGE, "step: the model's parameters lie elsewhere than when the Averager was made; make it "
                                   "after model.to() and whatever else moves them")
            part = _place_in(self._gradients, at, each)
            if each.grad is None:
                part.zero_()
            elif each.grad.data_ptr() != part.data_ptr():
                part.copy_(each.grad)
            each.grad = part
            at += each.numel()

    @contextlib.contextmanager
    def consensus(self):
        """Between steps: with the center or the mean in the model, the same on all ranks."""
        values = self._torch.empty_like(self._flat)
        self._settle()
        _call("consensus", self._handle, values.data_ptr())
        mine = self._flat.clone()
        self._flat.copy_(values)
        self._is_evaluating = True
        try:
            yield self._model
        finally:
            self._is_evaluating = False
            self._flat.copy_(mine)

    def close(self):
        self._hook.remove()
        self._settle()
        super().close()
