"""Exchange gradients once per update, not after each micro-batch."""

from __future__ import annotations

import functools
from typing import Any

from stepscope.language import said
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Seen


def _fits(seen: Seen) -> str:
    if not seen.of("ddp"):
        return said("the program has no DistributedDataParallel")
    if seen.calls.get("no_sync"):
        return said("the program uses no_sync")
    return "" if seen.backwards > 1 else said("the number of backward passes per update is one, or not always the same")


def _start(seen: Seen) -> bool:
    """Exchange in the last of so many backward passes per update that the program was seen to make."""
    import torch
    from torch.nn.parallel import DistributedDataParallel
    from torch.optim.optimizer import register_optimizer_step_post_hook

    done = [0]
    plain = DistributedDataParallel.forward

    @functools.wraps(plain)
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        if torch.is_grad_enabled():
            done[0] += 1
            self.require_backward_grad_sync = done[0] >= seen.backwards
        return plain(self, *args, **kwargs)

    def updated(*_: Any) -> None:
        done[0] = 0

    DistributedDataParallel.forward = forward
    register_optimizer_step_post_hook(updated)
    return True


REMEDY = OutsideRemedy(
    name="ddp-no-sync",
    title="Exchange gradients once per update",
    rules=("COM001", "COM003", "COM008", "CLU007", "CLU009"),
    numbers="rounding",
    changes="the order in which gradients are added",
    fits=_fits,
    evident=lambda seen: not _fits(seen),
    predicts=lambda seen: seen.exchange * (1 - 1 / seen.backwards) if seen.exchange and seen.backwards else None,
    start=_start,
    write=lambda seen: (
        f"with model.no_sync():  # around all but the last of the {seen.backwards} micro-batches of an update",
        "    model(batch).backward()",
    ),
)
