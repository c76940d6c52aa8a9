"""Run the forward pass in bfloat16 where that is safe."""

from __future__ import annotations

from typing import Any

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen


def _fits(seen: Seen) -> str:
    if not seen.models:
        return said("no model of the program was seen to be called")
    if all(one.get("type") not in ("float32", "float64") for one in seen.models):
        return said("the model has no parameters in fp32")
    return said("the program uses autocast") if seen.calls.get("autocast") else ""


def _model(model: Any, seen: Seen) -> bool:
    """Put autocast around the model's forward pass; what it returns is fp32 again."""
    import functools

    import torch

    del seen
    parameter = next(model.parameters(), None)
    if parameter is None or parameter.dtype != torch.float32:
        return False
    plain, device = model.forward, parameter.device.type

    @functools.wraps(plain)
    def forward(*args: Any, **kwargs: Any) -> Any:
        with torch.autocast(device, dtype=torch.bfloat16):
            result = plain(*args, **kwargs)
        return _in_fp32(result)

    model.forward = forward
    return True


def _in_fp32(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return value.float() if value.dtype == torch.bfloat16 else value
    if type(value) in (list, tuple):
        return type(value)(_in_fp32(one) for one in value)
    if isinstance(value, dict):
        changed = {name: _in_fp32(one) for name, one in value.items()}
        if type(value) is dict:
            return changed
        for name, one in changed.items():
            value[name] = one
    return value


REMEDY = OutsideRemedy(
    name="autocast-bf16",
    title="Run the forward pass in bfloat16",
    rules=("KRN001", "KRN002", "KRN006", "KRN015", "MEM014", "HST007"),
    numbers="precision",
    changes="results have three digits instead of seven",
    fits=_fits,
    model=_model,
    write=lambda seen: (
        f'with torch.autocast("{seen.device}", dtype=torch.bfloat16):  # around the forward pass and the loss',
    ),
)
