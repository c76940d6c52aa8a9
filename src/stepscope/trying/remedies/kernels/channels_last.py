"""Keep images and the weights of convolutions with their channels last."""

from __future__ import annotations

from typing import Any

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen


def _fits(seen: Seen) -> str:
    return "" if any(one.get("convolutions") for one in seen.models) else said("the model has no 2-D convolutions")


def _model(model: Any, seen: Seen) -> bool:
    """Change the weights where they are, which optimizers know already; results take their layout."""
    import torch

    del seen
    changed = False
    for module in model.modules():
        if isinstance(module, torch.nn.Conv2d):
            module.weight.data = module.weight.data.contiguous(memory_format=torch.channels_last)
            changed = True
    return changed


REMEDY = OutsideRemedy(
    name="channels-last",
    title="Keep the channels of convolutions last",
    rules=("KRN007", "KRN006", "KRN015", "HST007", "ASC012"),
    numbers="rounding",
    changes="the order in which convolutions add",
    fits=_fits,
    model=_model,
    write=lambda _: ("model = model.to(memory_format=torch.channels_last)",),
)
