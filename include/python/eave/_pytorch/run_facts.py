"""The facts that a Run records of a PyTorch model and its optimizer."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

_RATES = ("lr", "initial_lr")  # runs that differ in nothing else are rates of one variant


def describe_for_run(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """Returns the settings of a run that follow from the model and the optimizer."""
    import torch
    groups, name = optimizer.param_groups, type(optimizer).__name__
    chosen = {key: _value(groups, key) for key in groups[0] if key != "params" and _value(groups, key)}
    facts = {f"optimizer.{key}": text for key, text in chosen.items() if key not in _RATES}
    facts.update({"model": type(model).__name__, "optimizer": name, "pytorch": torch.__version__,
                  "optimizer-settings": f"{name}: " + " ".join(f"{key}={text}" for key, text in sorted(chosen.items())),
                  "schedule": f"the script's; {_value(groups, 'lr')} when the run began"})
    return facts


def _value(groups: list[dict[str, Any]], key: str) -> str:
    """The value of an option in all parameter groups, separated by "/" if they differ; "" if it is not set."""
    texts = [str(float(value)) if hasattr(value, "item") else str(value)
             for value in (group.get(key) for group in groups) if value is not None and value is not False]
    return texts[0] if len(set(texts)) == 1 else "/".join(texts)
