"""The host waits for copies.

## What it finds
Copies to or from the device after which the host is blocked until they, and all work before them, are done: `.cpu()`,
`.to(device)` without `non_blocking=True`, small tensors made from Python values on the device.

## Why it matters
The copy itself is short, but the host stops launching until the device has finished everything before it. Afterwards
the device idles until the host has caught up.

## How it decides
There must be at least `min_calls` such waits per step (`synchronisation.copy_waits`): calls that wait for a stream
below an operator that copies, or right after the launch of a copy. Copies of more than 64 KiB from pageable memory to
the device are left to CPY001, since they can't do without waiting. The price is what the step would save on its
dependency graph if the calls did not wait.

## What to try
Copy asynchronously, from and to page-locked memory. Make small tensors on the device (`torch.full`, `torch.arange`
with `device=`), or once before the loop. Move what is only logged to the host a step later.

## Known limits
Whether the program needs the data at once can't be seen; then the copy has to be made earlier, or its use later.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration
from stepscope.model.events.change import Change
from stepscope.rules import native
from stepscope.rules.finding import Action
from stepscope.rules.host_advice import SCHEDULE_AHEAD
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.rules.wording import often, torch_device, where
from stepscope.signals import Signals
from stepscope.signals.copies.copy_kinds import pageable
from stepscope.signals.host.host import refill_ns
from stepscope.signals.host.synchronisation import COPY, calls, copy_waits, places
from stepscope.signals.shared.job import platform, recorded_steps


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the number of such waits with the threshold."""
    rate = s(copy_waits)
    if rate < limits["min_calls"]:
        return
    found = s(calls).of(COPY)
    found = found.where(~found.staged)
    those = [place for place in s(places) if place.scope == COPY]
    blocked = int(found.dur.sum()) // s(recorded_steps)
    yield Draft(
        title="The host waits for copies",
        summary=said(
            "The host waits for a copy and all work before it, {often}{where}: it is blocked for "
            "{blocked} of each step.",
            often=often(rate), where=where(those), blocked=duration(blocked),
        ),
        actions=(*_actions(s(platform)), *_elsewhere(s)),
        change=Change(unblocked=found.events),
        most_ns=s.maybe(refill_ns),
        events=found.longest(),
        rows=tuple(place.row for place in those[:3]),
        numbers={copy_waits.name: rate, "min_calls": limits["min_calls"]},
    )  # fmt: skip


def _elsewhere(s: Signals) -> tuple[Action, ...]:
    """What to do in native programs: memory that is page-locked already is not to be locked."""
    found = s.maybe(pageable)
    return native.FASTER_COPIES if found is None or found.event.size else native.OVERLAPPING


def _actions(platform: str) -> tuple[Action, ...]:
    device = torch_device(platform)
    return (
        *SCHEDULE_AHEAD,
        Action(
            "Copy without waiting",
            before=f'x = x.to("{device}")\nstats = stats.cpu()',
            after=f'x = x.pin_memory().to("{device}", non_blocking=True)\n'
            "kept = torch.empty_like(stats, device='cpu', pin_memory=True).copy_(stats, non_blocking=True)\n"
            "...  # read `kept` after an event recorded here has passed",
            page="pinned-memory",
            needs=("loop of its own",),
        ),
        Action(
            "Make small tensors on the device, or once before the loop",
            before=f'positions = torch.tensor(range(n)).to("{device}")',
            after=f'positions = torch.arange(n, device="{device}")',
            page="synchronisation",
            needs=("loop of its own",),
        ),
    )


RULE = Rule(
    "SYN003",
    "blocking-copies",
    thresholds=(
        Threshold(
            "min_calls", 0.5, "per step", "Every other step; Nsight Systems' rule cuda_api_sync lists every such call."
        ),
    ),
    check=check,
    symptom_of=("SYN005", "HST006", "CPY010"),
)
