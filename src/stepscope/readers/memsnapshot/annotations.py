"""Pair the start and end entries of a snapshot's annotated ranges."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from stepscope.readers.memsnapshot.values import device, natural
from stepscope.readers.untrusted import short_text

_STEP: Final = re.compile(r"ProfilerStep\s*#\s*\d+")
_LOADER: Final = re.compile(r"enumerate\(Data(Loader|Pipe)\)|DataLoader.*__next__")
_OPTIMIZER: Final = re.compile(r"Optimizer\.(step|zero_grad)#")
_DAY_NS: Final = 24 * 3600 * 10**9


@dataclass(frozen=True, slots=True)
class AnnotatedRange:
    """An annotated range: name, device, category and times in ns; no duration if its end is not recorded."""

    name: str
    device: int
    category: str
    ts: int
    dur: int | None


def annotated_ranges(
    recorded: list[dict[str, Any]], span_ns: tuple[int, int] | None
) -> tuple[list[AnnotatedRange], int]:
    """The annotated ranges by start, and the number of starts and ends without a counterpart.

    Args:
        recorded: Entries with stage START or END, a name, a device and `time_us`, in time order.
        span_ns: First and last time of the history; entries more than a day outside have a wrong time.
    """
    found: list[AnnotatedRange] = []
    open_ones: dict[tuple[str, int], list[int]] = {}
    unmatched = 0
    for row in recorded:
        name, time, stage = short_text(row.get("name"), 1000), natural(row.get("time_us"), 1 << 52), row.get("stage")
        if not name or not time or stage not in ("START", "END"):
            unmatched += 1
            continue
        if span_ns and not span_ns[0] - _DAY_NS < time * 1000 < span_ns[1] + _DAY_NS:
            unmatched += 1
            continue
        key = (name, device(row.get("device")))
        if stage == "START":
            open_ones.setdefault(key, []).append(time)
        elif open_ones.get(key):
            start = open_ones[key].pop()
            found.append(_stretch(key, start, max(0, time - start)))
        else:
            unmatched += 1
    for key, starts in open_ones.items():
        unmatched += len(starts)
        found += [_stretch(key, start, None) for start in starts]
    return sorted(found, key=lambda stretch: (stretch.ts, -(stretch.dur or 0))), unmatched


def _stretch(key: tuple[str, int], start_us: int, dur_us: int | None) -> AnnotatedRange:
    name, on = key
    category = "step" if _STEP.match(name) else "dataloader" if _LOADER.search(name) else "annotation"
    return AnnotatedRange(name, on, category, start_us * 1000, None if dur_us is None else dur_us * 1000)


def marked_steps(annotated: Sequence[AnnotatedRange], span_ns: tuple[int, int] | None) -> list[AnnotatedRange]:
    """Steps from PyTorch's own marks, for programs that mark none.

    A step ends where `Optimizer.step` ends; the first starts where the gradients before it are freed, else with the
    history. Without such marks, two or more of `Optimizer.zero_grad`, or of batches fetched, each start a step; the
    last one extends to the end of the history. One alone gives no steps. Of several optimizers the one with the fewest
    marks is used.
    """
    if span_ns is None or any(one.category == "step" for one in annotated):
        return []
    ends = _fewest([one for one in annotated if (found := _OPTIMIZER.match(one.name)) and found[1] == "step"])
    starts = _fewest([one for one in annotated if (found := _OPTIMIZER.match(one.name)) and found[1] == "zero_grad"])
    if ends:
        stops = [one.ts + (one.dur or 0) for one in ends]
        cleared = [one.ts for one in starts if one.ts < ends[0].ts]
        return _steps([min(cleared, default=min(span_ns[0], ends[0].ts)), *stops], ends[0].device)
    batches = _fewest([one for one in annotated if one.category == "dataloader"])
    marks = starts if len(starts) > 1 else batches
    if len(marks) < 2:
        return []
    return _steps([*(one.ts for one in marks), max(span_ns[1], marks[-1].ts)], marks[0].device)


def _fewest(marks: list[AnnotatedRange]) -> list[AnnotatedRange]:
    """The marks of the rarest name; of equally rare names the one that occurs first."""
    counts = Counter(one.name for one in marks)
    return [one for one in marks if one.name == min(counts, key=lambda name: counts[name])]


def _steps(bounds: list[int], device: int) -> list[AnnotatedRange]:
    filled = [(start, end) for start, end in pairwise(bounds) if end > start]
    return [AnnotatedRange(f"step {i}", device, "step", start, end - start) for i, (start, end) in enumerate(filled)]
