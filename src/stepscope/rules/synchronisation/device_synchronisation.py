"""The program waits for the whole device.

## What it finds
Calls in the training loop that return only when everything on the device is done: `torch.cuda.synchronize()` and what
it calls, on every platform.

## Why it matters
While the host waits it launches nothing. When it continues, the device has no work left, and idles until the host has
launched enough again. The wait itself costs nothing while the device works; the idle time after it, and the host's lost
lead, do.

## How it decides
There must be at least `min_calls` of them per step (`synchronisation.device_waits`). The price is what the step would
save on its dependency graph without these calls, at most the device's idle time; it is small where the host is far
ahead of the device anyway. Of a call that goes on for a millisecond or more while the device is idle only the wait for
recorded work goes: what it waits for else is not in the recording (`synchronisation.needless`).

## What to try
Remove what is left over from debugging and timing. Time with device events, which record the moment on the device and
are read later. Where work on one stream must wait for another, let the stream wait for an event instead of the host.

## Known limits
A wait that the program needs, before it writes a checkpoint or at the end of an epoch, is counted as well if it lies
in a recorded step. Waits that are many per kernel are found by SYN005.
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
from stepscope.signals.host.synchronisation import DEVICE, calls, device_waits, needless, places
from stepscope.signals.shared.job import platform, recorded_steps


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the number of such calls with the threshold."""
    rate = s(device_waits)
    if rate < limits["min_calls"]:
        return
    found = s(calls).of(DEVICE)
    those = [place for place in s(places) if place.scope == DEVICE]
    blocked = int(found.dur.sum()) // s(recorded_steps)
    yield Draft(
        title="The program waits for the whole device",
        summary=said(
            "The host waits until the device has finished all work, {often}{where}: it is blocked for "
            "{blocked} of each step, and then the device idles until new work is launched.",
            often=often(rate), where=where(those), blocked=duration(blocked),
        ),
        actions=_actions(s(platform)),
        # A call that is removed takes no time of its own either; the host's lead is lost by waiting alone.
        change=Change(host=(Scaled(s(needless).of(DEVICE).events, 0.0),), unblocked=found.events),
        explaining=Change(unblocked=found.events),
        most_ns=s.maybe(refill_ns),
        events=found.longest(),
        rows=tuple(place.row for place in those[:3]),
        numbers={device_waits.name: rate, "min_calls": limits["min_calls"]},
    )  # fmt: skip


def _actions(platform: str) -> tuple[Action, ...]:
    module = torch_module(platform)
    return (
        Action(
            "Remove the call, or make it once in many steps",
            before=f"loss.backward()\n{module}.synchronize()\nprint(time.time() - start)",
            after=f"if step % 100 == 0:\n    {module}.synchronize()\n    print((time.time() - start) / 100)",
            page="synchronisation",
        ),
        Action(
            "Take times with events, and read them later",
            before=f"{module}.synchronize(); start = time.time()\nwork()\n{module}.synchronize(); end = time.time()",
            after=f"start, end = ({module}.Event(enable_timing=True) for _ in range(2))\n"
            "start.record(); work(); end.record()\n...  # at the end of the epoch: start.elapsed_time(end)",
            page="synchronisation",
        ),
    )


RULE = Rule(
    "SYN001",
    "device-synchronisation",
    thresholds=(
        Threshold(
            "min_calls", 0.5, "per step", "Every other step; Nsight Systems' rule cuda_api_sync lists every such call."
        ),
    ),
    check=check,
    elsewhere=native.WAITING,
    symptom_of=("SYN005",),
)
