"""Operators are looked up and compiled while the job runs.

## What it finds
Calls of the runtime's old interface that looks an operator up, compiles it if it is not in the cache, and executes it
(`aclopCompileAndExecute`), instead of the library's compiled operators.

## Why it matters
Even without compiling anything such a call takes the host many times as long as a call of the library (`aclnn...`),
and with new shapes it compiles for seconds. The device runs dry meanwhile.

## How it decides
At least `min_calls` such calls in a step, or `min_share` of the step in them. The price is what the step would save
if each took as long as the recording's calls of the library do in the median. Where only `api_statistic.csv` is at
hand, at least `min_calls` calls in the recording, or more time in them than in all launches, without a price.

## What to try
Switch compilation at run time off, and let operators keep PyTorch's memory formats: most of these calls come with
private formats of convolutions and matrix multiplications.

## Known limits
Operators that the library lacks still need this way. The first steps compile what later ones find in the cache;
record after the warm-up.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stepscope.language import said
from stepscope.model.amounts import duration, percent, plural
from stepscope.model.events.change import Change, scaled_each
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.ascend.npu_dispatch import compiles, library_call_ns
from stepscope.signals.ascend.npu_totals import added, calls
from stepscope.signals.shared.job import step_ns
from stepscope.signals.shared.step_columns import longest

#: Where the recording has no call of the library: such calls take some 10 µs in public recordings.
_LIBRARY_NS = 15_000

_CALL = "aclopCompileAndExecute"

_SWITCH = Action(
    "Use compiled operators, and PyTorch's own memory formats",
    before="torch_npu.npu.set_compile_mode(jit_compile=True)",
    after="torch_npu.npu.set_compile_mode(jit_compile=False)\ntorch_npu.npu.config.allow_internal_format = False",
    page="npu-operators",
)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Count the calls, and hold their time against the step."""
    if (found := s.maybe(compiles)) is None:
        yield from _in_totals(s, limits)
        return
    share = found.ns_per_step / s(step_ns)
    if found.per_step < limits["min_calls"] and share < limits["min_share"]:
        return
    usual = s(library_call_ns) or _LIBRARY_NS
    mean = int(found.dur.mean())
    yield Draft(
        title="Operators are looked up and compiled at run time",
        summary=said(
            "{per_step:,.0f} calls per step of `aclopCompileAndExecute` take {ns_per_step} of the host "
            "({share} of the step), {mean} each; a call of the library takes {usual}.",
            per_step=found.per_step, ns_per_step=duration(found.ns_per_step), share=percent(share),
            mean=duration(mean), usual=duration(usual),
        ),
        actions=(_SWITCH,),
        change=Change(host=scaled_each(found.event, np.minimum(usual / np.maximum(found.dur, 1), 1.0))),
        events=longest(found.event, found.dur),
        rows=({"table": "api_calls", "where": {"name": "aclopCompileAndExecute"}},),
        numbers={"calls per step": found.per_step, "share": share, **limits},
    )  # fmt: skip


def _in_totals(s: Signals, limits: Limits) -> Iterator[Draft]:
    """The same by what the profiler summed up."""
    every = s(calls)
    number, ns, longest = added(tuple(one for one in every if one.name.startswith(_CALL)))
    _, launching, _ = added(tuple(one for one in every if (one.kind, one.name) == ("node", "launch")))
    if not number or (number < limits["min_calls"] and ns < max(launching, limits["min_ns"])):
        return
    yield Draft(
        title="Operators are looked up and compiled at run time",
        summary=said(
            "{calls} of `{call}` in the recording take {ns} of the host, the longest {longest}; all "
            "launches together take {launching}.",
            calls=plural(number, "call"), call=_CALL, ns=duration(ns), longest=duration(longest),
            launching=duration(launching),
        ),
        actions=(_SWITCH,),
        confidence=0.7,
        rows=({"table": "recorded_totals", "where": {"name": said("acl {call}", call=_CALL)}},),
        numbers={"calls": number, "ns": ns, **limits},
    )  # fmt: skip


RULE = Rule(
    "ASC003",
    "operator-compilation",
    thresholds=(
        Threshold("min_calls", 20, "count", "msprof-analyze reports 20 such calls and more."),
        Threshold("min_share", 0.01, "share", "Fewer of them matter too if they take 1 % of the step."),
        Threshold("min_ns", 1_000_000, "ns", "Of a recording of which only totals are known: 1 % of 100 ms."),
    ),
    check=check,
)
