"""Models that no other module calls: described, changed before their first call, and what they return at first."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from stepscope.record.job.models import Models


class OuterModels(Models):
    """Tells of such models before each call.

    Args:
        called: What to do when one is called, with its identity.
        tell: What to do with the model itself, once.
        needed: Whether calls must still be seen, although steps are found without them.
    """

    def __init__(
        self, called: Callable[[Hashable], None], tell: Callable[[Any], None], needed: Callable[[], bool]
    ) -> None:
        super().__init__(called)
        self._tell = tell
        self._needed = needed
        self._known: set[int] = set()

    def leave(self) -> None:
        """Watch no class any more, unless calls must still be seen."""
        if not self._needed():
            super().leave()

    def _call(self, model: Any) -> None:
        if id(model) not in self._known:
            self._known.add(id(model))
            self._tell(model)
        super()._call(model)


def description(model: Any) -> dict[str, Any] | None:
    """What is known of a model; None if it has no parameters, as losses."""
    import torch

    parameters = list(model.parameters())
    if not parameters:
        return None
    convolutions = sum(isinstance(one, torch.nn.Conv2d) for one in model.modules())
    compiled = getattr(model, "_compiled_call_impl", None) is not None or hasattr(model, "_orig_mod")
    inner = any(hasattr(one, "_orig_mod") or getattr(one, "_compiled_call_impl", None) for one in model.modules())
    return {
        "class": type(model).__name__,
        "parameters": sum(one.numel() for one in parameters if type(one).__name__ != "UninitializedParameter"),
        "convolutions": convolutions,
        "type": str(parameters[0].dtype).removeprefix("torch."),
        "device": parameters[0].device.type,
        "compiled": bool(compiled or inner),
    }


def tell_results(model: Any, told: Callable[[Any], None], calls: int) -> None:
    """Tell what a model returns in its first calls, around whatever is compiled; it is as before afterwards."""
    if not hasattr(model, "_compiled_call_impl"):
        return
    inside = model._compiled_call_impl
    left = [calls]

    def call(*args: Any, **kwargs: Any) -> Any:
        result = (inside or model._call_impl)(*args, **kwargs)
        told(result)
        left[0] -= 1
        if left[0] <= 0:
            model._compiled_call_impl = inside
        return result

    model._compiled_call_impl = call
