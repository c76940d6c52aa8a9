"""Keep the allocator's cache in the loop."""

from __future__ import annotations

from typing import Final

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen

#: Calls within the steps of the warm-up from which it is a habit.
_OFTEN: Final = 3


def _fits(seen: Seen) -> str:
    return "" if seen.calls.get("empty_cache") else said("the program does not call empty_cache in its loop")


def _skip() -> None:
    import torch

    for name in ("cuda", "npu", "xpu"):
        module = getattr(torch, name, None)
        if module is not None:
            module.empty_cache = lambda: None


REMEDY = OutsideRemedy(
    name="no-empty-cache",
    title="Keep the allocator's cache in the loop",
    rules=("MEM005", "MEM002", "MEM019", "ASC015", "SYN001"),
    numbers="exact",
    changes="nothing; more memory stays reserved",
    fits=_fits,
    evident=lambda seen: seen.calls.get("empty_cache", 0) >= _OFTEN,
    first_step=_skip,
    write=lambda seen: (f"# remove torch.{seen.device}.empty_cache() from the loop",),
)
