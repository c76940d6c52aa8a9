"""Data are copied to the host and back.

## What it finds
Copies from the device that the host waits for, followed in the same step by a copy of as many bytes to the device.

## Why it matters
The round trip takes both copies and the wait between them, during which the device is idle, and as a rule an operation
on the host that the device would do faster.

## How it decides
A copy away of 64 KiB or more, which the host waits for, pairs with the next copy of as many bytes that the host starts
after its end in the same step. There must be `min_pairs` per step, in at least half of the steps. The price is the step
without the copies and waits. Where the host calls MPI between most of them (`copy_kinds.messages_between`), the data go
to other processes, which are waited for from device memory as well: the price is then that of the copies alone.

## What to try
Keep the data on the device: use the device's form of what is done on the host (sorting, sampling, metrics, `numpy`
functions), or write the operator for it. Give MPI pointers to device memory.

## Known limits
Only sizes are compared. What the host computes in between is not part of the price. Offloading that runs beside compute
is not reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, quantity
from stepscope.model.events.change import Change, Scaled
from stepscope.rules import native
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.rules.wording import often
from stepscope.signals import Signals
from stepscope.signals.copies.copy_kinds import messages_between, round_trips
from stepscope.signals.copies.transfers import in_most_steps
from stepscope.signals.shared.job import recorded_steps

_STAY = Action(
    "Keep the data on the device",
    before="mask = torch.from_numpy(np.argsort(scores.cpu().numpy())).to(device)",
    after="mask = torch.argsort(scores)",
    page="synchronisation",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the number of round trips with the threshold."""
    found = s(round_trips)
    steps = s(recorded_steps)
    pairs = found.event.size / 2 / steps
    if not found.event.size or pairs < limits["min_pairs"] or not in_most_steps(s, found):
        return
    staged = s.maybe(messages_between) or 0.0
    messages = staged >= limits["min_messages"]
    gone = (Scaled(found.event, 0.0),)
    yield Draft(
        title="Messages go through the host's memory" if messages else "Data go to the host and come back",
        summary=said(
            "{often}, data are copied to the host and as many bytes back, {bytes} each way; the copies "
            "take {dur}, and the host waits {blocked}.",
            often=often(pairs).capitalize(), bytes=quantity(found.bytes.sum() / 2 / steps, "bytes"),
            dur=duration(int(found.dur.sum()) // steps), blocked=duration(found.blocked_ns // steps),
        ),
        actions=native.MESSAGES if messages else (_STAY,),
        change=Change(device=gone) if messages else Change(device=gone, unblocked=found.held),
        # What others send is waited for all the same.
        most_ns=int(found.dur.sum()) // steps if messages else None,
        confidence=0.7,
        events=found.event[:20],
        rows=({"table": "copies", "where": {"direction": "DtoH"}},),
        numbers={"pairs per step": round(pairs, 2), "messages": round(staged, 2), **limits},
    )  # fmt: skip


RULE = Rule(
    "CPY005",
    "ping-pong",
    thresholds=(
        Threshold("min_pairs", 0.5, "per step", "Every other step: what is rarer is no part of the loop."),
        Threshold("min_messages", 0.5, "share", "Most of what is called a cause must have it."),
    ),
    check=check,
    elsewhere=native.FEWER_COPIES,
)
