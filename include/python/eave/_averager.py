"""Averager: a communicator over the parameters of a PyTorch model."""
from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any, Callable, ContextManager, Iterator, Optional

from . import _leaving
from ._pytorch.agreement import refuse_together, require_same_versions
from ._caller import at
from ._error import USAGE, Error
from ._pytorch.join import Joined, join
from ._pytorch.leaving import departure, open_averagers
from ._library import AVERAGES_GRADIENTS, EXCHANGES_TOGETHER, HAS_CENTER, MOVES_PARAMETERS, job
from ._pytorch.loading import take_loaded
from ._method import Option
from ._pytorch.model_hooks import ModelHooks
from ._pytorch.optimizer import (LookAhead, complete_options, is_nesterov, refuse_optimizer, refuse_other_values,
                                 refuse_stranger, why_not_all, why_not_plain)
from ._pytorch.overlap import Overlap, may_overlap, refuse_overlap
from ._pytorch.parameters import ParameterVector
from ._program import method_of_run, note_method
from ._ranks import rank, require_same, size, start, text_of_first_rank
from ._pytorch.run_facts import describe_for_run
from ._pytorch.scoring import holding, models_to_score
from ._pytorch.statistics import refuse_statistics
from ._pytorch.steps import Steps
from ._pytorch.tensors import list_trained, refuse_unequal, require_fit, require_values, share_others
from ._pytorch.wrapped import refuse_other_kinds, refuse_wrapped, why_groups_drift

if TYPE_CHECKING:
    import torch

    from ._pytorch.tensors import Trained


class Averager(Steps):
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

    If a rank gets the signal `leave_on` (SIGUSR1 by default; also several signals), all ranks end the same step and
    what the program does after it, such as scheduler.step(). Then the beginning of the next step raises eave.Leaving:
    in forward, begin_step(), average_gradients(), step() or scaler.step(). An eave.Sampler and the global random
    generators go back to where they were before that step; a torch.Generator of the program's own does not. If several
    averagers are open, it is the first step of an iteration, or the step after 100 more. A new averager takes its first
    step before, so that it can be saved. If there is no next step, nothing is raised. If ranks take steps independently
    (easgd-async, none), each leaves before its own next step. Then put the loop in join(), which lets all ranks arrive
    before Leaving goes on, and call nothing collective in it. Leaving is a SystemExit with code 75, so a program that
    does not catch it ends with that code. A handler that the program has set for the signal before stays, and may call
    eave.ask_to_leave(). With leave_on=None in all open averagers, no signal is heard and nothing raises Leaving; then
    the program looks at `averager.leaving` after each step.

    save() and load() keep checkpoints from which a job goes on; state_dict() and load_state_dict() are for torch.save.
    """
    _IN_PLACE_OF_COPIES = ": copy the model and the optimizer alone; averager.state_dict() is for torch.save"

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
        self._updates = None
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
        open_averagers.add(self)
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
        if not self._is_in_step and not self._is_evaluating and len(open_averagers) == 1 and self._vector.is_known():
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

    def _leave(self) -> None:
        departure.leave()

    def _keep_place(self) -> None:
        departure.keep_place()

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

        If the loop calls begin_step(samples), means are weighted by these samples. Otherwise all ranks with data have
        the same weight. consensus() belongs after it."""
        return join(self, after_step, before_update)

    @contextlib.contextmanager
    def consensus(self) -> Iterator[torch.nn.Module]:
        """Collective, between steps. A context in which the model holds the center or the mean, equal on all ranks.
        Buffers stay this rank's own, except for merged statistics of batch norm. When the context ends, the model is this
        rank's again. A state_dict() taken inside shares their memory, so save or copy it inside.

        Warns if the values are still those with which all ranks began. If the method keeps parameters equal and they
        differ, raises an Error with code 70 that names the ranks. This happens if one rank alone has loaded a
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
        open_averagers.discard(self)
        self._give_back_groups()
        if self._hooks:
            self._hooks.remove()
        if self._overlap:
            self._overlap.remove()

    def _vectors_in_use(self) -> Any:
        return self._vector, self._look_ahead


def _refuse_second(trained: list[tuple[str, torch.nn.Parameter]]) -> None:
    """Raises an Error if a parameter belongs to another open Averager. Each Averager makes its parameters views of a
    vector of its own."""
    for name, each in trained:
        if any(other._vector.holds(each) for other in open_averagers):
            raise Error(USAGE, f"parameter '{name}' belongs to an Averager that is open: close() it first, on all ranks; two "
                               "optimizers of one model must be made one (mpi_launch/guide/python-models.md)")
