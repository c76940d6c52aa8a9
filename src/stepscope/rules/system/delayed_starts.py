"""Work starts late on a device that has nothing to do.

## What it finds
Work that is launched to an empty queue of an idle device, and starts only 100 µs or more after the launch has returned.

## Why it matters
Work on an idle device starts within some microseconds. If it does not, the device did something that the recording does
not hold. Neither faster kernels nor fewer launches change that.

## How it decides
Times from the end of a launch to the start of its work, in which no recorded work runs and no event or other queue is
waited for, must come to `min_share` of the step, in at least `min_count` launches of kernels that have run before
(`late_starts.late_starts`). What the device did instead is not recorded, so that this is a hypothesis, with the command
that would prove it, and has no price.

## What to try
See whether another process uses the device, and give the job a device of its own. If there is none: a desktop that is
drawn by the device, Windows' own scheduling of it, and clocks that rise slowly are further candidates.

## Known limits
Work of the same process that the profiler lost looks the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepscope.language import said
from stepscope.model.amounts import duration, percent
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.shared.job import step_ns
from stepscope.signals.system.late_starts import late_starts
from stepscope.signals.system.system import longest

_LOOK: Final = (
    Action(
        "See whether another process uses the device: more than this one's line says so",
        before="./program",
        after="./program & nvidia-smi --query-compute-apps=pid,name,used_memory --format=csv -l 1\n"
        "nvidia-smi pmon -d 1   # sm %: who computes",
        needs=("cuda",),
    ),
    Action(
        "See whether another process uses the device",
        before="./program",
        after="./program & rocm-smi --showpids",
        needs=("rocm",),
    ),
    Action(
        "See whether another process uses the device",
        before="./program",
        after="./program & npu-smi info   # its last table lists processes",
        needs=("npu",),
    ),
    Action(
        "See whether another process, or the desktop, uses the device, and whether its clock rises slowly",
        needs=("a device",),
    ),
)
_ALONE: Final = Action("If so, give the job a device of its own, or run it when the other one is done")


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare late starts with the step."""
    found = s(late_starts)
    share = found.per_step_ns / s(step_ns)
    if found.count < limits["min_count"] or share < limits["min_share"]:
        return
    usual = said(" (all other work: {usual})", usual=duration(found.usual_ns)) if found.usual_ns else ""
    yield Draft(
        title="Work starts late on an idle device",
        summary=said(
            "{count:,} times work that was launched to an empty queue starts only {least} to {longest} "
            "after its launch has returned{usual}, {share} of the step, while nothing that is recorded "
            "runs on the device. A hypothesis: another process uses it meanwhile; the recording holds the "
            "work of one process.",
            count=found.count, least=duration(found.least_ns), longest=duration(found.longest_ns), usual=usual,
            share=percent(share),
        ),
        actions=(*_LOOK, _ALONE),
        taken_ns=found.per_step_ns,
        waiting=True,
        confidence=0.6,
        ranges=longest(found.found),
        rows=({"table": "idle_causes", "where": {"cause": "unknown", "detail": "delayed start"}},),
        numbers={"per_step_ns": found.per_step_ns, "count": found.count, **limits},
    )  # fmt: skip


RULE = Rule(
    "SYS008",
    "delayed-starts",
    thresholds=(
        Threshold("min_share", 0.1, "share", "The idle time from which xprof and others warn."),
        Threshold("min_count", 3, "count", "One or two may be anything."),
    ),
    check=check,
)
