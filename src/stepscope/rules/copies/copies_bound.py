"""Copies between host and device take most of the step.

## What it finds
Steps that spend most of their time on copies over the link to the host: weights fetched again for every layer,
optimizer states kept on the host, results copied to the host as a whole.

## Why it matters
The link to the host is a fiftieth of the device's own memory in speed. Copies that take longer than the rest of the
step can't be hidden behind it, however well they are scheduled.

## How it decides
The time of copies between host and device in which the device does nothing else must come to `min_share` of the step.
The price is that of the copies, were they not needed. Where they come from page-locked memory and run at less than
`min_rate` of what the device's link carries, the link may be at fault: that is said as a hypothesis.

## What to try
Keep on the device what is used in every step: no offloading, or of what does not fit only. Make what must be sent
smaller: 16 or 8 bits instead of 32, the rows that are needed instead of the table. Share the model between devices.

## Known limits
Which data is sent can't be seen. A recording of a program's start shows how it loads its weights once.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent, quantity
from stepscope.model.events.change import Change, Scaled
from stepscope.model.program import Program
from stepscope.rules import native
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.copies.copy_kinds import with_host
from stepscope.signals.copies.transfers import (
    PAGEABLE,
    PINNED,
    CopyTransfers,
    exposed_ns,
    in_most_steps,
    large_rate,
    link_rate,
    share,
)
from stepscope.signals.shared.job import recorded_steps
from stepscope.signals.shared.program import program

_TEXT = said("Keep on the device what every step uses; offload only what does not fit")
_PIPE = Action(_TEXT, before="pipe.enable_sequential_cpu_offload()", after="pipe.to(device)", page="pinned-memory")
_SHARDS = Action(
    _TEXT,
    before="fully_shard(model, offload_policy=CPUOffloadPolicy())",
    after="fully_shard(model)   # or model.to(device), where the whole of it fits",
    page="pinned-memory",
)
_KEEP = Action(
    _TEXT,
    before='for layer in layers:\n    x = layer.to(device)(x)\n    layer.to("cpu")',
    after="model.to(device)   # once\nfor layer in layers:\n    x = layer(x)",
    page="pinned-memory",
)
_SMALLER = Action(
    "Send fewer bytes: narrow the type before the copy, and gather rows on the host",
    before="weight = weight.to(device).to(torch.bfloat16)",
    after="weight = weight.to(torch.bfloat16)  # once, on the host\nweight = weight.to(device, non_blocking=True)",
    page="pinned-memory",
)
_LANES = Action(
    "See how many lanes and which generation the link has while copies run, and who shares it",
    after="nvidia-smi --query-gpu=pcie.link.gen.current,pcie.link.gen.max,pcie.link.width.current,pcie.link.width.max "
    "--format=csv\nnvidia-smi topo -m",
    needs=("cuda",),
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the exposed time of copies with the step."""
    found = s(with_host)
    if not found.event.size or share(s, int(found.dur.sum())) < limits["min_share"] or not in_most_steps(s, found):
        return
    exposed, steps = exposed_ns(s, found), s(recorded_steps)
    if share(s, exposed) < limits["min_share"]:
        return
    size, alone = found.bytes.sum() / steps, exposed // steps
    yield Draft(
        title="Copies between host and device take most of the step",
        summary=said(
            "{size} per step are copied between host and device, exposed for {alone} ({share} of the "
            "step): there is too little other work to overlap them.{rate}",
            size=quantity(size, "bytes"), alone=duration(alone), share=percent(share(s, exposed)),
            rate=_rate(s, found, limits),
        ),
        actions=(_keeping(s(program)), _SMALLER, *_elsewhere(found), *_link(s, found, limits)),
        change=Change(device=(Scaled(found.event, 0.0),)),
        most_ns=alone,
        confidence=0.8,
        events=found.longest,
        rows=({"table": "copies", "where": {}},),
        numbers={"exposed_ns": alone, **limits},
    )  # fmt: skip


def _rate(s: Signals, found: CopyTransfers, limits: Limits) -> str:
    """At what rate they run, and of what; empty where no copy is large enough to show it."""
    own, link = large_rate(found), s.maybe(link_rate)
    if own is None:
        return ""
    words = said(" They run at {own}", own=quantity(own, "bytes/s"))
    if link is None:
        return said("{words}.", words=words)
    slow = said(". A hypothesis: fewer lanes, or a link that is shared") if _slow(found, own, link, limits) else ""
    return said(
        "{words}, where the device's link carries up to {link}{slow}.",
        words=words, link=quantity(link, "bytes/s"), slow=slow,
    )  # fmt: skip


def _link(s: Signals, found: CopyTransfers, limits: Limits) -> tuple[Action, ...]:
    """How to see what the link is, where page-locked memory does not reach half of it."""
    own, link = large_rate(found), s.maybe(link_rate)
    return (_LANES,) if own is not None and link is not None and _slow(found, own, link, limits) else ()


def _slow(found: CopyTransfers, own: float, link: float, limits: Limits) -> bool:
    """Whether the link is slower than it should be; pageable memory is slow on any."""
    return own < limits["min_rate"] * link and bool(found.between(PINNED).all())


def _keeping(ran: Program) -> Action:
    """How what is offloaded stays on the device, by what offloads it."""
    if "fsdp" in ran.parallel:
        return _SHARDS
    return _PIPE if ran.kind == "diffusion" else _KEEP


def _elsewhere(found: CopyTransfers) -> tuple[Action, ...]:
    """What to do in native programs; memory that is page-locked already is not to be locked."""
    pageable = found.between(PAGEABLE)
    return native.FASTER_COPIES if 2 * found.bytes[pageable].sum() >= found.bytes.sum() else native.FEWER_COPIES


RULE = Rule(
    "CPY007",
    "copies-bound",
    thresholds=(
        Threshold(
            "min_share", 0.5, "share", "What takes more than half of the step is longer than all the rest of it."
        ),
        Threshold("min_rate", 0.5, "share", "Copies from page-locked memory come to about 80 % of a link's rate."),
    ),
    check=check,
    symptom_of=("CPY001", "CPY002", "CPY005", "CPY010"),
)
