"""Tensors are copied within the device.

## What it finds
PyTorch programs that spend a noticeable part of their steps on copies from one place of a device's memory to another:
clones, copies into buffers, inputs that are copied into a graph before each replay.

## Why it matters
Such a copy reads and writes all bytes and computes nothing. Small ones take as long as launching them.

## How it decides
Copies within the device that operators copy with (`copy_`, `clone`, `contiguous`) and during which the device does
nothing else must come to `min_share` of the step, in most steps. The price is the step without them.

## What to try
Write results where they are needed, with `out=`, views or operators in place. Let a graph read its inputs where they
lie: Inductor replays on parameters as they are, other backends copy all of them. With DDP,
`gradient_as_bucket_view=True`.

## Known limits
A copy may be needed: of a tensor that changes while the old values are used, or to take the stride from an operand that
is read often. Copies by kernels rather than by the copy engine are pointwise operations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent, plural, quantity
from stepscope.model.events.change import Change, Scaled
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.copies.copy_kinds import copying_operators, on_device
from stepscope.signals.copies.transfers import exposed_ns, in_most_steps, share
from stepscope.signals.shared.job import recorded_steps
from stepscope.signals.shared.program import program

_GRAPH = Action(
    "Let graphs read their inputs where they lie, instead of copying them before each replay",
    before='model = torch.compile(model, backend="cudagraphs")',
    after='model = torch.compile(model, mode="reduce-overhead")   # replays on parameters as they are\n'
    "torch._dynamo.mark_static_address(buffer)                # for other tensors that stay where they are",
    page="torch-compile",
    needs=("compiled",),
)
_BUCKETS = Action(
    "Let gradients be views of DDP's buckets",
    before="model = DistributedDataParallel(model)",
    after="model = DistributedDataParallel(model, gradient_as_bucket_view=True)",
    page="overlapping-communication",
    needs=("ddp",),
)
_IN_PLACE = Action(
    "Write results where they are needed: out=, views and operators in place copy nothing",
    before="y = x.clone()\ny += bias\nbuffer.copy_(y)",
    after="torch.add(x, bias, out=buffer)",
    needs=("pytorch",),
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the time that such copies take alone with the step."""
    if not s(program).pytorch:
        return
    found = s(on_device)
    if not found.event.size or share(s, int(found.dur.sum())) < limits["min_share"] or not in_most_steps(s, found):
        return
    alone, steps = exposed_ns(s, found), s(recorded_steps)
    if share(s, alone) < limits["min_share"]:
        return
    size = quantity(found.bytes.sum() / steps, "bytes")
    name, number = Counter(copying_operators(s, found)).most_common(1)[0]
    by = said(
        ", {number} of them by {name}",
        number=said("all") if number == found.event.size else f"{number / steps:,.0f}", name=name,
    )  # fmt: skip
    yield Draft(
        title="Tensors are copied within the device",
        summary=said(
            "{copies} per step move {size} from one place of the device's memory to another{by}: {alone} "
            "of each step ({share}) in which the device does nothing else.",
            copies=plural(round(found.event.size / steps), "copy", "copies"), size=size, by=by,
            alone=duration(alone // steps), share=percent(share(s, alone)),
        ),
        actions=(_GRAPH, _BUCKETS, _IN_PLACE),
        change=Change(device=(Scaled(found.event, 0.0),)),
        most_ns=alone // steps,
        confidence=0.6,
        events=found.longest,
        rows=({"table": "copies", "where": {"direction": "DtoD"}},),
        numbers={"exposed_ns": alone // steps, **limits},
    )  # fmt: skip


RULE = Rule(
    "CPY009",
    "copies-on-device",
    thresholds=(
        Threshold("min_share", 0.05, "share", "Some copies are needed; of less than this too little is left to gain."),
    ),
    check=check,
)
