"""An allocation of device memory failed.

## What it finds
Requests that the allocator could not meet, as the history of a memory snapshot has them.

## Why it matters
The program ended there, or caught the error and went on with less.

## How it decides
The recording has the failure itself. What held the memory at that moment is listed by purpose and by source line. The
reason is one of four: enough was free, but not contiguous (fragmentation); the device had enough free, so a limit of
the process stopped it; even all that the process held would not have been enough, so another process holds the rest;
or too little was left (shortage).

## What to try
Against a shortage, what lowers the largest part: fewer samples at a time, recomputed activations, fused attention,
half precision, sharded states; blocks of one line that are never freed come first where they hold `kept_share` of what
is in use. Against fragmentation, segments that grow; where less than `cached_share` is cached, that buys little.

## Known limits
A snapshot taken after the program has cleaned up, without a history, does not show what failed. None says how much
memory the device has, and thus what other processes hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from stepscope.language import listing, said
from stepscope.language.part_words import in_words
from stepscope.model.amounts import quantity
from stepscope.model.places import operator_within, short_place, source_line
from stepscope.rules.finding import Action
from stepscope.rules.memory.remedies import CHECKPOINT, DETACH, FUSED, HALF, LESS, SHARD, layout_actions
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.memory.memory import failures
from stepscope.signals.snapshots.kept import kept_again
from stepscope.signals.snapshots.peak_makeup import OLD, Makeup, failed_makeups, several
from stepscope.signals.snapshots.peak_parts import math_attention, scores

_REASONS: Final = {
    "shortage": said("too little was left"),
    "fragmentation": said("enough was free, but not in one block"),
    "limit": said("the device had enough free: a limit of the process or the driver stopped it"),
    "another process": said("another process holds the rest of the device"),
    "unknown": said("what was asked for is not recorded"),
}


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Tell the first failure, and what held the memory."""
    if not (failed := s(failures)):
        return
    first = min(failed, key=lambda row: row["ts"])
    makeup = (s.maybe(failed_makeups) or {}).get(first["device"])
    place = "" if first["place"] == "unknown" else said(" at {source_line}", source_line=source_line(first["place"]))
    asked = first["requested_bytes"]
    more = said("; {failed} requests failed in all", failed=len(failed)) if len(failed) > 1 else ""
    yield Draft(
        title=said("Out of memory{place}", place=place)
        + (said(": {asked} asked for", asked=quantity(asked, "bytes")) if asked is not None else ""),
        summary=said(
            "{asking}{amounts}: {reason}{more}.{holders}",
            asking=_asking(first), amounts=_amounts(first, s.maybe(several) is True),
            reason=_REASONS[first["verdict"]] + _beside(first), more=more, holders=_holders(makeup),
        ),
        actions=tuple(_actions(s, first, makeup, limits)),
        confidence=1.0,
        fate="failed",
        rows=({"table": "out_of_memory", "where": {"ts": first["ts"]}},),
        numbers={"failed": len(failed), "verdict": first["verdict"], **limits},
    )  # fmt: skip


def _asking(row: Mapping[str, Any]) -> str:
    """What asked, as far as the stack tells."""
    operator = operator_within(row["frames"])
    return (
        said(
            "Asked for by {operator}, {short_place}. ",
            operator=operator,
            short_place=in_words(row["place"]) if row["place"] == "unknown" else short_place(row["place"]),
        )
        if operator
        else ""
    )


def _amounts(row: Mapping[str, Any], named: bool) -> str:
    told, free = list[str](), row["device_free_bytes"]
    if free is not None and named:
        told += [said("{free} were free on device {device}", free=quantity(free, "bytes"), device=row["device"])]
    elif free is not None:
        told += [said("{free} were free on the device", free=quantity(free, "bytes"))]
    told += [
        said(
            "{used_bytes} of the {reserved_bytes} that the allocator held were in use",
            used_bytes=quantity(row["used_bytes"], "bytes"), reserved_bytes=quantity(row["reserved_bytes"], "bytes"),
        ),
        said(
            "{free_bytes} cached, the largest free block {largest_free_bytes}",
            free_bytes=quantity(row["free_bytes"], "bytes"),
            largest_free_bytes=quantity(row["largest_free_bytes"], "bytes"),
        ),
    ]  # fmt: skip
    return listing(told)


def _beside(row: Mapping[str, Any]) -> str:
    free = row["device_free_bytes"]
    if row["verdict"] != "shortage" or free is None:
        return ""
    got = quantity(row["reserved_bytes"] + free, "bytes")
    return said(" (of a device with much more than {got} other processes hold the rest)", got=got)


def _holders(makeup: Makeup | None) -> str:
    if makeup is None or not makeup.used:
        return ""
    if lines := makeup.by_line():
        return said(" In use: {by_purpose}; most at {lines}.", by_purpose=makeup.by_purpose(), lines=lines)
    return said(" In use: {by_purpose}.", by_purpose=makeup.by_purpose())


def _actions(s: Signals, row: Mapping[str, Any], makeup: Makeup | None, limits: Limits) -> Iterator[Action]:
    verdict = row["verdict"]
    if verdict == "fragmentation" and row["free_bytes"] >= limits["cached_share"] * row["reserved_bytes"]:
        yield from layout_actions(s)
        return
    if verdict == "limit":
        yield Action("Raise the limit: torch's set_per_process_memory_fraction, a container's, or a virtual device's")
        return
    if verdict == "another process":
        yield Action("Find and end the other process on the device, or take another device")
        return
    yield from _lowering(s, makeup, limits)
    if verdict == "fragmentation":
        yield layout_actions(s)[0]


def _lowering(s: Signals, makeup: Makeup | None, limits: Limits) -> Iterator[Action]:
    """What lowers the largest part of the memory in use."""
    large, kept = limits["large_share"], s.maybe(kept_again)
    if makeup and kept and kept.bytes >= limits["kept_share"] * makeup.used:
        yield DETACH
    if makeup is not None and makeup.share("activations", "temporaries") >= large:
        matrices = s.maybe(scores)
        if matrices is not None and matrices.bytes >= limits["scores_share"] * makeup.used:
            yield HALF if s.maybe(math_attention) else FUSED
        yield CHECKPOINT
        yield LESS
    elif makeup is not None and makeup.share("parameters", "optimizer", "gradients", OLD) >= large:
        yield SHARD
    else:
        yield LESS


RULE = Rule(
    "MEM010",
    "out-of-memory",
    thresholds=(
        Threshold("large_share", 0.5, "share", "What makes up most of the memory is what to lower."),
        Threshold("scores_share", 0.1, "share", "A tenth of the memory is worth replacing a few lines."),
        Threshold("kept_share", 0.25, "share", "What grows on is what fills the device, whatever is larger so far."),
        Threshold("cached_share", 0.1, "share", "With all of it in use the next requests would have failed."),
    ),
    check=check,
)
