"""The device's memory is nearly full.

## What it finds
A peak of memory in use close to what the device has.

## Why it matters
Near the limit the allocator can't keep a cache: it gives memory back to the driver and takes it anew, and each time
the host waits for the device. The next longer sequence, or another process, ends the job.

## How it decides
The most bytes in use at a time, as a share of the device's memory, must reach `min_share`. It is advice: what fullness
costs in time is what the rule on allocator churn measures. Allocations that failed have a rule of their own.

## What to try
Free what is not needed at the peak, hold activations for a shorter time or in fewer bytes, shard what each rank
holds. The report's `memory_holders` and `memory_peak_stacks` say who holds the peak.

## Known limits
Memory of libraries (communicators, workspaces outside the allocator, the context itself, up to some GiB) is not part
of what the allocator records.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import percent, quantity
from stepscope.model.errors import MissingInputError
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.memory.memory import failures, fullest, used_share
from stepscope.signals.shared.program import trains

_CHECKPOINT = Action(
    "Recompute activations in the backward pass instead of keeping them",
    before="x = block(x)",
    after="x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)",
    page="activation-checkpointing",
)
_SHARD = Action(
    "Shard optimizer states, gradients or parameters over the ranks",
    before="DistributedDataParallel(model)",
    after="fully_shard(model)   # or ZeroRedundancyOptimizer(...) for the optimizer's states alone",
    page="fsdp-zero",
)


_LESS = Action(
    "Hold less at a time: smaller batches, inference mode, and results dropped before the next ones are made",
    before="outputs = [model(x) for x in inputs]",
    after="with torch.inference_mode():\n    for x in inputs:\n        save(model(x).cpu())",
    page="batch-size",
)
_SHARD_MODEL = Action("Split the model over devices, or keep it in fewer bits", page="fsdp-zero")


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the peak with the device's memory."""
    failed = s(failures)
    share = s.maybe(used_share)
    if failed:
        return
    if share is None:
        raise MissingInputError(
            "how full the device's memory gets is not recorded",
            hint="record allocations (PyTorch: profile_memory=True) on a device that the recording names",
        )
    if share < limits["min_share"]:
        return
    peak = s(fullest)
    yield Draft(
        title="The device's memory is nearly full",
        summary=said(
            "At the peak {used} are in use, {share} of what the device has.",
            used=quantity(peak.used, "bytes"), share=percent(share),
        ),
        actions=(_CHECKPOINT, _SHARD) if s.maybe(trains) is not False else (_LESS, _SHARD_MODEL),
        rows=({"table": "memory_peaks", "where": {"device": peak.device}},),
        numbers={used_share.name: share, "min_share": limits["min_share"]},
    )  # fmt: skip


RULE = Rule(
    "MEM001",
    "near-limit",
    thresholds=(
        Threshold("min_share", 0.9, "share", "torch-tb-profiler advised checkpointing from 90 % of the memory on."),
    ),
    check=check,
    symptom_of=("MEM003", "MEM006", "MEM009"),
)
