"""The host waits for the device after most launches, by totals of its calls.

## What it finds
About as many waits for the device as launches, by the totals of `api_statistic.csv`, where the calls themselves are
not recorded.

## Why it matters
A host that waits after each launch can't prepare the next one meanwhile: host and device take turns.

## How it decides
Waits, of the calls' outermost layer, must be at least `min_waits` of the launches. Totals have no times, so that
nothing is priced. Where kernels are recorded, the device must be idle for `min_idle` of the time: else the waits last
as long as the kernels do, and without them nothing is gained.

## What to try
Unset `ASCEND_LAUNCH_BLOCKING`; remove synchronisation from hooks, timers and loops.

## Known limits
Totals are over the whole recording. They do not show what the device did meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from stepscope.language import said
from stepscope.model.amounts import duration, plural
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.ascend.npu_totals import added, calls, of_interface
from stepscope.signals.recording.accounting import account

_WAIT: Final = re.compile(r"aclrtSynchronize(Stream|Device|Event)")

_UNSET = Action(
    "Let launches return at once, and wait for results only where they are read",
    before="export ASCEND_LAUNCH_BLOCKING=1",
    after="export ASCEND_LAUNCH_BLOCKING=0",
    page="hccl-settings",
)
_AFTER_ALL = Action(
    "Launch what belongs together, and wait once behind it",
    before="kernel<<<blocks, nullptr, stream>>>(...);\naclrtSynchronizeStream(stream);   // after each launch",
    after="for (...) kernel<<<blocks, nullptr, stream>>>(...);\naclrtSynchronizeStream(stream);   // once",
    needs=("npu",),
    page="npu-operators",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare waits with launches."""
    found = s(calls)
    launches, _, _ = added(tuple(one for one in found if (one.kind, one.name) == ("node", "launch")))
    waits, waited, longest = added(of_interface(found, _WAIT))
    of = s.maybe(account)
    if not launches or waits < limits["min_waits"] * launches or (of is not None and of.idle < limits["min_idle"]):
        return
    yield Draft(
        title="The host waits for the device after most launches",
        summary=said(
            "{waits} of the host come with {launches}, and take {waited} of the recording, the longest {longest}.",
            waits=plural(waits, "wait"), launches=plural(launches, "launch", "launches"), waited=duration(waited),
            longest=duration(longest),
        ),
        actions=(_UNSET, _AFTER_ALL),
        confidence=0.6,
        rows=({"table": "recorded_totals", "where": {"of": "calls"}},),
        numbers={"waits": waits, "launches": launches, **limits},
    )  # fmt: skip


RULE = Rule(
    "ASC014",
    "wait-totals",
    thresholds=(
        Threshold("min_waits", 0.5, "ratio", "msprof-analyze: more than half of the launches followed by a wait."),
        Threshold("min_idle", 0.1, "share", "What launches that do not wait could win at most."),
    ),
    check=check,
)
