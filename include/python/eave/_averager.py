"""Averager: a communicator over the parameters of a PyTorch model."""
import contextlib
import ctypes
import weakref

from ._library import AVERAGES_GRADIENTS, HAS_CENTER, MOVES_PARAMETERS, USAGE, Error, start, text_of_first_rank
from ._method import Method
from ._optimizer import LookAhead, is_nesterov, is_plain_sgd, refuse_optimizer
from ._tensors import flatten, list_trained, parts_of, require_fit, require_same_model, share_others


class Averager(Method):
    """Averages a PyTorch model among ranks: its trainable parameters, and all other parameters of the optimizer. They
    must be float32, in host memory or on this rank's GPU.

    `communicator` and `options` are those of `eave train --communicator`, with "_" for "-": tau=10, beta=0.9. The
    learning rate, the momentum and whether it is Nesterov's are taken from the optimizer. These options have the same
    meaning as in `eave train`: on_nonfinite="skip" or "abort", nonfinite_limit=10, replica_hash_every=100,
    on_replica_fault="stop" or "repair", limit_step="10min".

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

    def __init__(self, model, optimizer, communicator="allreduce", **options):
        import torch
        start()
        self._torch, self._model, self._optimizer = torch, model, optimizer
        _refuse_wrapped(model)
        refuse_optimizer(torch, optimizer)
        trained = list_trained(model, optimizer)
        require_fit(model, trained)
        _refuse_second(trained)
        require_same_model(model, optimizer, trained)
        self._names, self._parameters = [name for name, _ in trained], [each for _, each in trained]
        self._known = {id(each) for each in self._parameters}
        self._flat = flatten(self._parameters)
        self._gradients = torch.zeros_like(self._flat)
        self._gradient_parts = parts_of(self._gradients, self._parameters)
        self._places = [(each.data_ptr(), each.shape, each.stride()) for each in self._parameters]
        self._settle()
        self._refuse_what_is_not_finite()
        super().__init__(self._flat.data_ptr(), self._gradients.data_ptr(), self._flat.numel(), communicator,
                         self._complete(options))
        self._is_in_step = self._is_evaluating = self._is_updating = self._is_loaded = self._is_torn = False
        self._name = communicator
        self._refuse_unmoved_optimizer(options)
        share_others(model, trained)
        self._look_ahead = None
        if is_nesterov(torch, optimizer) and not self._has(AVERAGES_GRADIENTS):
            self._look_ahead = LookAhead(self._flat, self._parameters, optimizer)
            self._settle()
            self._call("look_ahead", self._look_ahead.address, 1.0)
        self._hooks = self._hook_in()
        _open.add(self)

    def _refuse_what_is_not_finite(self):
        """Collective. Raises an Error if a parameter is not finite at the start. Later such a value would seem to come
        from the optimizer. All ranks get rank 0's values, so only rank 0's are checked."""
        broken = [name for name, each in zip(self._names, self._parameters) if not self._torch.isfinite(each).all()]
        if name := text_of_first_rank(broken[0] if broken else ""):
            raise Error(USAGE, f"parameter '{name}' of rank 0, with which all ranks begin, is not finite before the first "
                               "step: give the model finite values, or load a checkpoint that has them", is_shared=True)

    def _complete(self, options):
        """Returns `options` with those added that follow from the optimizer and the tensors."""
        options, group = dict(options), self._optimizer.param_groups[0]
        if self._flat.is_cuda:
            options.update(device="cuda", gpu=self._flat.device.index)
        options.setdefault("lr", float(group["lr"]))
        if group.get("momentum"):
            options.setdefault("momentum", float(group["momentum"]))
        nesterov = is_nesterov(self._torch, self._optimizer)
        if options.setdefault("nesterov", nesterov) not in (nesterov, "on" if nesterov else "off"):
            raise Error(USAGE, f"nesterov={options['nesterov']}, but the optimizer's is {nesterov}: leave it out")
        return options

    def _refuse_unmoved_optimizer(self, options):
        """Raises an Error if the method moves the parameters itself and the optimizer is not plain SGD with one rate.
        The method takes plain steps of one rate, and would silently ignore any other optimizer."""
        if not self._has(MOVES_PARAMETERS):
            return
        if not is_plain_sgd(self._torch, self._optimizer, float(options.get("weight_decay", 0))):
            self.close()
            raise Error(USAGE, f"{self._name} moves the parameters itself and never asks the optimizer: give it "
                               "torch.optim.SGD without momentum, with one learning rate, and weight_decay= to both")

    def _hook_in(self):
        hooks = [self._model.register_forward_pre_hook(_Hook(self._before_forward))]
        hooks += [module.register_load_state_dict_post_hook(_Hook(self._after_loading))
                  for module in self._model.modules()]
        if hasattr(self._optimizer, "register_step_pre_hook"):
            hooks.append(self._optimizer.register_step_pre_hook(_Hook(self._before_optimizer)))
        if self._look_ahead and hasattr(self._optimizer, "register_load_state_dict_post_hook"):
            hooks.append(self._optimizer.register_load_state_dict_post_hook(_Hook(self._after_loading_optimizer)))
        return hooks

    def _after_loading_optimizer(self, _):
        self._look_ahead.update()

    def _before_forward(self, model, _):
        if model.training and self._torch.is_grad_enabled() and not self._is_in_step and not self._is_evaluating:
            self.begin_step()

    def _before_optimizer(self, *_):
        if not self._is_updating:
            raise Error(USAGE, "optimizer.step() by itself would move this rank's model alone: call averager.step() in "
                               "its place, after scaler.unscale_(optimizer) if there is a GradScaler")

    def _after_loading(self, *_):
        if self._is_evaluating:
            raise Error(USAGE, "load_state_dict within consensus(): what is loaded would be lost when that ends")
        self._is_loaded = True

    def _refuse_loaded(self):
        """Raises an Error after load_state_dict if the method has a center. The center would still hold the old values,
        pull the model back to them, and be saved in its place."""
        if self._is_loaded and self._has(HAS_CENTER):
            raise Error(USAGE, f"load_state_dict has changed the model, and {self._name} keeps values of its own that do "
                               "not know of it: load before the Averager is made, or close() it and make a new one, on "
                               "all ranks. Rank 0's values go to all")

    def _refuse_closed_or_torn(self, call):
        if not self._handle:
            raise Error(USAGE, f"{call}: this averager is closed; make a new one, on all ranks")
        if self._is_torn:
            raise Error(USAGE, f"{call}: an exception has ended the step before within the optimizer, which may have moved a "
                               "part of the parameters: close() this Averager and make a new one, on all ranks")

    def _refuse_unknown(self, call):
        """Raises an Error if a parameter is trained but not averaged: it would make the ranks differ."""
        for each in self._model.parameters():
            if each.requires_grad and id(each) not in self._known:
                name = next(name for name, other in self._model.named_parameters() if other is each)
                self._refuse_new(call, f"parameter '{name}'")
        for number, group in enumerate(self._optimizer.param_groups):
            for place, each in enumerate(group["params"]):
                if id(each) not in self._known and each.requires_grad:
                    self._refuse_new(call, f"parameter {place} of the optimizer's group {number}")

    def _refuse_moved(self, call):
        for name, each, place in zip(self._names, self._parameters, self._places):
            if (each.data_ptr(), each.shape, each.stride()) != place and each.numel():
                raise Error(USAGE, f"{call}: parameter '{name}' lies elsewhere than when the Averager was made; make it "
                                   "after model.to() and whatever else moves the model's parameters")

    def _refuse_new(self, call, what):
        raise Error(USAGE, f"{call}: {what} is trained, but was not when the Averager was made. It was unfrozen, put in the "
                           "place of another (as load_state_dict(assign=True) does with all) or added to the optimizer: "
                           "close() this Averager and make a new one, on all ranks")

    def _settle(self):
        """Waits until PyTorch's work on the GPU is done, because eave works in a queue of its own."""
        if self._flat.is_cuda:
            self._torch.cuda.current_stream(self._flat.device).synchronize()

    @property
    def param_groups(self):
        """Raises an Error. A GradScaler reads this property if it is given the Averager instead of the optimizer."""
        raise Error(USAGE, "an Averager is no optimizer. With a GradScaler: scaler.unscale_(optimizer), averager.step(), "
                           "scaler.update(); learning rates belong to the optimizer")

    def begin_step(self, samples=0, samples_everywhere=0):
        """Collective. Begins a step. The model's forward pass calls it in training. If batches differ in size, call it
        before forward.

        `samples` are those of this rank in this step, `samples_everywhere` those of all ranks. They are the weights in
        means of gradients. If both are 0, all ranks have the same weight."""
        self._refuse_closed_or_torn("begin_step")
        self._refuse_loaded()
        self._settle()
        self._begin_step(self._optimizer.param_groups[0]["lr"], samples, samples_everywhere)
        self._is_in_step = True

    def step(self, loss_sum=0.0):
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
        self._refuse_unknown("step")
        self._refuse_moved("step")
        has_gradient = self._collect_gradients()
        self._settle()
        if self._before_update_of(has_gradient, float(loss_sum)):
            self._spread_gradients(has_gradient)
            self._update()
        self._settle()
        self._after_update()
        self._is_in_step = False

    def _update(self):
        self._is_updating = self._is_torn = True
        try:
            self._optimizer.step()
        finally:
            self._is_updating = False
        if self._look_ahead:
            self._look_ahead.update()
        self._is_torn = False

    def _before_update_of(self, has_gradient, loss_sum):
        updates = ctypes.c_int()
        self._call("before_update_of", loss_sum, has_gradient, len(has_gradient), ctypes.byref(updates))
        return updates.value != 0

    def _collect_gradients(self):
        """Copies gradients that are not views of the gradient vector into it; zero_grad may have dropped the views.
        Returns a flag per parameter: whether it has a gradient."""
        has_gradient = (ctypes.c_uint8 * len(self._parameters))()
        for number, (each, part) in enumerate(zip(self._parameters, self._gradient_parts)):
            gradient = each.grad
            if gradient is None:
                part.zero_()
                continue
            if gradient.layout != self._torch.strided:
                raise Error(USAGE, f"step: the gradient of '{self._names[number]}' is sparse; expected a dense one "
                                   "(sparse=False)")
            if gradient.data_ptr() != part.data_ptr():
                part.copy_(gradient)
            has_gradient[number] = 1
        return has_gradient

    def _spread_gradients(self, has_gradient):
        for each, part, has in zip(self._parameters, self._gradient_parts, has_gradient):
            each.grad = part if has else None

    @contextlib.contextmanager
    def consensus(self):
        """Collective, between steps. A context in which the model holds the center or the mean, equal on all ranks.
        Each rank keeps its own buffers. When the context ends, the parameters are this rank's again. A state_dict()
        taken inside shares their memory, so save or copy it inside.

        Warns if the values are still those with which all ranks began. Raises an Error with code 70 if parameters
        differ that the method keeps equal, and names the ranks. This happens if one rank alone has loaded a
        checkpoint."""
        self._refuse_closed_or_torn("consensus")
        self._refuse_loaded()
        if self._is_in_step:
            raise Error(USAGE, "consensus within a step: the model has computed in train mode since the last "
                               "averager.step(), which comes first; what is only to be looked at is computed in eval mode "
                               "or under torch.no_grad()")
        self._refuse_unknown("consensus")
        self._refuse_moved("consensus")
        values = self._torch.empty_like(self._flat)
        self._settle()
        self._call("consensus", values.data_ptr())
        mine = self._flat.clone()
        self._flat.copy_(values)
        self._is_evaluating = True
        try:
            yield self._model
        finally:
            self._is_evaluating = False
            self._flat.copy_(mine)

    def close(self):
        """Collective. Ends the method on all ranks. Each rank keeps its own parameters; see consensus."""
        _open.discard(self)
        for hook in getattr(self, "_hooks", ()):
            hook.remove()
        self._settle()
        super().close()


