"""The allocator's settings do not suit how the job uses memory.

## What it finds
Jobs whose steps take device memory from the driver, or whose allocator holds far more than is in use, without
expandable segments.

## Why it matters
A call for device memory takes the host up to milliseconds on an NPU; memory that is held but scattered is memory that
a larger batch can't use.

## How it decides
`PYTORCH_NPU_ALLOC_CONF` does not switch expandable segments on, and one of these is seen: calls that take or give
back device memory for `min_ns` in all; or at its peak the allocator holds `min_held` more than is in use. Without a
symptom nothing is said, though the variable is unset. It is advice; what the calls cost is priced by the rule on
churn.

## What to try
Expandable segments. If there is a reason against them: `max_split_size_mb`, and a garbage collection threshold.

## Known limits
Calls during the first steps are those of the warm-up. Needs the recorded environment.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import listing, said
from stepscope.model.amounts import duration, percent, quantity
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.ascend.ascend import environment
from stepscope.signals.memory.driver_memory import driver_calls
from stepscope.signals.memory.memory import peaks

_EXPAND = Action(
    "Let the allocator's segments grow",
    before="PYTORCH_NPU_ALLOC_CONF unset",
    after="export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True",
    page="memory-fragmentation",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Look for a symptom if expandable segments are off."""
    if "expandable_segments:true" in s(environment).get("PYTORCH_NPU_ALLOC_CONF", "").replace(" ", "").lower():
        return
    calls, found = s.maybe(driver_calls), s.maybe(peaks) or ()
    spent = int(calls.dur.sum()) if calls is not None else 0
    held = max((peak.reserved / peak.used - 1 for peak in found if peak.reserved and peak.used), default=0.0)
    symptoms = []
    if spent >= limits["min_ns"]:
        symptoms.append(
            said("Calls that take device memory or give it back take {spent} in all", spent=duration(spent))
        )
    if held >= limits["min_held"]:
        most = max(peak.reserved or 0 for peak in found)
        symptoms.append(
            said(
                "{en_the} allocator holds up to {most}, {held} more than is ever in use",
                en_the="the" if symptoms else "The", most=quantity(most, "bytes"), held=percent(held),
            )
        )  # fmt: skip
    if symptoms:
        yield Draft(
            title="Expandable segments are off",
            summary=said(
                "{symptoms}, and PYTORCH_NPU_ALLOC_CONF does not let segments grow.",
                symptoms=listing(symptoms, " and "),
            ),
            actions=(_EXPAND,),
            confidence=0.7,
            rows=({"table": "memory_churn", "where": {"step": None}},),
            numbers={"spent": spent, "held": held, **limits},
        )


RULE = Rule(
    "ASC009",
    "memory-settings",
    thresholds=(
        Threshold("min_ns", 10_000_000, "ns", "msprof-analyze reports 10 ms of such calls."),
        Threshold(
            "min_held", 0.3, "share", "PyTorch's cache holds 10 to 25 % more than is in use in ordinary training."
        ),
    ),
    check=check,
    whole=True,
)
