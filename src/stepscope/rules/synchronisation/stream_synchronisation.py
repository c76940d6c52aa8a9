"""The program waits for a stream or an event.

## What it finds
Calls that block the host until a stream is done or an event has passed, made by the program itself and not by a copy
or an operator that reads a number.

## Why it matters
A waiting host launches nothing, and afterwards the device may wait for the host. Streams can wait for each other
without the host: that keeps the order and lets the host run ahead.

## How it decides
There must be at least `min_calls` of them per step (`synchronisation.stream_waits`). The price is what the step would
save on its dependency graph without these calls, and at most what the device is idle. Of a call that goes on for a
millisecond or more while the device is idle only the wait for recorded work goes (`synchronisation.needless`).

## What to try
Replace `stream.synchronize()` by `other.wait_stream(stream)`, and `event.synchronize()` by `stream.wait_event(event)`.
Wait for the work of the step before instead of this one, so that one step is always queued.

## Known limits
Libraries wait this way too (a data loader for its page-locked buffers, DistributedDataParallel for its statistics);
such waits are mostly for work that is long done, and their price is nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration
from stepscope.model.events.change import Change, Scaled
from stepscope.rules import native
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.rules.wording import often, torch_module, where
from stepscope.signals import Signals
from stepscope.signals.host.host import refill_ns
from stepscope.signals.host.synchronisation import EVENT, STREAM, calls, needless, places, stream_waits
from stepscope.signals.shared.job import platform, recorded_steps


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the number of such calls with the threshold."""
    rate = s(stream_waits)
    if rate < limits["min_calls"]:
        return
    found = s(calls).of(STREAM, EVENT)
    those = [place for place in s(places) if place.scope in (STREAM, EVENT)]
    blocked = int(found.dur.sum()) // s(recorded_steps)
    module = torch_module(s(platform))
    yield Draft(
        title="The program waits for a stream",
        summary=said(
            "The host waits until a stream or an event is done, {often}{where}: it is blocked for "
            "{blocked} of each step.",
            often=often(rate), where=where(those), blocked=duration(blocked),
        ),
        actions=(
            Action(
                "Let a stream wait for the other one, and the host for neither",
                before="side.synchronize()\nuse(result)",
                after=f"{module}.current_stream().wait_stream(side)\nuse(result)",
                page="synchronisation",
            ),
            Action(
                "Wait for the step before, so that one step is always queued",
                before="done.record(); done.synchronize()",
                after="if last is not None:\n    last.synchronize()\nlast = done; done.record()",
                page="synchronisation",
            ),
        ),
        # A call that is removed takes no time of its own either; the host's lead is lost by waiting alone.
        change=Change(host=(Scaled(s(needless).of(STREAM, EVENT).events, 0.0),), unblocked=found.events),
        explaining=Change(unblocked=found.events),
        most_ns=s.maybe(refill_ns),
        events=found.longest(),
        rows=tuple(place.row for place in those[:3]),
        numbers={stream_waits.name: rate, "min_calls": limits["min_calls"]},
    )  # fmt: skip


RULE = Rule(
    "SYN004",
    "stream-synchronisation",
    thresholds=(
        Threshold(
            "min_calls", 0.5, "per step", "Every other step; Nsight Systems' rule cuda_api_sync lists every such call."
        ),
    ),
    check=check,
    elsewhere=native.HANDING_OVER,
    symptom_of=("SYN005",),
)
