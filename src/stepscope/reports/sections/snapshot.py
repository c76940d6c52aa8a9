"""Parts of a page for memory snapshots, which have neither device activity nor steps that cost time."""

from __future__ import annotations

from typing import Any, Final

from stepscope.analyses.snapshots.memory_snapshot_peaks import OLDER
from stepscope.ingest.inputs import source_of
from stepscope.language import listing, said
from stepscope.language.part_words import in_words
from stepscope.model.amounts import duration, percent, plural, quantity
from stepscope.reports.blocks import Line
from stepscope.reports.contents import Contents
from stepscope.reports.text import visible

_BARS: Final = "▁▂▃▄▅▆▇█"
_WIDTH: Final = 60
#: Purposes below this share of the peak are not listed.
_LEAST: Final = 0.02
#: Memory older than the recording is mostly the model.
_KEPT: Final = said(" (parameters and states, as a rule)")
#: Memory held beyond the most that was in use: so many times as much, and so many bytes more, is no usual cache.
_FAR: Final = 2
_MUCH: Final = 1 << 29
#: What recordings of memory are called in their attributes.
_KINDS: Final = {"memory snapshot": said("memory snapshot"), "memory timeline": said("memory timeline")}
#: Of health, what is about events and steps, which snapshots are no recordings of.
UNSAID: Final = frozenset({"events-read", "steps-none"})


def is_snapshot(report: Contents) -> bool:
    """Whether all recordings are memory snapshots or their kin."""
    return bool(report.sources) and all(not source_of(one.reader).timed for one in report.sources.values())


def facts(report: Contents) -> tuple[str, ...]:
    """What takes the place of devices and events at the head of a page."""
    devices = {(row["rank"], row["device"]) for row in report.rows("memory_snapshot") or _history(report)}
    kinds = {str(one.attributes.get("kind") or "memory snapshot") for one in report.sources.values()}
    of = said(" of {devices}", devices=plural(len(devices), "device")) if devices else ""
    steps = len({row["step"] for row in report.rows("memory_steps")})
    found = (
        listing((_KINDS.get(one, one) for one in sorted(kinds)), " and ") + of,
        _length(report),
        plural(steps, "step") if steps else "",
    )
    return tuple(fact for fact in found if fact)


def _length(report: Contents) -> str:
    """How long the longest history is."""
    by_device: dict[Any, list[dict[str, Any]]] = {}
    for row in _history(report):
        by_device.setdefault((row["rank"], row["device"]), []).append(row)
    if not by_device:
        return "" if not report.rows("memory_snapshot") else said("no history")
    rows = max(by_device.values(), key=lambda rows: int(rows[-1]["seq"]))
    entries = plural(rows[-1]["seq"] + 1, "entry", "entries")
    return said("history of {entries}", entries=entries) + (
        "" if _untimed(report) else said(" over {time}", time=duration(rows[-1]["ts"] - rows[0]["ts"]))
    )


def verdict(report: Contents) -> Line | None:
    """“No problem found” if a history supports it, else what is known; None where there are findings."""
    diagnosis = report.diagnosis
    if diagnosis is None or any(one.family == "memory" for one in diagnosis.shown):
        return None
    makeup = _makeup(report)
    if _history(report) and makeup:
        return _judged(report, makeup)
    rows = report.rows("memory_snapshot")
    if not rows:
        return None
    row = max(rows, key=lambda row: int(row["reserved_bytes"]))
    cached = quantity(row["inactive_bytes"], "bytes")
    whole = quantity(row["releasable_bytes"], "bytes") if row["releasable_bytes"] else said("none")
    of = said(" on device {device}", device=row["device"]) if len(rows) > 1 else ""
    return Line(
        said(
            "{allocated_bytes} of {reserved_bytes} reserved are in use{of}; {cached} are cached, {whole} "
            "of them in empty segments, which emptying the cache would give "
            "back",
            allocated_bytes=quantity(row["allocated_bytes"], "bytes"),
            reserved_bytes=quantity(row["reserved_bytes"], "bytes"), of=of, cached=cached, whole=whole,
        ),
        "without a history neither the peak nor what came before is known",
    )  # fmt: skip


