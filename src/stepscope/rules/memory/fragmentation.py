"""Memory is held in pieces that can't be used.

## What it finds
A large part of the allocator's memory that is free, but lies in segments that are partly in use: too scattered for a
large allocation, and impossible to give back.

## Why it matters
The job needs more memory than its tensors add up to. An allocation can fail with gigabytes free, and before that
happens the allocator gives back and takes anew what it can.

## How it decides
From a memory snapshot: free bytes in segments that are in use (stranded) must reach `min_share` of what the allocator
holds and `min_bytes`; or an allocation failed although enough was free. The snapshot's peak is named, because free
pieces hurt only if the peak itself, or an allocation after it, does not fit. It is advice.

## What to try
Expandable segments: pieces of one growing segment can always be joined. Or equal sizes: pad sequences to a few
lengths, allocate what lives long before what lives briefly. Warm up with the largest input.

## Known limits
A snapshot is one moment. Memory that is stranded at the end of a step may have been full at its peak.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.model.amounts import percent, quantity
from stepscope.model.errors import MissingInputError
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.job import platform
from stepscope.signals.memory import failures, snapshot


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Hold the stranded bytes against those held."""
    row = s.maybe(snapshot)
    torn = [one for one in s(failures) if one["verdict"] == "fragmentation"]
    if row is None and not torn:
        raise MissingInputError(
            "how the allocator's memory is laid out is not recorded",
            hint="record a memory snapshot (PyTorch: torch.cuda.memory._record_memory_history and _dump_snapshot)",
        )
    if torn:
        yield Draft(
            title="Memory is too fragmented for an allocation",
            summary=f"An allocation of {quantity(torn[0]['requested_bytes'], 'bytes')} failed with "
            f"{quantity(torn[0]['free_bytes'], 'bytes')} free in the allocator's segments: the largest piece was "
            f"{quantity(torn[0]['largest_free_bytes'], 'bytes')}.",
            actions=_actions(s),
            rows=({"table": "out_of_memory", "where": {"ts": torn[0]["ts"]}},),
            numbers={"failed": len(torn)},
            key="failed",
        )
        return
    if row is None or row["stranded_share"] < limits["min_share"] or row["stranded_bytes"] < limits["min_bytes"]:
        return
    peak = row["peak_bytes"] / row["reserved_bytes"]
    yield Draft(
        title="Memory is held in pieces that can't be given back",
        summary=f"{quantity(row['stranded_bytes'], 'bytes')} ({percent(row['stranded_share'])} of what the "
        "allocator holds) are free, but in segments that are partly in use; the largest piece has "
        f"{quantity(row['largest_free_bytes'], 'bytes')}. At the recorded peak {percent(peak)} of what it "
        "holds now were asked for.",
        actions=_actions(s),
        confidence=0.5 if peak >= limits["full_peak"] else 0.8,
        rows=({"table": "memory_snapshot", "where": {"device": row["device"]}},),
        numbers={"stranded": row["stranded_bytes"], "share": row["stranded_share"], **limits},
    )


def _actions(s: Signals) -> tuple[Action, ...]:
    variable = "PYTORCH_NPU_ALLOC_CONF" if s(platform) == "npu" else "PYTORCH_CUDA_ALLOC_CONF"
    return (
        Action(
            "Let segments grow, so that their pieces can be joined",
            before=f"{variable} unset",
            after=f"export {variable}=expandable_segments:True",
            page="memory-fragmentation",
        ),
        Action("Pad inputs to a few sizes, and begin with the largest", page="memory-fragmentation"),
    )


RULE = Rule(
    "MEM003",
    "fragmentation",
    thresholds=(
        Threshold(
            "min_share",
            0.25,
            "share",
            "Of nine public snapshots, only the one kept as an example of stranded "
            "memory (26.7 %) exceeds it; ordinary training runs have 1 to 21 %.",
        ),
        Threshold("min_bytes", 2**30, "bytes", "Small models strand a large share of little memory."),
        Threshold(
            "full_peak", 0.9, "share", "Above it the memory was well used at the peak, and the pieces may not matter."
        ),
    ),
    check=check,
)
