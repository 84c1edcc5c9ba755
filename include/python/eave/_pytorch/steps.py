"""The steps of an Averager: what comes before a gradient, between gradient and optimizer, and after it."""
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Callable, Optional, cast

from .._caller import at
from .._error import USAGE, Error
from .._library import EXCHANGES_TOGETHER, MOVES_PARAMETERS, job
from .._method import Option
from .._program import require_planned_rate
from .join import Joined
from .leaving import departure
from .loading import refuse_loaded_alone, take_loaded
from .optimizer import why_not_plain
from .saving import SavedMethod
from .scaler import ScaledSteps

if TYPE_CHECKING:
    from .._averager import Averager
    from .overlap import Overlap


class Steps(ScaledSteps, SavedMethod):
    """The part of an Averager that takes steps."""

    _name: str  # of the method
    _options: dict[str, Option]
    _overlap: Optional[Overlap]
    _updates: Optional[bool]  # whether the optimizer takes its step; None before average_gradients()
    _is_updating: bool
    _has_stepped: bool

    @property
    def _self(self) -> Averager:
        return cast("Averager", self)

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
        departure.leave_before_step(self._self, has_computed)
        require_planned_rate(self._optimizer.param_groups)
        take_loaded(self._self)
        read("begin_step")
        if self._look_ahead:
            self._look_ahead.follow_rates()
        self._settle()
        if Joined.current:
            return Joined.current.begin_step(self._self, samples, samples_everywhere)
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
                Joined.current.refuse_step_alone(self._self)
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
        departure.note_step(self._self)

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
            Joined.current.refuse_mean_alone(self._self)
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