def _judged(report: Contents, makeup: str) -> Line:
    """That nothing is wrong, unless the allocator held far more than was ever in use."""
    for row in report.rows("memory_peaks"):
        peak, held = int(row["peak_bytes"]), int(row["peak_reserved_bytes"] or 0)
        if held >= _FAR * peak and held - peak >= _MUCH:
            return Line(
                said(
                    "no rule explains why the allocator holds {held} where no more than {peak} are in use at a "
                    "time; {makeup}",
                    held=quantity(held, "bytes"), peak=quantity(peak, "bytes"), makeup=makeup,
                ),
                "pools that share nothing (graphs, side streams) and blocks of other sizes keep memory like that",
            )  # fmt: skip
    return Line(
        said("nothing is wrong with the memory, as far as its history tells: {makeup}", makeup=makeup), tone="good"
    )


def over_time(report: Contents) -> tuple[Line, ...]:
    """The memory in use over the history, as a line of bars, for the device with the highest peak."""
    by_device: dict[Any, list[dict[str, Any]]] = {}
    for row in _history(report):
        by_device.setdefault((row["rank"], row["device"]), []).append(row)
    if not by_device:
        return ()
    rows = max(by_device.values(), key=lambda rows: max(int(row["requested_bytes"]) for row in rows))
    key = "seq" if _untimed(report) else "ts"
    first, length = rows[0][key], max(rows[-1][key] - rows[0][key], 1)
    peak = max(rows, key=lambda row: int(row["requested_bytes"]))
    most = max(int(peak["requested_bytes"]), 1)
    bars, level, at = [], 0, 0
    for place in range(_WIDTH):
        highest = level
        while at < len(rows) and (rows[at][key] - first) * _WIDTH < (place + 1) * length:
            level = int(rows[at]["requested_bytes"])
            highest = max(highest, level)
            at += 1
        if place == _WIDTH - 1:
            highest = max([highest, *(int(row["requested_bytes"]) for row in rows[at:])])
        bars.append(_BARS[min(highest * len(_BARS) // most, len(_BARS) - 1)])
    when = said("entry {seq:,}", seq=peak["seq"]) if key == "seq" else duration(peak["ts"] - first)
    return (
        Line(
            said(
                "In use over time {bars} peak {most} at {when}",
                bars="".join(bars), most=quantity(most, "bytes"), when=when,
            )
        ),
    )  # fmt: skip


def _makeup(report: Contents) -> str:
    """`the peak of 531 MiB is older than the recording 94.1 %, temporaries 5.4 %`."""
    rows = [row for row in report.rows("memory_peak_stacks") if row["by"] == "purpose"]
    by_device: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        by_device.setdefault((row["rank"], row["device"]), []).append(row)
    if not by_device:
        return ""
    held = max(by_device.values(), key=lambda rows: sum(int(row["bytes"]) for row in rows))
    told = listing(
        said(
            "{purpose}{kept} {share}", purpose=visible(in_words(row["name"])),
            kept=_KEPT if row["name"] == OLDER else "", share=percent(row["share"]),
        )
        for row in held if row["share"] >= _LEAST
    )  # fmt: skip
    return said("the peak of {held} is {told}", held=quantity(sum(row["bytes"] for row in held), "bytes"), told=told)


def lacks_history(report: Contents) -> bool:
    """Whether the snapshot has no history."""
    return any(line.code == "no-history" for line in report.health)


def _history(report: Contents) -> list[dict[str, Any]]:
    """Rows of `allocator_timeline` of devices with a history."""
    if lacks_history(report):
        return []
    return report.rows("allocator_timeline")


def _untimed(report: Contents) -> bool:
    return any(line.code == "no-times" for line in report.health)
