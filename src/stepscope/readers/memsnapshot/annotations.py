"""Annotated stretches of a snapshot, from their begins and ends."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from stepscope.readers.memsnapshot.values import device, natural, short_text

_STEP: Final = re.compile(r"ProfilerStep\s*#\s*\d+")
_LOADER: Final = re.compile(r"enumerate\(Data(Loader|Pipe)\)|DataLoader.*__next__")
_DAY_NS: Final = 24 * 3600 * 10**9


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch with its name, device, category and times in ns; no duration if its end is not recorded."""

    name: str
    device: int
    category: str
    ts: int
    dur: int | None


def stretches(recorded: list[dict[str, Any]], span_ns: tuple[int, int] | None) -> tuple[list[Stretch], int]:
    """The stretches, by begin, and how many begins or ends have no counterpart.

    Args:
        recorded: Entries with stage START or END, a name, a device and `time_us`, in time order.
        span_ns: First and last time of the history; what lies more than a day outside has a wrong time.
    """
    found: list[Stretch] = []
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
            begin = open_ones[key].pop()
            found.append(_stretch(key, begin, max(0, time - begin)))
        else:
            unmatched += 1
    for key, begins in open_ones.items():
        unmatched += len(begins)
        found += [_stretch(key, begin, None) for begin in begins]
    return sorted(found, key=lambda stretch: (stretch.ts, -(stretch.dur or 0))), unmatched


def _stretch(key: tuple[str, int], begin_us: int, dur_us: int | None) -> Stretch:
    name, on = key
    category = "step" if _STEP.match(name) else "dataloader" if _LOADER.search(name) else "annotation"
    return Stretch(name, on, category, begin_us * 1000, None if dur_us is None else dur_us * 1000)
