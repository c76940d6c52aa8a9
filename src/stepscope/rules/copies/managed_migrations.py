"""Managed memory migrates between host and device.

## What it finds
Kernels during which pages of managed memory (`cudaMallocManaged`, `-gpu=managed`) move to the device, and pages that
move either way while the device computes nothing.

## Why it matters
A kernel that touches a page on the host faults: the driver handles the fault, the page migrates, and threads wait. That
takes some tens of microseconds per group of pages, and reaches a small part of the link's rate.

## How it decides
The time within kernels from their first migration to their last (`managed.migrations`), without pauses of more than
100 µs, less what one copy of the same bytes from page-locked memory would take, is saved. So is the time in which pages
move while the device computes nothing: all of it where that recurs in most steps, since pages that stay where they are
used need not move; else what is left of it beside one copy. Both must come to `min_share` of the step; that is the
price.

## What to try
Prefetch arrays to the device before the kernel, and back before the host reads them; fill them on the device in the
first place; say what is only read. Or copy explicitly.

## Known limits
The kernel's own compute between two migrations is not separable from fault handling: the price is an upper bound.
Which arrays migrate is not recorded. Where the device can't fault (Windows, WSL) everything moves before the kernel.
A host that touches pages waits for them, which can't be distinguished from its own work.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepscope.language import said, sentences
from stepscope.model.amounts import duration, plural, quantity
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.copies.managed import Migrations, migrations
from stepscope.signals.copies.transfers import share

_ACTIONS: Final = (
    Action(
        "Prefetch to the device before the kernel, and to the host before it reads",
        before="add<<<g, b>>>(n, x, y);\ncudaDeviceSynchronize();",
        after="cudaMemPrefetchAsync(x, bytes, device, stream);\ncudaMemPrefetchAsync(y, bytes, device, stream);\n"
        "add<<<g, b, 0, stream>>>(n, x, y);\ncudaMemPrefetchAsync(y, bytes, cudaCpuDeviceId, stream);\n"
        "cudaStreamSynchronize(stream);",
        page="memory-access",
        needs=("kernels of its own",),
    ),
    Action(
        "Fill arrays in a kernel: pages lie where they are touched first",
        before="for (int i = 0; i < n; i++) x[i] = 1.0f;   // on the host",
        after="init<<<g, b>>>(n, x, y);",
        page="memory-access",
        needs=("kernels of its own",),
    ),
    Action(
        "Let a data region copy the arrays once instead of managed memory",
        before="nvc -acc -gpu=managed jacobi.c",
        after="nvc -acc jacobi.c   // with #pragma acc data copy(a[0:n]) around the loop",
        page="memory-access",
        needs=("openacc",),
    ),
    Action(
        "Let a data region copy the arrays once instead of managed memory",
        before="nvc -mp=gpu -gpu=managed jacobi.c",
        after="nvc -mp=gpu jacobi.c   // with #pragma omp target data map(tofrom: a[0:n]) around the loop",
        page="memory-access",
        needs=("openmp",),
    ),
    Action(
        "Prefetch managed arrays before they are used, or allocate device memory",
        page="memory-access",
        needs=("python",),
    ),
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare what kernels and the host wait for pages with the step."""
    found = s(migrations)
    saved = int(found.saved.sum()) + found.alone_saved
    if share(s, saved) < limits["min_share"]:
        return
    words = [
        *([_stalled(found)] if share(s, int(found.saved.sum())) >= limits["min_share"] else []),
        *([_alone(found)] if share(s, found.alone_saved) >= limits["min_share"] else []),
    ]
    yield Draft(
        title="Managed memory migrates while kernels run"
        if found.saved.sum() >= found.alone_saved
        else "Managed memory migrates between host and device",
        summary=sentences(words or [_stalled(found), _alone(found)]),
        actions=_ACTIONS,
        # The graph has migrations on a queue of their own, which shorter kernels would wait for all the same.
        cost_ns=saved // found.steps,
        confidence=0.75,
        events=found.kernels[:20],
        rows=({"table": "copies", "where": {"src_kind": "managed"}},),
        numbers={"migrations": found.number, "bytes": found.bytes, **limits},
    )


def _stalled(found: Migrations) -> str:
    """What kernels wait for."""
    kernels = max(found.kernels.size // found.steps, 1)
    return said(
        "{bytes} per step move to the device in {migrations} while {kernels} that {en_touches} them "
        "{en_waits}: {stalled} of each step, where one copy would take {stalled_2}{back}.",
        bytes=quantity(found.bytes / found.steps, "bytes"),
        migrations=plural(max(found.number // found.steps, 1), "migration"), kernels=plural(kernels, "kernel"),
        en_touches="touches" if kernels == 1 else "touch", en_waits="waits" if kernels == 1 else "wait",
        stalled=duration(int(found.stalled.sum()) // found.steps),
        stalled_2=duration(int((found.stalled - found.saved).sum()) // found.steps), back=_back(found),
    )  # fmt: skip


def _alone(found: Migrations) -> str:
    """What moves while devices compute nothing."""
    once = found.alone - found.alone_saved
    instead = (
        said(", where one copy would take {once}", once=duration(once // found.steps))
        if once
        else said(": pages that only one side uses need not move")
    )
    return said(
        "{alone_bytes} per step move between host and device in {migrations} while the device "
        "computes nothing, for {alone} of each step{instead}.",
        alone_bytes=quantity(found.alone_bytes / found.steps, "bytes"),
        migrations=plural(max(found.alone_number // found.steps, 1), "migration"),
        alone=duration(found.alone // found.steps), instead=instead,
    )  # fmt: skip


def _back(found: Migrations) -> str:
    return (
        said("; {back} move back to the host", back=quantity(found.back / found.steps, "bytes")) if found.back else ""
    )


RULE = Rule(
    "CPY008",
    "managed-migrations",
    thresholds=(Threshold("min_share", 0.01, "share", "What costs less than 1 % of the step is not shown."),),
    check=check,
)
