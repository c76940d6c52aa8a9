"""Operators run on the AI CPU instead of AI cores.

## What it finds
Kernels that the device's own small CPU cores carry out, because the library has no version of the operator for the AI
cores with these data types.

## Why it matters
The AI CPU is made for control, not for arithmetic: a conversion of a few microseconds on an AI core takes a hundred or
more, and the kernels behind it on the stream wait.

## How it decides
Kernels on the core AI_CPU, or with that in their name, of which one takes at least `min_longest`. The price is what
the step would save if they took what the same operators take on AI cores in this recording, or a tenth where none ran
there. Where only `op_statistic.csv` is at hand, its totals tell, without a price.

## What to try
Most often the data type is at fault: double precision or 64-bit integers, where float, half or int32 would do.
Operators with results of unknown size (`nonzero`, boolean indexing, `unique`, `argmin` and others in 64 bits) can be
written with masks.

## Known limits
Without `kernel_details.csv` only names tell. Which operators lack a version for AI cores depends on the release of
CANN.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from stepscope.language import said
from stepscope.model.amounts import duration, percent, plural
from stepscope.model.events.change import Change, scaled_each
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.ascend.npu_kernels import NpuKernels, kernels, on_ai_cpu
from stepscope.signals.ascend.npu_totals import added, operators
from stepscope.signals.shared.step_columns import longest

#: An AI core against the AI CPU where the recording has no operator on both: conversions of public recordings differ
#: by 10 to 30 times.
_FACTOR = 0.1
_WIDE = ("DOUBLE", "INT64", "UINT64", "COMPLEX")

_NARROW = Action(
    "Use data types that AI cores compute with",
    before="x = x.double()\nindex = torch.arange(n)          # int64",
    after="x = x.float()\nindex = torch.arange(n, dtype=torch.int32)",
    page="npu-operators",
)
_MASK = Action(
    "Write selections with masks, so that sizes do not depend on data",
    before="y = x[mask]\nindex = mask.nonzero()",
    after="y = torch.where(mask, x, 0)",
    page="npu-operators",
)

_TYPES = Action(
    "Compute in types that AI cores know, in place of fp64 and int64, and let sizes not depend on data",
    page="npu-operators",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Look for kernels on the AI CPU that take long."""
    found = s.maybe(on_ai_cpu)
    if found is None:
        yield from _in_totals(s, limits)
        return
    if not found.event.size or found.dur.max() < limits["min_longest"]:
        return
    wide = any(word in kind for kind in np.unique(found.dtypes).tolist() for word in _WIDE)
    yield Draft(
        title="Operators run on the AI CPU",
        summary=said(
            "{size:,.0f} kernels per step ({types}) run on the AI CPU and take {ns_per_step}, the longest {dur}",
            size=found.event.size / found.steps, types=found.types(), ns_per_step=duration(found.ns_per_step),
            dur=duration(int(found.dur.max())),
        )
        + (said("; some of their inputs have 64 bits per element.") if wide else said(".")),
        actions=(_NARROW, _MASK),
        change=Change(device=scaled_each(found.event, _on_cores(s(kernels), found) / np.maximum(found.dur, 1))),
        events=longest(found.event, found.dur),
        rows=({"table": "kernels", "where": {"name": str(found.name[found.dur.argmax()])}},),
        numbers={"kernels": found.event.size, "longest": int(found.dur.max()), **limits},
    )  # fmt: skip


def _in_totals(s: Signals, limits: Limits) -> Iterator[Draft]:
    """The same by what the profiler summed up."""
    every = s(operators)
    slow = tuple(one for one in every if one.kind == "AI_CPU")
    number, ns, longest = added(slow)
    if longest < limits["min_longest"]:
        return
    types = ", ".join(one.name for one in slow[:3]) + ", ..." * (len(slow) > 3)
    yield Draft(
        title="Operators run on the AI CPU",
        summary=said(
            "{kernels} ({types}) run on the AI CPU and take {ns} ({share} of the time of all compute "
            "kernels), the longest {longest}.",
            kernels=plural(number, "kernel"), types=types, ns=duration(ns),
            share=percent(ns / max(added(every)[1], 1)), longest=duration(longest),
        ),
        actions=(_NARROW, _MASK),
        confidence=0.8,
        rows=({"table": "recorded_totals", "where": {"name": f"{slow[0].name} AI_CPU"}},),
        numbers={"kernels": number, "longest": longest, **limits},
    )  # fmt: skip


def _on_cores(every: NpuKernels, found: NpuKernels) -> NDArray[np.float64]:
    """What each would take on an AI core, ns."""
    times: NDArray[np.float64] = (found.dur * _FACTOR).astype(np.float64)
    cores = every.where(np.isin(every.core, ("AI_CORE", "AI_VECTOR_CORE", "MIX_AIC", "MIX_AIV")))
    for kind in np.unique(found.op_type[found.op_type != ""]).tolist():
        same = cores.dur[cores.op_type == kind]
        if same.size:
            times[found.op_type == kind] = np.minimum(found.dur[found.op_type == kind], float(np.median(same)))
    return times


RULE = Rule(
    "ASC001",
    "ai-cpu-operators",
    thresholds=(Threshold("min_longest", 20_000, "ns", "msprof-analyze looks at AI CPU operators of 20 µs and more."),),
    check=check,
    elsewhere=(_TYPES,),
)
