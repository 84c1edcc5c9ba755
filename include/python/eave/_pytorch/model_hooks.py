"""Hooks of PyTorch by which an Averager learns what the caller does with the model and the optimizer."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    import torch


def _do_nothing(*_: Any) -> None:
    pass


def _make_nothing() -> Callable[..., None]:
    return _do_nothing


class _Hook:
    """A hook of the model or optimizer for which an Averager was made. In copies of the model or optimizer, also saved
    ones, the hook does nothing."""

    def __init__(self, call: Callable[..., None]) -> None:
        self._call = call

    def __call__(self, *arguments: Any) -> None:
        self._call(*arguments)

    def __deepcopy__(self, _: Any) -> Callable[..., None]:
        return _do_nothing

    def __reduce__(self) -> tuple[Any, ...]:
        return _make_nothing, ()


def _is_in_transform() -> bool:
    """Whether a transform of torch.func, such as grad or vmap, runs the code that calls this. It has no public name."""
    import torch
    functorch = getattr(torch._C, "_functorch", None)
    return functorch is not None and functorch.peek_interpreter_stack() is not None


class ModelHooks:
    """Calls these functions without arguments: `before_forward` before the model computes in training,
    `before_optimizer` before the optimizer's step, `after_loading` after load_state_dict of the model or a part of it,
    `before_loading_optimizer` and `after_loading_optimizer` before and after that of the optimizer."""

    def __init__(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, *, before_forward: Callable[[], None],
                 before_optimizer: Callable[[], None], after_loading: Callable[[], None],
                 before_loading_optimizer: Callable[[], None], after_loading_optimizer: Callable[[], None]) -> None:
        import torch

        def forward(module: torch.nn.Module, _: Any) -> None:
            # In a compiled graph the call would be a break, which fullgraph=True refuses, and torch.func lets nothing change
            # the values of parameters. The step begins at step() then.
            if module.training and torch.is_grad_enabled() and not torch.compiler.is_compiling() and not _is_in_transform():
                before_forward()

        self._hooks: list[Any] = [model.register_forward_pre_hook(_Hook(forward))]
        modules: list[Any] = list(model.modules())  # PyTorch gives the next method no types
        self._hooks += [module.register_load_state_dict_post_hook(_Hook(lambda *_: after_loading())) for module in modules]
        if hasattr(optimizer, "register_step_pre_hook"):
            self._hooks.append(optimizer.register_step_pre_hook(_Hook(lambda *_: before_optimizer())))
        if hasattr(optimizer, "register_load_state_dict_post_hook"):
            self._hooks.append(optimizer.register_load_state_dict_pre_hook(_Hook(lambda *_: before_loading_optimizer())))
            self._hooks.append(optimizer.register_load_state_dict_post_hook(_Hook(lambda *_: after_loading_optimizer())))

    def remove(self) -> None:
        for hook in self._hooks:
            hook.remove()
