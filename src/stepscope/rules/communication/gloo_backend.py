"""Device tensors are exchanged through the host (gloo).

## What it finds
Collectives of the gloo backend in a job whose devices have a communication library of their own.

## Why it matters
gloo copies tensors to the host, sends them over TCP at one to a few GB/s, and copies them back; NCCL, RCCL and HCCL
move them from device to device at tens to hundreds of GB/s, without the host.

## How it decides
Collectives that host threads carry out must take `min_share` of the step, on a platform with devices, in a group that
does not have a library of the device for its tensors. The price is what the step would save if they took a tenth.

## What to try
Initialise the process group with the backend of the device.

## Known limits
Collectives of host tensors, for example to agree on file names, belong to gloo; where the recording does not name the
backends of groups they can't be distinguished, and the confidence is low.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change, Scaled
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.communication.process_groups import groups
from stepscope.signals.shared.host_collectives import on_host
from stepscope.signals.shared.job import platform, step_ns

#: Links of devices against sockets of hosts: 20 GB/s and more against 1 to 2.
_FACTOR = 0.1
_BACKENDS = {"cuda": "nccl", "rocm": "nccl", "npu": "hccl", "xpu": "xccl"}


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the time of gloo's collectives with the step."""
    backend = _BACKENDS.get(s(platform))
    found = s(on_host)
    inside = found.step >= 0
    if backend is None or not inside.any():
        return
    told = [group.backend for group in s(groups) if group.backend]
    if any(_serves_devices(one) for one in told):
        return
    steps = np.unique(found.step[inside]).size
    share = float(found.dur[inside].sum()) / steps / s(step_ns)
    if share < limits["min_share"]:
        return
    per_step = int(found.dur[inside].sum()) // steps
    yield Draft(
        title="Collectives go through the host (gloo)",
        summary=said(
            "Gloo collectives on the host take {per_step} of each step ({share}), although the devices have {backend}.",
            per_step=duration(per_step), share=percent(share), backend=backend.upper(),
        ),
        actions=(
            Action(
                said("Use the {backend} backend for tensors of the devices", backend=backend),
                before='dist.init_process_group("gloo")',
                after=f'dist.init_process_group("{backend}")',
                page="collective-bandwidth",
            ),
        ),
        change=Change(host=(Scaled(found.event[inside], _FACTOR),)),
        confidence=0.9 if told else 0.5,
        events=found.event[inside][:20],
        numbers={"share": share, "min_share": limits["min_share"]},
    )  # fmt: skip


def _serves_devices(backend: str) -> bool:
    """Whether a recorded backend, such as `cpu:gloo,cuda:nccl`, has more than gloo for devices."""
    parts = [part.rpartition(":") for part in backend.split(",")]
    return any(name != "gloo" for where, _, name in parts if where != "cpu")


RULE = Rule(
    "COM009",
    "gloo-backend",
    thresholds=(
        Threshold(
            "min_share",
            0.01,
            "share",
            "torch-tb-profiler advised NCCL whenever another backend was in use; "
            "what costs less than 1 % of the step is not shown.",
        ),
    ),
    check=check,
)
