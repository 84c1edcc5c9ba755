"""Averager: a communicator over the parameters of a PyTorch model."""
from __future__ import annotations

import contextlib
import weakref
from typing import TYPE_CHECKING, Any, Iterator, Optional

from ._caller import at
from ._error import USAGE, Error
from ._library import AVERAGES_GRADIENTS, HAS_CENTER, MOVES_PARAMETERS
from ._method import Method, Option
from ._model_hooks import ModelHooks, refuse_wrapped
from ._optimizer import LookAhead, is_nesterov, is_plain_sgd, refuse_optimizer
from ._parameters import ParameterVector
from ._program import method_of_run, note_method
from ._ranks import start, text_of_first_rank
from ._run_facts import describe_for_run
from ._tensors import list_trained, share_others

if TYPE_CHECKING:
    import torch


class Averager(Method):
    """Averages a PyTorch model among ranks: its trainable parameters, and all other parameters of the optimizer. They
    must be float32, in host memory or on this rank's GPU.

    `communicator` and `options` are those of `eave train --communicator`, with "_" for "-": tau=10, beta=0.9. The
    learning rate, the momentum and whether it is Nesterov's are taken from the optimizer. These options have the same
    meaning as in `eave train`: on_nonfinite="skip" or "abort", nonfinite_limit=10, replica_hash_every=100,
    on_replica_fault="stop" or "repair", limit_step="10min". Without a name the method is allreduce; under
    `eave compare --program` it is compare's, and a name is refused (see plan).

    Use it as `with eave.Averager(...) as averager:`, or call close() on all ranks at the end. If an exception leaves the
    block, this rank does not wait for other ranks. If the exception ends the program, it ends all ranks.

    All ranks begin with rank 0's parameters and buffers; frozen parameters are included. After that each rank keeps its
    own buffers (statistics of batch norm), which are not averaged.

    The parameters become views of one vector and must stay there, so call model.to() and similar methods before. If a
    parameter is unfrozen, replaced or added to the optimizer later, step() raises an Error that names it. Then call
    close() and make a new Averager, on all ranks. A parameter that is frozen later is still averaged: if replicas train
    alone, it moves until it is equal on all ranks.

    If gradients are averaged and a gradient is None on all ranks, it stays None, and the optimizer does not change that
    parameter. If it is None on some ranks only, it counts as 0 there, and the optimizer moves the parameter on all.

    With a GradScaler: scaler.unscale_(optimizer), averager.step(), scaler.update().
    """

    def __init__(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, communicator: Optional[str] = None,
                 **options: Option) -> None:
        start()
        communicator, options = method_of_run(communicator, options)
        self._model, self._optimizer, self._name = model, optimizer, communicator
        refuse_wrapped(model)
        refuse_optimizer(optimizer)
        _refuse_second(list_trained(model, optimizer))
        self._vector = ParameterVector(model, optimizer)
        self._settle()
        self._refuse_what_is_not_finite()
        super().__init__(self._vector.values.data_ptr(), self._vector.gradients.data_ptr(), self._vector.values.numel(),
                         communicator, self._complete(options))
        self._is_evaluating = self._is_updating = self._is_loaded = self._is_torn = False
        self._hooks: Optional[ModelHooks] = None
        self._refuse_unmoved_optimizer(options)
        share_others(model, self._vector.trained)
        self._look_ahead: Optional[LookAhead] = None
        if is_nesterov(optimizer) and not self._has(AVERAGES_GRADIENTS):
            self._look_ahead = LookAhead(self._vector.values, self._vector.parameters, optimizer)
            self._settle()
            self._call("look_ahead", self._look_ahead.address, 1.0)
        self._hooks = ModelHooks(model, optimizer, before_forward=self._before_forward,
                                 before_optimizer=self._before_optimizer, after_loading=self._after_loading,
                                 after_loading_optimizer=self._after_loading_optimizer)
        _open.add(self)
        note_method(self.description)

    def _refuse_what_is_not_finite(self) -> None:
        """Collective. Raises an Error if a parameter is not finite at the start. Later such a value would seem to come
        from the optimizer. All ranks get rank 0's values, so only rank 0's are checked."""
        if name := text_of_first_rank(next(self._vector.names_of_not_finite(), "")):
            raise Error(USAGE, f"parameter '{name}' of rank 0, with which all ranks begin, is not finite before the first "
                               "step: give the model finite values, or load a checkpoint that has them", is_shared=True)

    def _complete(self, options: dict[str, Option]) -> dict[str, Option]:
        """Returns `options` with those added that follow from the optimizer and the tensors."""
        options, group = dict(options), self._optimizer.param_groups[0]
        if self._vector.values.is_cuda:
            options.update(device="cuda", gpu=self._vector.values.device.index)
        options.setdefault("lr", float(group["lr"]))
        if group.get("momentum"):
            options.setdefault("momentum", float(group["momentum"]))
        nesterov = is_nesterov(self._optimizer)
        if options.setdefault("nesterov", nesterov) not in (nesterov, "on" if nesterov else "off"):
            raise Error(USAGE, f"nesterov={options['nesterov']}, but the optimizer's is {nesterov}: leave it out")
        return options

    def _refuse_unmoved_optimizer(self, options: dict[str, Option]) -> None:
        """Raises an Error if the method moves the parameters itself and the optimizer is not plain SGD with one rate.
        The method takes plain steps of one rate, and would silently ignore any other optimizer."""
        if not self._has(MOVES_PARAMETERS):
            return
        if not is_plain_sgd(self._optimizer, float(options.get("weight_decay") or 0)):
            self.close()
            raise Error(USAGE, f"{self._name} moves the parameters itself and never asks the optimizer: give it "
                               "torch.optim.SGD without momentum, with one learning rate, and weight_decay= to both")

    def _after_loading_optimizer(self) -> None:
        if self._look_ahead:
            self._look_ahead.update()

    def _before_forward(self) -> None:
        if not self._is_in_step and not self._is_evaluating:
            self.begin_step()

    def _before_optimizer(self) -> None:
        if not self._is_updating:
            raise Error(USAGE, "optimizer.step() by itself would move this rank's model alone: call averager.step() in "
                               "its place, after scaler.unscale_(optimizer) if there is a GradScaler")

    def _after_loading(self) -> None:
        if self._is_evaluating:
            raise Error(USAGE, "load_state_dict within consensus(): what is loaded would be lost when that ends")
        self._is_loaded = True

    def _refuse_loaded(self) -> None:
        """Raises an Error after load_state_dict if the method has a center. The center would still hold the old values,
        pull the model back to them, and be saved in its place."""
        if self._is_loaded and self._has(HAS_CENTER):
            raise Error(USAGE, f"load_state_dict has changed the model, and {self._name} keeps values of its own that do "
                               "not know of it: load before the Averager is made, or close() it and make a new one, on "
                               "all ranks. Rank 0's values go to all")

    def _refuse_closed_or_torn(self, call: str) -> None:
        self._refuse_closed(call)
        if self._is_torn:
            raise Error(USAGE, f"{call}: an exception has ended the step before within the optimizer, which may have moved a "
                               "part of the parameters: close() this Averager and make a new one, on all ranks")

    def _what_comes_first(self) -> str:
        return (f"the model has computed in train mode{at(self._began)}, and no averager.step() has followed: call it "
                "after backward(); what is only to be looked at is computed in eval mode or under torch.no_grad()")

    def _settle(self) -> None:
        """Waits until PyTorch's work on the GPU is done, because eave works in a queue of its own."""
        if self._vector.values.is_cuda:
            import torch
            torch.cuda.current_stream(self._vector.values.device).synchronize()

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """Raises an Error. A GradScaler reads this property if it is given the Averager instead of the optimizer."""
        raise Error(USAGE, "an Averager is no optimizer. With a GradScaler: scaler.unscale_(optimizer), averager.step(), "
                           "scaler.update(); learning rates belong to the optimizer")

    def begin_step(self, samples: int = 0, samples_everywhere: int = 0) -> None:
        """Collective. Begins a step. The model's forward pass calls it in training. If batches differ in size, call it
        before forward.

        `samples` are those of this rank in this step, `samples_everywhere` those of all ranks. They are the weights in
        means of gradients. If both are 0, all ranks have the same weight."""
        self._refuse_closed_or_torn("begin_step")
        self._refuse_loaded()
        self._settle()
        self._begin_step(self._optimizer.param_groups[0]["lr"], samples, samples_everywhere)

    def step(self, loss_sum: float = 0.0) -> None:
        """Collective; call it in place of optimizer.step(). Calls optimizer.step() and does what the method does before
        and after it. Takes no closure.

        `loss_sum` is the sum over this rank's samples, for methods that weigh replicas by it. A step whose gradient or
        loss_sum is not finite is left out; if gradients are averaged, on all ranks. Ten such steps in a row
        (nonfinite_limit) raise an Error with code 76."""
        if callable(loss_sum):
            raise Error(USAGE, "step takes no closure: an optimizer that evaluates the model several times in a step "
                               "would need an exchange for each")
        self._refuse_closed_or_torn("step")
        if self._is_evaluating:
            raise Error(USAGE, "step within consensus(): the model's values are put back when that ends")
        if not self._is_in_step:
            raise Error(USAGE, "step: the model has computed nothing in train mode since the last one. If it is trained in "
                               "eval mode, or a part of it is called by itself, call averager.begin_step() before that")
        self._vector.refuse_changes("step")
        has_gradient = self._vector.collect_gradients()
        self._settle()
        if self._before_update(loss_sum, has_gradient):
            self._vector.spread_gradients(has_gradient)
            self._update()
        self._settle()
        self._after_update()

    def _update(self) -> None:
        self._is_updating = self._is_torn = True
        try:
            self._optimizer.step()
        finally:
            self._is_updating = False
        if self._look_ahead:
            self._look_ahead.update()
        self._is_torn = False

    @contextlib.contextmanager
    def consensus(self) -> Iterator[torch.nn.Module]:
        """Collective, between steps. A context in which the model holds the center or the mean, equal on all ranks.
        Each rank keeps its own buffers. When the context ends, the parameters are this rank's again. A state_dict()
        taken inside shares their memory, so save or copy it inside.

        Warns if the values are still those with which all ranks began. Raises an Error with code 70 if parameters
        differ that the method keeps equal, and names the ranks. This happens if one rank alone has loaded a
        checkpoint."""
        import torch
        self._refuse_closed_or_torn("consensus")
        self._refuse_loaded()
        if self._is_in_step:
            raise Error(USAGE, f"consensus within a step: {self._what_comes_first()}")
        self._vector.refuse_changes("consensus")
        own = self._vector.values
        values = torch.empty_like(own)
        self._settle()
        self._write_consensus(values.data_ptr())
        mine = own.clone()
        own.copy_(values)
        self._is_evaluating = True
        try:
            yield self._model
        finally:
            self._is_evaluating = False
            own.copy_(mine)

    def _facts_of_run(self) -> dict[str, Any]:
        return describe_for_run(self._model, self._optimizer)

    @property
    def _may_evaluate(self) -> bool:
        return self._is_evaluating

    def close(self) -> None:
        """Collective. Ends the method on all ranks. Each rank keeps its own parameters; see consensus. The end of a
        `with` block calls it."""
        self._let_go()
        self._settle()
        super().close()

    def _let_go(self) -> None:
        _open.discard(self)
        if self._hooks:
            self._hooks.remove()

    def _vectors_in_use(self) -> Any:
        return self._vector, self._look_ahead


_open: weakref.WeakSet[Averager] = weakref.WeakSet()  # averagers that are not closed


def _refuse_second(trained: list[tuple[str, torch.nn.Parameter]]) -> None:
    """Raises an Error if a parameter belongs to another open Averager. Each Averager makes its parameters views of a
    vector of its own."""
    for name, each in trained:
        if any(other._vector.holds(each) for other in _open):
            raise Error(USAGE, f"parameter '{name}' belongs to an Averager that is open: close() it first, on all ranks")
