"""Batches are prepared on the NPU, which is slow at it.

## What it finds
Kernels of the NPU that transform the batch before the forward pass: resizing, casting, normalising, cropping, masking.

## Why it matters
Transforms of images and texts work on sizes that vary and on integers, for which the NPU has slow operators or the AI
CPU. They run before the forward pass, when nothing else can. Worker processes do the same on the host's cores while the
device computes the step before.

## How it decides
Compute kernels that are launched while inputs are prepared (phases `preprocessing` and `data_loading`), before the
step's backward pass, must take `min_share` of the step. The price is what the step would save without them.

## What to try
Do it in the data loader's worker processes, and copy what is ready. Keep on the device what is a single quick kernel,
such as the conversion of uint8 to half precision: it saves bytes on the way.

## Known limits
The host needs cores for it: watch the wait for data afterwards. What is prepared is recognised by where it is launched:
before the last copy of inputs, or in ranges with names of preparation.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change, Scaled
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.ascend.npu_preparing import preparing, preparing_share
from stepscope.signals.shared.step_columns import longest

_WORKERS = Action(
    "Prepare batches in worker processes on the CPU, and copy what is ready",
    before="for images in loader:\n    images = normalize(resize(images.to('npu')).float())",
    after="dataset.transform = Compose([Resize(224), ToTensor(), Normalize(mean, std)])   # in each worker\n"
    "loader = DataLoader(dataset, num_workers=8, pin_memory=True, persistent_workers=True)\n"
    "images = images.to('npu', non_blocking=True)",
    page="data-loading",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare kernels that prepare inputs with the step."""
    share = s(preparing_share)
    if share < limits["min_share"]:
        return
    found = s(preparing)
    slow = int(found.dur[found.core == "AI_CPU"].sum())
    yield Draft(
        title="Batches are prepared on the NPU",
        summary=said(
            "{size:,.0f} kernels per step ({types}) prepare the batch before the forward pass and take "
            "{ns_per_step} of the device ({share} of the step)",
            size=found.event.size / found.steps, types=found.types(), ns_per_step=duration(found.ns_per_step),
            share=percent(share),
        )
        + (said(", {slow} of it on the AI CPU.", slow=percent(slow / max(int(found.dur.sum()), 1))) if slow else "."),
        actions=(_WORKERS,),
        change=Change(device=(Scaled(found.event, 0.0),)),
        confidence=0.5,
        events=longest(found.event, found.dur),
        rows=({"table": "phases", "where": {"phase": "preprocessing"}},),
        numbers={preparing_share.name: share, **limits},
    )  # fmt: skip


RULE = Rule(
    "ASC017",
    "preparing-on-npu",
    thresholds=(
        Threshold("min_share", 0.03, "share", "Less than that is a cast or two, which save bytes on the way."),
    ),
    check=check,
)
