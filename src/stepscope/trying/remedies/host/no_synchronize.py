"""Leave out waits for the whole device."""

from __future__ import annotations

from typing import Final

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen

#: Calls within the steps of the warm-up from which it is a habit.
_OFTEN: Final = 3


def _fits(seen: Seen) -> str:
    return "" if seen.calls.get("synchronize") else said("the program does not call synchronize in its loop")


def _skip() -> None:
    import torch

    for name in ("cuda", "npu", "xpu"):
        module = getattr(torch, name, None)
        if module is not None:
            module.synchronize = lambda _device=None: None


REMEDY = OutsideRemedy(
    name="no-synchronize",
    title="Leave out waits for the whole device",
    rules=("SYN001", "SYN005"),
    numbers="exact",
    changes="nothing, unless the program reads what an asynchronous copy has not brought yet",
    fits=_fits,
    evident=lambda seen: seen.calls.get("synchronize", 0) >= _OFTEN,
    first_step=_skip,
    write=lambda seen: (f"# remove torch.{seen.device}.synchronize() from the loop",),
)
