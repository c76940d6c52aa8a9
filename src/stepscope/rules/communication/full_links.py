"""Samples show that a link carries all it can.

## What it finds
PCI Express that is full while data are copied between host and device, and NVLink that is full while ranks communicate.

## Why it matters
A full link can't be made faster by larger transfers, other algorithms or pinned memory: only fewer bytes help, or
work that runs beside the transfer.

## How it decides
Samples of the links count between which a copy, or a collective, runs all the time: on average they must reach `full`
of what the link can carry, in one direction, and the copies or collectives that nothing hides must take `min_share` of
the typical step. It is advice.

## What to try
PCI Express: narrower types before the copy, data that stay on the device, copies beside compute. NVLink: gradients in
half precision, sharding that sends less, communication beside compute.

## Known limits
Samples are of the whole device: other processes' traffic counts. What protocols need of a link is left out of what it
can carry by some devices only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.kernels.unit_use import LinkUse, exposed_transfers, link_use
from stepscope.signals.shared.job import step_ns

_KEEP: Final = Action(
    "Send fewer bytes over PCI Express: narrow the type before the copy, and keep on the device what comes again",
    before='x = x.float().to("cuda", non_blocking=True)',
    after='x = x.to("cuda", non_blocking=True).float()   # as uint8 over the link, converted on the device',
    page="pinned-memory",
)
_AHEAD: Final = Action("Copy the next batch while the device computes on this one", page="prefetching")
_HALF: Final = Action(
    "Send fewer bytes between devices: gradients in half precision, or reduced once per several micro-batches",
    before="model = DistributedDataParallel(model)",
    after="model = DistributedDataParallel(model)\nmodel.register_comm_hook(None, default_hooks.bf16_compress_hook)",
    page="collective-bandwidth",
)
_BESIDE: Final = Action("Let what must be sent run beside compute", page="overlapping-communication")
_WORDS: Final = {
    "pcie": (said("PCI Express is full while data are copied"), said("PCI Express"), said("copies"), (_KEEP, _AHEAD)),
    "nvlink": (said("NVLink is full while ranks communicate"), said("NVLink"), said("collectives"), (_HALF, _BESIDE)),
}


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Look at each link while it has something to carry."""
    step, exposed = s(step_ns), s(exposed_transfers)
    for link, (title, called, what, actions) in _WORDS.items():
        fullest = max((one for one in s(link_use) if one.link == link), key=_share, default=None)
        spent = exposed[link]
        if fullest is None or fullest.share < limits["full"] or spent < limits["min_share"] * step:
            continue
        yield Draft(
            title=title,
            summary=said(
                "While {what} run, {called} carries {share} of what it can, on average: they take {spent} of each step "
                "({part}) that nothing hides, and only fewer bytes would shorten them.",
                what=what, called=called, share=percent(fullest.share), spent=duration(spent),
                part=percent(spent / step),
            ),
            actions=actions,
            taken_ns=spent,
            waiting=True,
            confidence=0.7,
            rows=({"table": "device_samples"},),
            numbers={"link_share": round(fullest.share, 4), "exposed_share": round(spent / step, 4), **limits},
            key=link,
        )  # fmt: skip


def _share(one: LinkUse) -> float:
    return one.share


RULE = Rule(
    "COM011",
    "full-links",
    thresholds=(
        Threshold("full", 0.8, "share", "Protocols and turns leave data some 85 to 95 % of a link."),
        Threshold("min_share", 0.02, "share", "Transfers that take less of the step are not worth a change."),
    ),
    check=check,
)
