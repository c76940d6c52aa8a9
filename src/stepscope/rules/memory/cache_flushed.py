"""An allocation failed, and the allocator flushed its cache for a retry.

## What it finds
Requests for which the device had no memory left at first: the allocator gave all its free segments back, waited for
the device, asked again, and got the memory.

## Why it matters
The retry succeeds silently, but the device idles while each segment is freed, and cached memory has to be allocated
again. The next larger request fails for good.

## How it decides
In the history of a memory snapshot, segments are given back by the very call stack that then takes a new one, with
nothing in between: the allocator's second try. Where a garbage collection threshold is set, giving back may have been
for that, and is not counted. The price is the time from the first segment given back to the new one, as a share of the
history.

## What to try
Lower what sets the peak, which the finding names, or let segments grow, so that cached blocks serve the large request.

## Known limits
Versions of PyTorch that record no stacks for segments can't be judged.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import duration, percent, quantity
from stepscope.model.places import operator_within, short_place, source_line
from stepscope.rules.finding import Action
from stepscope.rules.memory.remedies import layout_actions
from stepscope.rules.rule import Draft, Limits, Rule
from stepscope.signals import Signals
from stepscope.signals.memory.memory import failures
from stepscope.signals.snapshots.allocator import cost_ns, driver_names, flushes, history_ns
from stepscope.signals.snapshots.peak_makeup import makeup

_LOWER = Action(
    "Lower the peak: fewer or smaller temporaries, in place where that is possible, half precision",
    before="y = relu(x * scale + shift)",
    after="y = x.mul_(scale).add_(shift).relu_()   # where no gradient needs x",
    page="activation-checkpointing",
)


#: Where nothing tells whose allocator it is.
_CUDA = ("cudaMalloc", "cudaFree")


def check(s: Signals, _: Limits) -> Iterator[Draft]:
    """Tell the retries with the largest request first."""
    retries = [row for row in s(flushes) if row["cause"] == "retry"]
    if not retries:
        return
    worst = max(retries, key=lambda row: (row["requested_bytes"] or 0, -row["ts"]))
    spent, length = sum(row["dur"] for row in retries), s.maybe(history_ns)
    times = "" if len(retries) == 1 else said(", {retries:,} times in all", retries=len(retries))
    price = (
        said(
            "; that took {spent} of {length} ({share})",
            spent=duration(spent), length=duration(length), share=percent(spent / length),
        )
        if length
        else ""
    )  # fmt: skip
    operator = operator_within(worst["frames"])
    inside = said(", in {operator},", operator=operator) if operator else ""
    held = s.maybe(makeup)
    peak = (
        said(" The peak of {used}: {by_line}.", used=quantity(held.used, "bytes"), by_line=held.by_line())
        if held is not None
        else ""
    )
    take = (s.maybe(driver_names) or _CUDA)[0]
    yield Draft(
        title=said(
            "{take} failed and the cache was flushed, at {source_line}",
            take=take, source_line=source_line(worst["place"]),
        ),
        summary=said(
            "{short_place}{inside} asked for {requested_bytes} that the device did not have: the "
            "allocator flushed its cache, {segments:,} segments of {bytes}, for the "
            "retry{times}{price}.{peak}",
            short_place=short_place(worst["place"]), inside=inside,
            requested_bytes=quantity(worst["requested_bytes"], "bytes"), segments=worst["segments"],
            bytes=quantity(worst["bytes"], "bytes"), times=times, price=price, peak=peak,
        ),
        actions=(_LOWER, *layout_actions(s)[:1]),
        # Where an allocation failed for good in the end, that is what matters.
        cost_ns=None if s.maybe(failures) else cost_ns(s, spent),
        confidence=0.95,
        always=True,
        rows=({"table": "cache_flushes", "where": {"cause": "retry"}},),
        numbers={"times": len(retries), "requested": worst["requested_bytes"] or 0},
    )  # fmt: skip


RULE = Rule("MEM011", "cache-flushed", check=check, symptom_of=("MEM010",))
