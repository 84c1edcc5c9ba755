"""PyTorch imports torch._dynamo at the first optimizer, 800 modules that only torch.compile needs. Runs of a comparison are
many and short, so they import it when something needs it."""
from __future__ import annotations

import importlib
import sys
import types
from typing import Any

_NAME = "torch._dynamo"


class _LateDynamo(types.ModuleType):
    """Stands for torch._dynamo until more is asked of it than a program that compiles nothing asks."""

    def __init__(self) -> None:
        super().__init__(_NAME)
        self.undisabled: list[Any] = []

    @staticmethod
    def graph_break(*_: Any, **__: Any) -> None:
        """As the module's own, which does something only in code that is being compiled."""

    def disable(self, function: Any = None, recursive: bool = True, **how: Any) -> Any:
        """Returns the function itself, which nothing compiles yet."""
        if function is None or how != {"wrapping": False}:
            return self._load().disable(function, recursive, **how)
        self.undisabled.append(function)
        return function

    def _load(self) -> types.ModuleType:
        if sys.modules.get(_NAME) is self:
            del sys.modules[_NAME]
            vars(sys.modules["torch"]).pop("_dynamo", None)
            for function in self.undisabled:  # torch._compile has noted there what disable() returned
                vars(function).pop("__dynamo_disable", None)
        return importlib.import_module(_NAME)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._load(), name)


def import_dynamo_late() -> None:
    """Does nothing if torch is not imported yet, or torch._dynamo is."""
    torch = sys.modules.get("torch")
    if torch is None or _NAME in sys.modules:
        return
    sys.modules[_NAME] = late = _LateDynamo()
    setattr(torch, "_dynamo", late)
