"""The optimizer has a fused version for NPUs.

## What it finds
Optimizers for which torch_npu has a fused version, where the job runs PyTorch's own, and gradients that are clipped one
by one.

## Why it matters
The fused versions keep parameters, gradients and states in one stretch of memory each, and update them with a few
kernels instead of several per tensor or list of tensors; so do they clip.

## How it decides
The optimizer's step takes at least `min_share` of the step on the host, and its name is one of those with a fused
version. The price is what the step would save on its dependency graph if a tenth of the optimizer's time on the host
were left: one that runs while the device waits for other ranks saves nothing. What an optimizer that loops over tensors
costs is priced by a finding of its own. Clipping is told by `min_norms` operators and more that compute the norm of one
tensor, one after another with nothing in between (`npu_dispatch.clipped_norms`), where the optimizer has a fused
version that clips all gradients together.

## What to try
Exchange the class; with mixed precision, let the scaler's unscaling and clipping be fused as well.

## Known limits
Fused optimizers need contiguous gradients, and do not combine with every sharding. Other fused operators (attention,
normalisation, rotary embedding, SwiGLU) are advised where their unfused kernels are found.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.model.events.change import Change, Scaled
from stepscope.rules.finding import Action
from stepscope.rules.host.optimizer_loop import FUSED_FOR_NPUS, HOST_LEFT
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.ascend.npu_dispatch import Optimizer, clipped_norms, optimizer
from stepscope.signals.shared.job import step_ns


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Look at the optimizer's name and time."""
    found = s(optimizer)
    if found is None:
        return
    yield from _clipping(s, found, limits)
    if found.name not in FUSED_FOR_NPUS:
        return
    share = found.host_ns / s(step_ns)
    if share < limits["min_share"]:
        return
    yield Draft(
        title="The optimizer has a fused version for NPUs",
        summary=said(
            "`{name}.step` takes {host} of the host per step ({share} of it) for {device} of device work; "
            "torch_npu has a fused version.",
            name=found.name, host=duration(found.host_ns), share=percent(share), device=duration(found.device_ns),
        ),
        actions=(
            Action(
                said("Use NpuFused{name}", name=found.name),
                before=f"optimizer = torch.optim.{found.name}(model.parameters(), lr=lr)",
                after=f"optimizer = torch_npu.optim.NpuFused{found.name}(model.parameters(), lr=lr)",
                page="npu-operators",
            ),
        ),
        change=Change(host=(Scaled(found.events, HOST_LEFT),)),
        most_ns=found.host_ns,
        confidence=0.7,
        events=found.events[:20],
        rows=({"table": "annotations" if found.annotated else "operators", "where": {"name": found.range_name}},),
        numbers={"share": share, **limits},
    )  # fmt: skip


def _clipping(s: Signals, found: Optimizer, limits: Limits) -> Iterator[Draft]:
    """Say what the norms of single gradients cost, where the optimizer can clip all at once."""
    norms = s.maybe(clipped_norms)
    fused = found.name.removeprefix("NpuFused")
    if fused not in FUSED_FOR_NPUS or norms is None or norms.per_step < limits["min_norms"]:
        return
    share = norms.ns_per_step / s(step_ns)
    if share < limits["min_share"]:
        return
    yield Draft(
        title="Gradients are clipped one by one",
        summary=said(
            "The norms of {per_step:,} gradients are computed one by one in each step, which takes "
            "{ns_per_step} of the host's time ({share} of the step).",
            per_step=round(norms.per_step), ns_per_step=duration(norms.ns_per_step), share=percent(share),
        ),
        actions=(
            Action(
                said("Let NpuFused{fused} clip them together", fused=fused),
                before="torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)",
                after=f"optimizer = torch_npu.optim.NpuFused{fused}(model.parameters(), lr=lr)\n"
                "optimizer.clip_grad_norm_fused_(max_norm)",
                page="npu-operators",
            ),
        ),
        change=Change(host=(Scaled(norms.event, HOST_LEFT),)),
        most_ns=norms.ns_per_step,
        confidence=0.6,
        events=norms.event[:20],
        rows=({"table": "operators", "where": {"name": "aten::linalg_vector_norm"}},),
        numbers={"norms": norms.per_step, "share": share, **limits},
        key="clipping",
    )  # fmt: skip


RULE = Rule(
    "ASC005",
    "affinity-operators",
    thresholds=(
        Threshold(
            "min_share",
            0.01,
            "share",
            "msprof-analyze advises them however short; what takes less than 1 % of the step is not worth the change.",
        ),
        Threshold("min_norms", 20, "1/step", "A norm or two are of a loss or a metric; models have more parameters."),
    ),
    check=check,
    symptom_of=("HST008",),
)
