"""Copies use synchronous calls.

## What it finds
Calls such as `cudaMemcpy`, `hipMemcpy` or `aclrtMemcpy`, which return only when the copy is done, between the device
and memory other than pageable, in most steps.

## Why it matters
The memory would allow an asynchronous copy; the call makes the host wait for it, and for all work before it.

## How it decides
Copies towards the device of more than 64 KiB, and away from it from 4 KiB on, must occur in at least half of the steps,
and their time and that of the calls must come to `min_share` of the step. The price is that of calls that don't wait.
Copies of pageable memory are left to CPY001: they wait whatever the call.

## What to try
The asynchronous form on a stream, with an event where the data are needed.

## Known limits
PyTorch itself copies by asynchronous calls; a synchronising call after them is SYN003's matter. Copies by calls of
unknown names count as asynchronous.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, plural, quantity
from stepscope.model.events.change import Change
from stepscope.rules import native
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.copies.copy_kinds import synchronous
from stepscope.signals.copies.transfers import in_most_steps, share
from stepscope.signals.shared.job import platform, recorded_steps

_CALLS = {
    "rocm": ("hipMemcpy(dst, src, n, kind);", "hipMemcpyAsync(dst, src, n, kind, stream);"),
    "npu": ("aclrtMemcpy(dst, size, src, n, kind);", "aclrtMemcpyAsync(dst, size, src, n, kind, stream);"),
}
_CUDA = ("cudaMemcpy(dst, src, n, kind);", "cudaMemcpyAsync(dst, src, n, kind, stream);")

_TENSORS = Action(
    "Copy tensors from page-locked memory, and don't wait for them",
    before="x = x.to(device)",
    after="x = x.pin_memory().to(device, non_blocking=True)",
    page="pinned-memory",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare such copies with the step."""
    found = s(synchronous)
    cost = share(s, int(found.dur.sum()) + found.blocked_ns)
    if not found.event.size or cost < limits["min_share"] or not in_most_steps(s, found):
        return
    steps, (before, after) = s(recorded_steps), _CALLS.get(s(platform), _CUDA)
    number = max(found.event.size // steps, 1)
    size = quantity(found.bytes.sum() / steps, "bytes")
    yield Draft(
        title="Copies are synchronous",
        summary=said(
            "{copies} per step, {size} in all, {en_uses} synchronous calls; the host waits {blocked} in them.",
            copies=plural(number, "copy", "copies"), size=size, en_uses="uses" if number == 1 else "use",
            blocked=duration(found.blocked_ns // steps),
        ),
        actions=(
            Action("Copy asynchronously on a stream", before=before, after=after, page="pinned-memory"),
            _TENSORS,
        ),
        change=Change(unblocked=found.held),
        events=found.longest,
        rows=({"table": "copies", "where": {"direction": "HtoD"}},),
        numbers={"copies": found.event.size, "share": round(cost, 4), "min_share": limits["min_share"]},
    )  # fmt: skip


RULE = Rule(
    "CPY002",
    "synchronous-copies",
    thresholds=(
        Threshold(
            "min_share", 0.01, "share",
            "What costs less than 1 % of the step is not shown; the limits of size are those of Nsight Systems' rule "
            "cuda_memcpy_sync.",
        ),
    ),
    check=check,
    elsewhere=native.OVERLAPPING,
    symptom_of=("CPY010",),
)  # fmt: skip
