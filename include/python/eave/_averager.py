"""Averager: a communicator over the parameters of a PyTorch model."""
from __future__ import annotations

import contextlib
import sys
import weakref
from typing import TYPE_CHECKING, Any, Callable, ContextManager, Iterator, Optional

from . import _leaving
from ._pytorch.agreement import refuse_together, require_same_versions
from ._caller import at
from ._error import USAGE, Error
from ._pytorch.join import Joined, join
from ._pytorch.leaving import Departure
from ._library import AVERAGES_GRADIENTS, EXCHANGES_TOGETHER, HAS_CENTER, MOVES_PARAMETERS, job
from ._pytorch.loading import refuse_loaded_alone, take_loaded
from ._method import Option
from ._pytorch.model_hooks import ModelHooks
from ._pytorch.optimizer import (LookAhead, complete_options, is_nesterov, refuse_optimizer, refuse_other_values,
                                 refuse_stranger, why_not_all, why_not_plain)
from ._pytorch.overlap import Overlap, may_overlap, refuse_overlap
from ._pytorch.parameters import ParameterVector
from ._program import method_of_run, note_method, require_planned_rate
from ._ranks import rank, require_same, size, start, text_of_first_rank
from ._pytorch.run_facts import describe_for_run
from ._pytorch.saving import SavedMethod
from ._pytorch.scaler import ScaledSteps
from ._pytorch.scoring import holding, models_to_score
from ._pytorch.statistics import refuse_statistics
from ._pytorch.tensors import list_trained, refuse_unequal, require_fit, require_values, share_others
from ._pytorch.wrapped import refuse_other_kinds, refuse_wrapped, why_groups_drift

if TYPE_CHECKING:
    import torch

    from ._pytorch.tensors import Trained


