"""The runtime writes logs that were meant for debugging.

## What it finds
`ASCEND_GLOBAL_LOG_LEVEL` at debug, info or warning.

## Why it matters
At these levels calls of the runtime and of HCCL write lines, from the threads that dispatch operators.

## How it decides
The recorded level is 0, 1 or 2, and the device waits for dispatch or launches for at least `min_idle` of the step. It
is advice.

## What to try
Level 3 (errors), which is the default.

## Known limits
Only the variable is looked at, not the log.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import percent
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.ascend.ascend import environment
from stepscope.signals.shared.idleness import waiting_for_host_share

_NAMES = {"0": "debug", "1": "info", "2": "warning"}


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Look at the level if dispatch is slow."""
    level = s(environment).get("ASCEND_GLOBAL_LOG_LEVEL", "")
    if level not in _NAMES or s(waiting_for_host_share) < limits["min_idle"]:
        return
    yield Draft(
        title="The runtime logs too much",
        summary=said(
            "The runtime logs at level {level} ({names}), and the NPU waits for dispatch for "
            "{waiting_for_host_share} of the step.",
            level=level, names=_NAMES[level], waiting_for_host_share=percent(s(waiting_for_host_share)),
        ),
        actions=(
            Action(
                "Log errors only",
                before=f"export ASCEND_GLOBAL_LOG_LEVEL={level}",
                after="export ASCEND_GLOBAL_LOG_LEVEL=3",
                page="hccl-settings",
            ),
        ),
        confidence=0.6,
        numbers={"level": level, waiting_for_host_share.name: s(waiting_for_host_share), **limits},
    )  # fmt: skip


RULE = Rule(
    "ASC011",
    "log-level",
    thresholds=(
        Threshold(
            "min_idle",
            0.05,
            "share",
            "msprof-analyze advises level 3 whatever the symptom; where dispatch is fast enough, logging does no harm.",
        ),
    ),
    check=check,
)
