"""Every launch waits for the device, because ASCEND_LAUNCH_BLOCKING is set.

## What it finds
`ASCEND_LAUNCH_BLOCKING=1` in the recorded environment.

## Why it matters
It makes every operator synchronous, so that an error is reported where it happened, and switches the dispatch queue
off: host and device work in turns.

## How it decides
The recorded value is 1. The price is what the step would save if no synchronising call waited for the device.

## What to try
Unset the variable, and set it again only to find an operator that fails.

## Known limits
Only variables that the profiler recorded are known. Waits after each operator that the program makes by itself are
another finding.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stepscope.model.events.change import Change
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule
from stepscope.signals import Signals
from stepscope.signals.ascend.ascend import environment
from stepscope.signals.ascend.npu_dispatch import waits

_UNSET = Action(
    "Let launches return at once",
    before="export ASCEND_LAUNCH_BLOCKING=1",
    after="export ASCEND_LAUNCH_BLOCKING=0",
    page="hccl-settings",
)


def check(s: Signals, _: Limits) -> Iterator[Draft]:
    """Look at the variable."""
    if s(environment).get("ASCEND_LAUNCH_BLOCKING", "") != "1":
        return
    found = s.maybe(waits)
    events = np.zeros(0, np.int64) if found is None else found.event
    yield Draft(
        title="Launches wait for the device (ASCEND_LAUNCH_BLOCKING)",
        summary="The job ran with ASCEND_LAUNCH_BLOCKING=1: each operator is waited for, and the dispatch queue is "
        "off.",
        actions=(_UNSET,),
        change=Change(unblocked=events) if events.size else None,
        confidence=1.0,
        events=events[:20],
        rows=({"table": "synchronisations", "where": {}},),
        numbers={"ASCEND_LAUNCH_BLOCKING": "1"},
    )


RULE = Rule("ASC008", "launch-blocking", check=check)