class Averager(ScaledSteps, SavedMethod):
    """Averages a PyTorch model among ranks: its trainable parameters, and all other parameters of the optimizer. They
    lie in host memory or on this rank's GPU. mpi_launch/guide/python-models.md lists the models and loops that work.

    Values are averaged as float32. Parameters of bfloat16 and float16 hold them rounded; with master_weights=True the
    optimizer moves values of float32 instead, so that small steps are not lost.

    `communicator` and `options` are those of `eave train --communicator`, with "_" for "-": tau=10, beta=0.9. The
    learning rate, the momentum and whether it is Nesterov's are taken from the optimizer. These options have the same
    meaning as in `eave train`: on_nonfinite="skip" or "abort", nonfinite_limit=10, replica_hash_every=100,
    on_replica_fault="stop" or "repair", limit_step="10min". Without a name the method is allreduce; under
    `eave compare --program` it is compare's, and a name is refused (see plan).

    Use it as `with eave.Averager(...) as averager:`, or call close() on all ranks at the end. If an exception leaves the
    block, this rank does not wait for other ranks. If the exception ends the program, it ends all ranks.

    All ranks begin with rank 0's parameters and buffers; frozen parameters are included. After that each rank keeps its
    own buffers. With batch_norm_statistics="average", consensus() merges the statistics of batch norm from all ranks.

    Parameters of float32 become views of one vector. If one gets other memory later (param.data = …), its values are
    taken from there. If a parameter gets another type or shape, or is unfrozen, replaced or added to the optimizer,
    step() raises an Error that names it. Then call close() and make a new Averager, on all ranks. A parameter that is
    frozen later is still averaged: if replicas train alone, it moves until it is equal on all ranks.

    If gradients are averaged and a gradient is None on all ranks, it stays None, and the optimizer does not change that
    parameter. If it is None on some ranks only, it counts as 0 there, and the optimizer moves the parameter on all.

    With a GradScaler, call scaler.step(averager) in place of scaler.step(optimizer).

    If gradients are averaged, ranks exchange those that backward has finished while it computes the other ones, from the
    second step on. Results are those of overlap=False. If a gradient changes after that (clipping, a GradScaler, another
    backward), step() exchanges all of them again, and overlap pauses for some steps. Give overlap=False if a rank
    leaves out backward in a step, and ranks call sum_over_ranks() or the like between backward and step(). Nothing overlaps, and the exchange begins in step(), if:
      - a gradient still lies where the last mean was written (zero_grad(set_to_none=False));
      - the parameters are on a GPU, or one of them is not float32;
      - begin_step() is given samples_everywhere, or several averagers are open;
      - gradients are compressed: a repeated exchange would keep wrong rounding errors for later steps.

    If a rank gets the signal `leave_on` (SIGUSR1 by default; also several signals), all ranks end the same step and what
    the program does after it, such as scheduler.step(). Then the beginning of the next step raises eave.Leaving: in
    forward, begin_step(), average_gradients(), step() or scaler.step(). What was drawn for that step from an eave.Sampler
    and from the global random generators is put back; a torch.Generator of the program's own is not. If several averagers
    are open, it is the first step of an iteration, or the step after 100 more. A new averager takes its first step before,
    so that it can be saved. If there is no next step, nothing is raised. If ranks take steps independently (easgd-async,
    none), each leaves before its own next step. Then put the loop in join(), which lets all ranks arrive before Leaving
    goes on, and call nothing collective in it. Leaving is a SystemExit with code 75, so a program that does not catch it
    ends with that code. A handler that the program has set for the signal before stays, and may call eave.ask_to_leave().
    With leave_on=None in all open averagers, no signal is heard and nothing raises Leaving; then the program looks at
    `averager.leaving` after each step.

    save() and load() keep checkpoints from which a job goes on; state_dict() and load_state_dict() are for torch.save.
    """

    def __init__(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, communicator: Optional[str] = None, *,
                 master_weights: bool = False, batch_norm_statistics: str = "local", overlap: Optional[bool] = None,
                 leave_on: _leaving.Signals = _leaving.DEFAULT, **options: Option) -> None:
        start()
        own = options
        communicator, options = method_of_run(communicator, options)
        _leaving.listen(leave_on)
        self._leaves_by_itself = leave_on is not None
        self._model, self._optimizer, self._name = model, optimizer, communicator
        require_same_versions()
        require_same(f"overlap={overlap}")
        refuse_together(lambda: refuse_other_kinds(model, optimizer))
        trained = list_trained(model, optimizer)
        self._statistics = batch_norm_statistics
        refuse_together(lambda: refuse_statistics(batch_norm_statistics), lambda: refuse_overlap(overlap),
                        lambda: refuse_wrapped(model), lambda: refuse_optimizer(optimizer),
                        lambda: refuse_other_values(own, optimizer),
                        lambda: refuse_stranger(model, optimizer), lambda: _refuse_second(trained),
                        lambda: require_fit(model, trained), lambda: require_values(model, trained))
        self._vector = ParameterVector(model, optimizer, trained, master_weights)
        unequal = share_others(model, trained)
        refuse_together(lambda: refuse_unequal(unequal))
        self._settle()
        self._refuse_what_is_not_finite()
        super().__init__(self._vector.values.data_ptr(), self._vector.gradients.vector.data_ptr(), self._vector.values.numel(),
                         communicator, complete_options(options, optimizer, self._vector.values))
        self._options = options
        self._vector.low.write()
        self._is_evaluating = self._is_updating = self._is_loaded = self._is_torn = self._has_stepped = False
        self._updates: Optional[bool] = None  # whether the optimizer takes its step; None before average_gradients()
        self._hooks: Optional[ModelHooks] = None
        self._overlap: Optional[Overlap] = None
        if reason := self._why_unfit(trained):
            self.close()
            raise Error(USAGE, f"{communicator} {reason}", is_shared=True)
        self._look_ahead: Optional[LookAhead] = None
        if is_nesterov(optimizer) and not self._has(AVERAGES_GRADIENTS):
            self._look_ahead = LookAhead(self._vector.values, self._vector.parameters, optimizer)
            self._tell_look_ahead()
        self._hooks = ModelHooks(model, optimizer, before_forward=self._before_forward,
                                 before_optimizer=self._before_optimizer, after_loading=self._after_loading,
                                 before_loading_optimizer=lambda: self._vector.low.lend_to_load(optimizer),
                                 after_loading_optimizer=self._after_loading_optimizer)
        self._overlap = self._make_overlap(overlap)
        _open.add(self)
        note_method(self.description)

    def _make_overlap(self, wanted: Optional[bool]) -> Optional[Overlap]:
        gradients = self._vector.gradients
        if not self._has(AVERAGES_GRADIENTS) or not may_overlap(self._vector, wanted, self._options.get("compression")):
            return None
        return Overlap(self._vector, lambda: self._is_in_step, lambda first: self._call(
            "gradients_ready", gradients.addresses, gradients.counts, gradients.count, first))

    def _refuse_what_is_not_finite(self) -> None:
        """Collective. Raises an Error if a parameter is not finite at the start. Later such a value would seem to come
        from the optimizer. All ranks get rank 0's values, so only rank 0's are checked."""
        if name := text_of_first_rank(next(self._vector.names_of_not_finite(), "")):
            raise Error(USAGE, f"parameter '{name}' of rank 0, with which all ranks begin, is not finite before the first "
                               "step: give the model finite values, or load a checkpoint that has them", is_shared=True)

    def _why_unfit(self, trained: Trained) -> str:
        """Why the method cannot train this model by this optimizer; "" if it can."""
        if not self._has(EXCHANGES_TOGETHER) and (reason := why_groups_drift(self._model)):
            return reason
        if not self._has(MOVES_PARAMETERS):
            return ""
        return why_not_plain(self._optimizer, self._options) or why_not_all(self._optimizer, trained)

    def _after_loading_optimizer(self) -> None:
        self._vector.low.take_back(self._optimizer)
        if self._look_ahead:
            self._look_ahead.update()

    def _before_forward(self) -> None:
        # If several averagers are open, as those of a GAN, a model may also compute for the sake of the other one's step.
        # Then its step begins at step(). So it does if the model has other parameters now: torch.func.functional_call puts
        # them in for one forward pass, and step() refuses those that stay.
        if not self._is_in_step and not self._is_evaluating and len(_open) == 1 and self._vector.is_known():
            self._begin(0, 0, self._vector.read_known)

    def _before_optimizer(self) -> None:
        if not self._is_updating:
            raise Error(USAGE, "optimizer.step() by itself would move this rank's model alone: call averager.step() in "
                               "its place, or scaler.step(averager) in place of scaler.step(optimizer)")

    def _after_loading(self) -> None:
        if self._is_evaluating:
            raise Error(USAGE, "load_state_dict within consensus(): what is loaded would be lost when that ends")
        self._is_loaded = True

    def _tell_look_ahead(self) -> None:
        if self._look_ahead:
            self._settle()
            self._call("look_ahead", self._look_ahead.address, 1.0)

    def _refuse_closed_or_torn(self, call: str) -> None:
        self._refuse_closed(call)
        if self._is_torn:
            raise Error(USAGE, f"{call}: an exception has ended the step before, which may have moved a part of the "
                               "parameters: close() this Averager and make a new one, on all ranks")

    def _what_comes_first(self) -> str:
        return (f"the model has computed in train mode{at(self._began)}, and no averager.step() has followed: call it "
                "after backward(); what is only to be looked at is computed in eval mode or under torch.no_grad()")

    def _settle(self) -> None:
        """Waits until PyTorch's work on the GPU is done, because eave works in a queue of its own."""
        if self._vector.values.is_cuda:
            import torch
            torch.cuda.current_stream(self._vector.values.device).synchronize()

    def begin_step(self, samples: int = 0, samples_everywhere: int = 0) -> None:
        """Collective. Begins a step. The model's forward pass calls it in train mode, and step() calls it if nothing else
        has. If batches differ in size, call it before forward.

        `samples` are those of this rank in this step, `samples_everywhere` those of all ranks. They are the weights in
        means of gradients, and in means of parameters (local-sgd, bmuf, slowmo, diloco). If both are 0, all ranks have the
        same weight. If the ranks' samples do not add up to samples_everywhere, the step that would make such a mean raises
        an Error on all ranks."""
        self._begin(samples, samples_everywhere, self._vector.read)

    def _begin(self, samples: int, samples_everywhere: int, read: Callable[[str], None], has_computed: bool = False) -> None:
        self._refuse_closed_or_torn("begin_step")
        _departure.leave_before_step(self, has_computed)
        require_planned_rate(self._optimizer.param_groups)
        take_loaded(self)
        read("begin_step")
        if self._look_ahead:
            self._look_ahead.follow_rates()
        self._settle()
        if Joined.current:
            return Joined.current.begin_step(self, samples, samples_everywhere)
        self._begin_step(self._optimizer.param_groups[0]["lr"], samples, samples_everywhere)
        self._begin_overlap(not samples_everywhere)

    def _follow_rates(self) -> None:
        """Learning rates may have been set since the step began, and the optimizer takes its step at these."""
        if self._look_ahead:
            self._look_ahead.follow_rates()
        rate = float(self._optimizer.param_groups[0]["lr"])
        if Joined.current and self._has(EXCHANGES_TOGETHER):
            Joined.current.refuse_late_values()
        self._change_rate(rate)

    def _begin_overlap(self, all_compute: bool = True) -> None:
        """`all_compute`: whether all ranks compute gradients in this step. Only join() keeps a rank that does not from calls
        between backward() and step(), which would come at another time for it."""
        if self._overlap:
            self._overlap.begin(all_compute and job.open == 1)

    def no_sync(self) -> contextlib.AbstractContextManager[None]:
        """Not collective. A context for all backwards of a step but the last one: gradients are only added up. Without
        it, ranks find out in the first steps how many backwards a step has."""
        return self._overlap.accumulate() if self._overlap else contextlib.nullcontext()

    def step(self, loss_sum: Optional[float] = None) -> None:
        """Collective; call it in place of optimizer.step(). Calls optimizer.step() and does what the method does before
        and after it. Takes no closure.

        `loss_sum` is the loss summed over this rank's samples, which adaptive_tau needs. After average_gradients() it is
        refused: give it there. A step whose gradient or loss_sum is not finite is left out; if gradients are averaged, on
        all ranks. Ten such steps in a row (nonfinite_limit) raise an Error with code 76."""
        try:
            self._step(loss_sum)
        except BaseException:
            self._forget_scale()
            raise

    def _step(self, loss_sum: Optional[float]) -> None:
        if callable(loss_sum):
            raise Error(USAGE, "step takes no closure: an optimizer that evaluates the model several times in a step "
                               "would need an exchange for each")
        self._refuse_out_of_turn("step")
        loss = self._loss_in("step", loss_sum, is_late=self._updates is not None)
        if self._has(MOVES_PARAMETERS) and (reason := why_not_plain(self._optimizer, self._options)):
            raise Error(USAGE, f"step: {self._name} {reason}")
        factor = self._factor_of_scaler()
        if self._updates is None:
            if Joined.current:
                Joined.current.refuse_step_alone(self)
            self._average("step", loss, factor)
        else:
            self._follow_rates()
            self._divide_gradients(factor)
            self._vector.low.read_gradients()
            self._vector.low.unscale_gradients()
        self._give_back_groups()
        updates, self._updates = bool(self._updates), None
        if updates:
            self._update()
        self._vector.read_again("step")
        self._settle()
        self._after_update()
        self._vector.low.write()
        if not updates:
            self._vector.forget_gradients_outside()
        self._vector.gradients.end_step()
        self._has_stepped = True
        self._tell_scaler(is_left_out=not updates and not self._has(MOVES_PARAMETERS))
        _departure.note_step(self)

    def average_gradients(self, loss_sum: Optional[float] = None) -> bool:
        """Collective. May be called between backward() and step(), for what is done with the averaged gradients, such as
        torch.nn.utils.clip_grad_norm_. Returns False if the step is left out, because a gradient or `loss_sum`, that of
        step(), is not finite.

        If the method averages no gradients, they stay this rank's own, and it is the local gradient that is clipped."""
        self._refuse_out_of_turn("average_gradients")
        if self._has(MOVES_PARAMETERS):
            raise Error(USAGE, f"average_gradients: {self._name} moves the parameters itself by each rank's gradients: clip "
                               "them before averager.step() instead")
        if self._updates is not None:
            raise Error(USAGE, "average_gradients: they are averaged already; call averager.step()")
        if Joined.current:
            Joined.current.refuse_mean_alone(self)
        self._average("average_gradients", self._loss_in("average_gradients", loss_sum))
        if Joined.current:
            self._keep_mean_from_scaler()
        return bool(self._updates)

    def _refuse_out_of_turn(self, call: str) -> None:
        self._refuse_closed_or_torn(call)
        if self._is_evaluating:
            raise Error(USAGE, f"{call} within consensus(): the model's values are put back when that ends")
        if not self._is_in_step and not self._vector.gradients.are_new():
            with self._vector.reading(call):  # perhaps other parameters have the gradients
                pass
            raise Error(USAGE, f"{call}: the model has computed nothing since the last one, as no parameter has a new "
                               "gradient: call it after backward(). A rank without samples calls averager.begin_step(0, "
                               "samples_everywhere) before")

    def _average(self, call: str, loss_sum: float, factor: float = 1.0) -> None:
        """Begins the step, unless that has been done, and does all that comes before the optimizer's part of it. The
        gradients are multiplied by `factor` first."""
        if self._is_in_step:
            self._vector.read_in_step(call)
            self._follow_rates()
        else:
            self._begin(0, 0, self._vector.read, has_computed=True)
        if self._overlap:
            self._overlap.end()
        self._divide_gradients(factor)
        gradients = self._vector.gradients
        has_gradient = gradients.collect(self._is_loaded, not self._is_loaded)
        self._vector.low.unscale_gradients()
        self._settle()
        if self._vector.values.is_cuda:
            self._updates, exchanges = self._before_update(loss_sum, has_gradient), 1
        else:
            self._updates, exchanges = self._before_update_from(loss_sum, gradients, has_gradient)
        is_loaded, self._is_loaded = self._is_loaded, False
        if all(has_gradient[-2:]):  # the sum has told each rank of the other ones
            self._is_torn = True
            refuse_loaded_alone(is_loaded, self._vector.values)
            self._is_torn = False
        self._vector.low.write()
        if self._overlap:
            self._overlap.judge(exchanges)
        if self._updates and exchanges:
            gradients.spread(has_gradient, self._vector.low)

    def _leave(self) -> None:
        _departure.leave()

    def _keep_place(self) -> None:
        _departure.keep_place()

    def _refuse_step_under_way(self, call: str) -> None:
        self._refuse_closed_or_torn(call)
        if self._is_in_step:
            raise Error(USAGE, f"{call} within a step: {self._what_comes_first()}")

    def join(self, after_step: Optional[Callable[[], object]] = None, *,
             before_update: Optional[Callable[[], object]] = None) -> ContextManager[None]:
        """Collective. A context for a loop over batches of which ranks may have unequal numbers:

            with averager.join():
                for x, y in batches:
                    ...
                    averager.step()

        At its end, a rank whose data has ended takes part in the steps of the other ranks with weight 0, until the data of
        all ranks has ended. If gradients are averaged, its optimizer takes these steps too, with the learning rates of the
        ranks that have data. `after_step` is called after each step without data, such as scheduler.step if the loop calls
        it for each batch. If ranks take steps independently (easgd-async), it only waits for the other ranks.

        If the loop calls average_gradients(), give what it does between that and step() as `before_update`, which a rank
        without data calls there if gradients were averaged, with the mean in the gradients:

            def clip():
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)

            with averager.join(before_update=clip):
                for x, y in batches:
                    ...
                    averager.average_gradients()
                    clip()
                    averager.step()

        It must do the same on all ranks. It must not call a GradScaler, because a rank without data has scaled no loss. Let
        the scaler divide before the mean is made: scaler.step(averager) without average_gradients(), or
        scaler.unscale_(averager) before it. If the loop changes nothing in between, give `lambda: None`.

        If the loop calls begin_step(samples), means are weighted by these samples. Otherwise all ranks with data have the same weight. consensus() belongs after it."""
        return join(self, after_step, before_update)

    def _update(self) -> None:
        self._is_updating = self._is_torn = True
        try:
            if self._vector.low.has_masters:
                with self._vector.low.lend_masters(self._optimizer):
                    self._optimizer.step()
            else:
                self._optimizer.step()
        finally:
            self._is_updating = False
        if self._look_ahead:
            self._look_ahead.update()
        self._is_torn = False

    @contextlib.contextmanager
    def consensus(self) -> Iterator[torch.nn.Module]:
        """Collective, between steps. A context in which the model holds the center or the mean, equal on all ranks.
        Buffers stay this rank's own, except for merged statistics of batch norm. When the context ends, the model is this
        rank's again. A state_dict() taken inside shares their memory, so save or copy it inside.

        Warns if the values are still those with which all ranks began. If the method keeps parameters equal and they differ, raises an Error with code 70 that names the ranks. This happens if one rank alone has loaded a
        checkpoint."""
        import torch
        self._refuse_step_under_way("consensus")
        if self._is_evaluating:
            raise Error(USAGE, "consensus within consensus(): the model holds the consensus already; leave the inner one out")
        if Joined.current:
            raise Error(USAGE, "consensus within join(): ranks whose data has ended are not there yet; call it after join()")
        take_loaded(self)
        with self._vector.reading("consensus"):
            values = torch.empty_like(self._vector.values)
            self._settle()
            self._write_consensus(values.data_ptr())
            with holding(self, values):
                yield self._model

    def _models_to_score(self) -> list[Callable[[], ContextManager[torch.nn.Module]]]:
        if self._is_evaluating:
            raise Error(USAGE, "run.evaluate_workers within consensus(): the model holds the consensus, not this rank's own "
                               "parameters: call it after that block, or before it")
        return models_to_score(self, self._has(HAS_CENTER))

    def _facts_of_run(self) -> dict[str, Any]:
        return describe_for_run(self._model, self._optimizer)

    @property
    def _may_evaluate(self) -> bool:
        return self._is_evaluating

    def close(self) -> None:
        """Collective. Ends the method on all ranks. Each rank keeps its own parameters; see consensus. The end of a
        `with` block calls it."""
        if self._handle and self._is_in_step and not self._has_stepped and rank() == 0:
            print(f"eave: warning: nothing was trained: the model has computed in train mode{at(self._began)}, but "
                  "averager.step() was never called: call it after backward(), in place of optimizer.step()", file=sys.stderr)
        if self._handle and job.hand_over_all:
            job.hand_over_all()
        self._let_go()
        self._settle()
        super().close()

    def _let_go(self) -> None:
        _open.discard(self)
        self._give_back_groups()
        if self._hooks:
            self._hooks.remove()
        if self._overlap:
            self._overlap.remove()

    def _vectors_in_use(self) -> Any:
        return self._vector, self._look_ahead


_open: weakref.WeakSet[Averager] = weakref.WeakSet()  # averagers that are not closed
_departure = Departure(_open)


def _refuse_second(trained: list[tuple[str, torch.nn.Parameter]]) -> None:
    """Raises an Error if a parameter belongs to another open Averager. Each Averager makes its parameters views of a
    vector of its own."""
    for name, each in trained:
        if any(other._vector.holds(each) for other in _open):
            raise Error(USAGE, f"parameter '{name}' belongs to an Averager that is open: close() it first, on all ranks; two "
                               "optimizers of one model must be made one (mpi_launch/guide/python-models.md)")