_open = weakref.WeakSet()  # averagers that are not closed


def _refuse_second(trained):
    """Raises an Error if a parameter belongs to another open Averager. Each Averager makes its parameters views of a
    vector of its own."""
    known = set().union(*(each._known for each in _open))
    for name, each in trained:
        if id(each) in known:
            raise Error(USAGE, f"parameter '{name}' belongs to an Averager that is open: close() it first, on all ranks")


def _do_nothing(*_):
    pass


def _make_nothing():
    return _do_nothing


class _Hook:
    """A hook of the model or optimizer for which an Averager was made. In copies of the model or optimizer, also saved
    ones, the hook does nothing."""

    def __init__(self, call):
        self._call = call

    def __call__(self, *arguments):
        return self._call(*arguments)

    def __deepcopy__(self, _):
        return _do_nothing

    def __reduce__(self):
        return _make_nothing, ()


def _refuse_wrapped(model):
    """Raises an Error if the model averages gradients itself: then no worker could train on its own."""
    for module in model.modules():
        for kind in type(module).__mro__:
            if kind.__name__ in ("DistributedDataParallel", "FullyShardedDataParallel", "FSDPModule"):
                raise Error(USAGE, f"the model is in a {kind.__name__}, which averages between ranks itself: give the "
                                   "Averager the model without it (model.module)")
