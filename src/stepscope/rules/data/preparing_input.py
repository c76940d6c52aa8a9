"""The device waits while the host prepares its input.

## What it finds
Stretches of milliseconds in which the device is idle because the thread that launches reads, decodes, transforms or
tokenises input itself, outside any data loader.

## Why it matters
Preprocessing of images and video takes the time of many kernels and runs on one core. Done between two passes of the
device, it leaves the device idle.

## How it decides
Idle time in which the host calls nothing of the device for milliseconds must come to `min_share` of the step
(`own_work.own_work_share`), and the functions on the recorded Python stack, or the ranges, in which it spends most of
that time must be ones that prepare input, by their names (`own_work.own_work`). The price is what the step would save
on its dependency graph without that time. In a recording without steps, such as one call of a pipeline, what is
prepared before the device's first work counts as well; it has a share of the recording in place of a price.

## What to try
Prepare the next input while the device works on this one, in worker processes or a thread. Transform whole batches on
the device. Store what is prepared the same way each time.

## Known limits
Functions are recognised by their names and modules. Other work of the host is HST013.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change, Stretches
from stepscope.rules.finding import Action
from stepscope.rules.host.host_work import MIN_SHARE, where
from stepscope.rules.rule import Draft, Limits, Rule
from stepscope.rules.wording import torch_device
from stepscope.signals import Signals
from stepscope.signals.host.outside import Outside, outside
from stepscope.signals.host.own_work import own_work, own_work_share
from stepscope.signals.host.profiler_cost import own_late_share
from stepscope.signals.shared.job import platform, step_ns, stepless
from stepscope.signals.system.system import longest

_AHEAD = Action(
    "Prepare the next input in another process or thread while the device works on this one",
    before="for path in paths:\n    model(preprocess(path))",
    after="with ProcessPoolExecutor() as pool:\n    for inputs in pool.map(preprocess, paths):\n        model(inputs)",
    page="data-loading",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare time in which input is prepared with the step, and without steps that before the first work too."""
    yield from _in_steps(s, limits)
    outer = s.whole.maybe(outside) if s.maybe(stepless) else None
    if outer is not None and outer.before.prepares:
        yield from _before_use(s, outer, limits)


def _before_use(s: Signals, found: Outside, limits: Limits) -> Iterator[Draft]:
    """Of a recording of one pass, its input is prepared before the device is used for the first time."""
    total = found.before.found.total
    share = total / found.recorded_ns
    if share < limits["min_share"]:
        return
    yield Draft(
        title="The device waits while the host prepares its input",
        summary=said(
            "For {total}, {share} of the recording, the host prepares input before the device has any work{where}.",
            total=duration(total), share=percent(share), where=where(found.before),
        ),
        actions=(_AHEAD, _on_device(torch_device(s(platform)))),
        taken_ns=total,
        waiting=True,
        recorded_share=share,
        confidence=0.8,
        ranges=longest(found.before.found),
        numbers={"share": round(share, 4), **limits},
        key="before",
    )  # fmt: skip


def _in_steps(s: Signals, limits: Limits) -> Iterator[Draft]:
    share = min(s(own_work_share), s(own_late_share))
    if share < limits["min_share"]:
        return
    found = s(own_work)
    if not found.prepares:
        return
    idle = min(round(share * s(step_ns)), found.found.total)
    yield Draft(
        title="The device waits while the host prepares its input",
        summary=said(
            "The device is idle for {idle} of the step ({share}) while the host prepares input{where}.",
            idle=duration(idle), share=percent(share), where=where(found),
        ),
        actions=(_AHEAD, _on_device(torch_device(s(platform)))),
        change=Change(time=(Stretches(found.found.starts, found.found.ends, 0.0),)),
        most_ns=idle,
        confidence=0.85,
        ranges=longest(found.found),
        rows=({"table": "idle_causes", "where": {"cause": "host_dispatch", "detail": "host_work"}},),
        numbers={own_work_share.name: share, **limits},
    )  # fmt: skip


def _on_device(device: str) -> Action:
    return Action(
        "Or transform whole batches on the device",
        before="inputs = processor(frames)  # NumPy, frame by frame",
        after=f'frames = torch.as_tensor(frames, device="{device}")  # uint8: a quarter of the bytes\n'
        "inputs = normalize(resize(frames.float() / 255))",
        page="data-loading",
    )


RULE = Rule("DAT006", "preparing-input", thresholds=(MIN_SHARE,), check=check, symptom_of=("DAT001", "DAT005"))
