"""Asynchronous copies are not overlapped with compute.

## What it finds
Copies between the device and page-locked memory during which the device does nothing else.

## Why it matters
Copy engines work independently of SMs and CUs. A copy on the stream of the kernels delays these; on a stream of its own
it could run during the step before.

## How it decides
The time of asynchronous copies in which their device computes and communicates nothing must come to `min_share` of the
step. The price is what the step would save if no other work waited for these copies.

## What to try
Copy the next batch on a side stream while this one is computed; for offloaded weights or activations, fetch them a
layer ahead.

## Known limits
Copies that take longer than the step computes can't be hidden: then there must be fewer bytes (CPY007).
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent, quantity
from stepscope.model.events.change import Change
from stepscope.rules import native
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.rules.wording import on_stream, torch_module
from stepscope.signals import Signals
from stepscope.signals.copies.copy_kinds import asynchronous
from stepscope.signals.copies.transfers import exposed_ns, in_most_steps, share
from stepscope.signals.shared.job import platform, recorded_steps


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the exposed time of such copies with the step."""
    found = s(asynchronous)
    if not found.event.size or share(s, int(found.dur.sum())) < limits["min_share"] or not in_most_steps(s, found):
        return
    exposed, steps = exposed_ns(s, found), s(recorded_steps)
    if share(s, exposed) < limits["min_share"]:
        return
    taken, alone = (duration(ns // steps) for ns in (int(found.dur.sum()), exposed))
    yield Draft(
        title="Copies are not overlapped with compute",
        summary=said(
            "Exposed copies: {alone} of each step ({share}) are copies between host and device that "
            "nothing overlaps, of {taken} and {bytes} in all.",
            alone=alone, share=percent(share(s, exposed)), taken=taken,
            bytes=quantity(found.bytes.sum() / steps, "bytes"),
        ),
        actions=(_ahead(s(platform)),),
        change=Change(overlapped=found.event),
        most_ns=exposed // steps,
        events=found.longest,
        rows=({"table": "copies", "where": {"direction": "HtoD"}},),
        numbers={"exposed_ns": exposed // steps, "min_share": limits["min_share"]},
    )  # fmt: skip


def _ahead(platform: str) -> Action:
    module = torch_module(platform)
    return Action(
        "Copy the next batch on a stream of its own while this one is computed",
        before="x = x.to(device, non_blocking=True)\ny = model(x)",
        after=f"{on_stream(platform, 'side')}\n    following = following.to(device, non_blocking=True)\n"
        f"y = model(x)\n{module}.current_stream().wait_stream(side)\nx = following",
        page="pinned-memory",
    )


RULE = Rule(
    "CPY004",
    "copies-not-overlapped",
    thresholds=(
        Threshold(
            "min_share", 0.03, "share",
            "The remedy takes a second stream and batch; nsys-ai speaks of copies to the device from 5 % on.",
        ),
    ),
    check=check,
    elsewhere=native.OVERLAPPING,
    symptom_of=("CPY001", "CPY002", "CPY007", "CPY010"),
)  # fmt: skip
