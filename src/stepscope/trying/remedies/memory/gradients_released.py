"""Release gradients instead of zeroing them."""

from __future__ import annotations

import functools
from typing import Any

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen


def _fits(seen: Seen) -> str:
    return "" if seen.calls.get("zero_grad") else said("the program zeroes no gradients")


def _start(seen: Seen) -> bool:
    """Have `zero_grad` of optimizers and modules release them."""
    import torch

    del seen
    for owner in (torch.optim.Optimizer, torch.nn.Module):
        owner.zero_grad = _releasing(owner.zero_grad)
    return True


def _releasing(plain: Any) -> Any:
    @functools.wraps(plain)
    def zero_grad(self: Any, set_to_none: bool = True) -> Any:
        del set_to_none
        return plain(self, True)

    return zero_grad


REMEDY = OutsideRemedy(
    name="release-gradients",
    title="Release gradients instead of zeroing them",
    rules=("MEM007", "HST003", "HST002", "HST008", "HST007"),
    numbers="exact",
    changes="nothing, unless an optimizer updates parameters without a gradient by momentum or decay",
    fits=_fits,
    start=_start,
    write=lambda _: ("optimizer.zero_grad(set_to_none=True)",),
)
