"""One process drives several devices with DataParallel.

## What it finds
A model in `torch.nn.DataParallel`: one process copies it to all devices in every step, scatters the batch, and gathers
the outputs on one of them.

## Why it matters
One Python process launches the work of all devices, thread after thread under one lock; every step copies the
parameters to every device; the first device computes and holds more than the others. `DistributedDataParallel` avoids
all of that, on one machine too.

## How it decides
Its operators or modules are recorded, and one process computes on at least `min_devices` devices (`replicas.replicas`).
The price is what the step would save on its dependency graph without handing out and gathering tensors, which leaves
out what separate processes would gain.

## What to try
`DistributedDataParallel`, one process per device.

## Known limits
The price is a lower bound. A process that drives several devices in another way is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import percent
from stepscope.model.events.change import Change, Scaled
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.communication.replicas import replicas, replicating_share
from stepscope.signals.shared.job import platform


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Look for replicas on several devices."""
    found = s(replicas)
    if found is None or found.devices < limits["min_devices"]:
        return
    backend = "hccl" if s(platform) == "npu" else "nccl"
    yield Draft(
        title="DataParallel drives several devices from one process",
        summary=said(
            "One process computes on {devices} devices, and scatters and gathers tensors for "
            "{replicating_share} of the step.",
            devices=found.devices, replicating_share=percent(s(replicating_share)),
        ),
        actions=(
            Action(
                "Use DistributedDataParallel with one process per device",
                before="model = torch.nn.DataParallel(model)",
                after=f'dist.init_process_group("{backend}")\n'
                "model = DistributedDataParallel(model, device_ids=[local_rank])\n"
                "# torchrun --nproc-per-node=8 train.py, with DistributedSampler in the loader",
                page="fewer-launches",
            ),
        ),
        change=Change(device=(Scaled(found.work, 0.0),), host=(Scaled(found.events, 0.0),)),
        confidence=0.9,
        events=found.events[:20],
        numbers={replicating_share.name: s(replicating_share), "devices": found.devices, **limits},
    )  # fmt: skip


RULE = Rule(
    "HST009",
    "data-parallel-module",
    thresholds=(
        Threshold(
            "min_devices", 2, "count", "torch-tb-profiler recommends DistributedDataParallel from two devices on."
        ),
    ),
    check=check,
)
