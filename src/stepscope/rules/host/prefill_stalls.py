"""Prompts of some requests keep others waiting for their next token.

## What it finds
A server whose requests in decode wait for passes that read long prompts.

## Why it matters
Users see an answer stop in the middle. The time between tokens (ITL) grows at its high percentiles though its median
stays, and TPOT of long answers with it.

## How it decides
Stretches count in which requests certainly waited (`serving.stalls`): passes that only read prompts, after which more
requests are answered than they brought in; and passes of both, as far as they take longer than the middle one of at
least `min_decode` passes that only decode. The longest stretch must be `min_times` that pass, and all of them together
`min_share` of the recorded passes; where it read no more than a small chunk, chunks change nothing. There is no price
in the length of a step: prompts have to be read. The summary says how short the longest wait could be.

## What to try
Read prompts in chunks together with decode, so that no pass takes long; smaller chunks make even passes, larger ones
read prompts at less cost. Or read prompts on devices of their own.

## Known limits
What requests were promised is not recorded: where throughput alone counts, long prefill passes are right.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent, plural
from stepscope.rules.host_advice import CHUNKS
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.shared.serving import decode_ns, decoding, passes, stalls

#: Tokens of a chunk that the shortest wait is given for, and that a longer one must have read where it is told.
_CHUNK = 512


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare waits for prompts with passes of decode."""
    found, usual = s(stalls), s(decode_ns)
    if not found or not usual or len(s.whole(decoding)) < limits["min_decode"]:
        return
    longest = max(found, key=lambda one: one.ns)
    times = longest.ns / usual
    waited = sum(one.ns for one in found)
    share = waited / sum(row["device_ns"] or 0 for row in s.whole(passes))
    if times < limits["min_times"] or share < limits["min_share"] or 0 < longest.tokens <= _CHUNK:
        return
    even: str = ""
    read = said("{tokens:,} tokens", tokens=longest.tokens) if longest.tokens else said("prompts")
    if longest.tokens > _CHUNK:
        chunk = longest.ns * _CHUNK / longest.tokens
        even = said(
            " In chunks of {chunk} tokens, at the same cost per token, a pass would take about {taken}.",
            chunk=_CHUNK, taken=duration(usual + chunk),
        )  # fmt: skip
    yield Draft(
        title="Prompts keep requests in decode waiting",
        summary=said(
            "{times} requests in decode waited for prompts, {share} of the passes' time; at the longest "
            "{waiting:,} or more waited {ns} for {read}, where a pass of decode takes {usual}.{even}",
            times=plural(len(found), "time", "times"), share=percent(share), waiting=longest.waiting,
            ns=duration(longest.ns), read=read, usual=duration(usual), even=even,
        ),
        actions=CHUNKS,
        confidence=0.75,
        ranges=((longest.ts, longest.ts + longest.ns),),
        rows=({"table": "serving", "where": {}},),
        numbers={"longest over a decode pass": times, "waited share": share, **limits},
    )  # fmt: skip


RULE = Rule(
    "HST024",
    "prefill-stalls",
    thresholds=(
        Threshold("min_times", 5, "times", "Readers notice a pause of several tokens, not of one or two."),
        Threshold("min_share", 0.1, "share", "Rarer stalls are above the 99th percentile of most answers."),
        Threshold("min_decode", 3, "passes", "Fewer do not tell what a pass of decode takes."),
    ),
    check=check,
    whole=True,
)
