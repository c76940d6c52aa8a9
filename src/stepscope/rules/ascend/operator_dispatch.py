"""Settings that would speed up dispatch may be off.

## What it finds
An NPU that waits for the host to dispatch operators, in a job that leaves settings for that unused.

## Why it matters
Dispatch runs through a queue to a second thread. How much work each of the two does, and on which cores they run,
decides how many operators per second reach the device.

## How it decides
For at least `min_idle` of the step the device waits for dispatch or launches. Then the settings are looked at:
whether operators go through the queue at all, the queue's level, the binding of threads, and, where working out
workspaces takes `min_workspace` of the step, the size of its cache. It is advice; what dispatch costs is what other
findings price.

## What to try
See the actions; each is one environment variable.

## Known limits
The profiler records some of the variables only. What it does not record is taken to be unset. Fewer and larger
operators help more than any setting.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import percent, plural
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.ascend.ascend import environment
from stepscope.signals.ascend.npu_dispatch import queued, workspace_share
from stepscope.signals.shared.idleness import waiting_for_host_share

_QUEUE = Action(
    "Let operators go through the queue to a second thread",
    before="TASK_QUEUE_ENABLE=0",
    after="export TASK_QUEUE_ENABLE=2",
    page="hccl-settings",
)
_LEVEL = Action(
    "Let the queue's second thread work out workspaces too",
    before="TASK_QUEUE_ENABLE=1   # the default",
    after="export TASK_QUEUE_ENABLE=2",
    page="hccl-settings",
)
_BIND = Action(
    "Bind the threads of each device to cores of their own",
    before="CPU_AFFINITY_CONF unset",
    after="export CPU_AFFINITY_CONF=1",
    page="hccl-settings",
)
_CACHE = Action(
    "Keep more workspaces and tilings in the cache: shapes vary widely",
    before="ACLNN_CACHE_LIMIT=10000   # the default",
    after="export ACLNN_CACHE_LIMIT=100000",
    page="hccl-settings",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Look at the settings if the device waits for dispatch."""
    through_queue, told = s(queued), s.maybe(environment) or {}
    idle = s(waiting_for_host_share)
    if idle < limits["min_idle"]:
        return
    actions = []
    if told.get("ASCEND_LAUNCH_BLOCKING") != "1" and told.get("TASK_QUEUE_ENABLE", "") != "2":
        actions.append(_LEVEL if through_queue else _QUEUE)
    if told.get("CPU_AFFINITY_CONF", "") in ("", "0"):
        actions.append(_BIND)
    limit = told.get("ACLNN_CACHE_LIMIT", "")
    if s(workspace_share) >= limits["min_workspace"] and not (limit.isdecimal() and int(limit) > _DEFAULT_CACHE):
        actions.append(_CACHE)
    if actions:
        yield Draft(
            title="Settings that speed up dispatch may be off",
            summary=said(
                "For {idle} of the step the NPU waits for operators to be dispatched or launched; {settings} "
                "could speed this up, and nothing recorded shows that {en_it_is} on.",
                idle=percent(idle), settings=plural(len(actions), "setting"),
                en_it_is="it is" if len(actions) == 1 else "they are",
            ),
            actions=tuple(actions),
            confidence=0.6,
            rows=({"table": "idle_causes", "where": {"cause": "host_dispatch"}},),
            numbers={waiting_for_host_share.name: idle, workspace_share.name: s(workspace_share), **limits},
        )  # fmt: skip


_DEFAULT_CACHE = 10_000

RULE = Rule(
    "ASC004",
    "operator-dispatch",
    thresholds=(
        Threshold("min_idle", 0.1, "share", "msprof-analyze warns when the device is free for more than 10 %."),
        Threshold("min_workspace", 0.01, "share", "CANN's documentation advises the default cache otherwise."),
    ),
    check=check,
)
