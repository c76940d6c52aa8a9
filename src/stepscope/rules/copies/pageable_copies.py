"""Copies use pageable host memory.

## What it finds
Copies between the device and host memory that is not page-locked, in most steps.

## Why it matters
The driver copies such memory in chunks through a staging buffer of its own: that is slow, and the call blocks until it
is done even where the program asks for an asynchronous copy. Until then the host launches nothing.

## How it decides
Copies of 4 KiB and more towards the device, and of 64 KiB and more away from it, must occur in at least half of the
steps, and the time of the copies and of the calls that wait for them must come to `min_share` of the step. The price is
that of copies at the rate of page-locked memory (as recorded, else three quarters of the link's rate) which no call
waits for; of copies to the host only what they get shorter counts, since who reads a result waits for it. Where the
recording doesn't link copies to their calls, it is what the copies that no kernel overlaps get shorter.

## What to try
`DataLoader(..., pin_memory=True)` together with `tensor.to(device, non_blocking=True)`.

## Known limits
A program that reads the result at once has to wait for it. Recorders of some vendors don't say what kind of memory it
was; then the rule abstains.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.language import said
from stepscope.model.amounts import duration, plural, quantity
from stepscope.model.errors import MissingInputError
from stepscope.model.events.change import Change, scaled_each
from stepscope.rules import native
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.rules.wording import torch_device
from stepscope.signals import Signals
from stepscope.signals.copies.copy_kinds import pageable, pageable_exposed_ns
from stepscope.signals.copies.transfers import (
    DTOH,
    HTOD,
    PAGEABLE,
    PINNED,
    CopyTransfers,
    in_most_steps,
    pinned_factors,
    pinned_rate,
    share,
    transfers,
)
from stepscope.signals.shared.job import platform, recorded_steps

#: Copies that nothing overlaps for so much of the step are worth more than a faster way.
_MOSTLY: Final = 0.5


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare such copies, and the host's waiting for them, with the step."""
    found = s(pageable)
    if not found.event.size:
        everything = s(transfers)
        outside = everything.where(everything.to(HTOD) | everything.to(DTOH))
        if outside.event.size and not outside.between(PAGEABLE, PINNED).any():
            raise MissingInputError(
                "the recording does not say whether host memory was page-locked",
                hint="look for pin_memory and non_blocking in the program",
            )
        return
    cost = share(s, int(found.dur.sum()) + found.blocked_ns)
    if cost < limits["min_share"] or not in_most_steps(s, found):
        return
    steps, size, factors = s(recorded_steps), int(found.bytes.sum()), pinned_factors(s, found)
    number = max(found.event.size // steps, 1)
    pinned = quantity(s(pinned_rate), "bytes/s")
    rate = quantity(size * 1e9 / max(int(found.dur.sum()), 1), "bytes/s")
    them = "it" if number == 1 else "them"
    known = bool((found.launch >= 0).any())
    alone = s.maybe(pageable_exposed_ns) or 0
    kept = ""
    if share(s, alone) >= _MOSTLY:
        left = duration(alone // steps)
        kept = said(" What stays on the device need not be copied at all: that would save up to {alone}.", alone=left)
    waits = (
        said(", and the host waits {blocked} for {en_them}", blocked=duration(found.blocked_ns // steps), en_them=them)
        if known
        else ""
    )
    yield Draft(
        title="Copies use pageable memory",
        summary=said(
            "{copies} per step, {size} in all, {en_goes} through the driver's staging buffer at "
            "{rate}{waits}. From page-locked memory {en_it} should reach {pinned}.{kept}",
            copies=plural(number, "copy", "copies"), size=quantity(size / steps, "bytes"),
            en_goes="goes" if number == 1 else "go", rate=rate, waits=waits, en_it="it" if number == 1 else "they",
            pinned=pinned, kept=kept,
        ),
        actions=_actions(torch_device(s(platform)), bool(found.to(DTOH).any())),
        # Whoever asks for a result waits for it, from whatever memory.
        change=Change(device=scaled_each(found.event, factors), unblocked=found.where(~found.to(DTOH)).held),
        most_ns=_most(found, factors) // steps,
        unlinked_ns=_measured(s, found, factors),
        events=found.longest,
        rows=({"table": "copies", "where": {"src_kind": "pageable"}},),
        numbers={
            "copies": found.event.size,
            "bytes": size,
            "share": round(cost, 4),
            "min_share": limits["min_share"],
        },
    )  # fmt: skip


def _most(found: CopyTransfers, factors: NDArray[np.float64]) -> int:
    """What can be saved at most: of results only the copies get shorter, since whoever reads one waits for it."""
    away = found.to(DTOH)
    towards = found.where(~away)
    return int((found.dur * (1 - factors))[away].sum()) + int(towards.dur.sum()) + towards.blocked_ns


def _measured(s: Signals, found: CopyTransfers, factors: NDArray[np.float64]) -> int | None:
    """What the device itself shows to be saved: of the copies' time without other work, as much as they get shorter."""
    alone = s.maybe(pageable_exposed_ns)
    if alone is None:
        return None
    shorter = float((found.dur * (1 - factors)).sum()) / max(int(found.dur.sum()), 1)
    return int(alone * shorter) // s(recorded_steps)


def _actions(where: str, away: bool) -> tuple[Action, ...]:
    pin = Action(
        "Let the loader put batches into page-locked memory, and copy without waiting",
        before=f'loader = DataLoader(dataset)\nx = x.to("{where}")',
        after=f'loader = DataLoader(dataset, pin_memory=True)\nx = x.to("{where}", non_blocking=True)',
        page="pinned-memory",
    )
    inputs = Action(
        "Put inputs into page-locked memory, and copy without waiting",
        before=f'x = x.to("{where}")',
        after=f'x = x.pin_memory().to("{where}", non_blocking=True)   # or write them there in the first place',
        page="pinned-memory",
    )
    back = Action(
        "Copy results into page-locked memory that is made once",
        before="kept = result.cpu()",
        after="kept = torch.empty(shape, pin_memory=True)   # once\nkept.copy_(result, non_blocking=True)",
        page="pinned-memory",
    )
    return (pin, back, inputs) if away else (pin, inputs)


RULE = Rule(
    "CPY001",
    "pageable-copies",
    thresholds=(
        Threshold(
            "min_share", 0.01, "share",
            "What costs less than 1 % of the step is not shown; Nsight Systems' rule cuda_memcpy_async lists them all.",
        ),
    ),
    check=check,
    elsewhere=native.FASTER_COPIES,
    symptom_of=("CPY010",),
)  # fmt: skip
