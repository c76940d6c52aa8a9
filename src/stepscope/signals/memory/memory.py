"""Device memory: peak, memory left between steps, and memory that is not freed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np

from stepscope.analyses.memory.memory_levels import MemoryLevels, memory_levels
from stepscope.model.devices import match
from stepscope.model.errors import MissingInputError
from stepscope.model.events.steps import Steps
from stepscope.model.intervals import Times
from stepscope.signals.shared.job import platform
from stepscope.signals.shared.ran_on import ran_on
from stepscope.signals.signal import Signals, signal

_DEVICES_SQL: Final = "SELECT device, name, memory_bytes FROM devices"
_SNAPSHOT_SQL: Final = "SELECT count(*) FROM segments"
#: Bytes that every Ascend device for training has at least (device table).
_LEAST_NPU: Final = 32 << 30
_FAILED_SQL: Final = "SELECT count(*) FROM allocator_events WHERE action = 'oom'"


@dataclass(frozen=True, slots=True)
class Peak:
    """Peak memory in use on one device.

    Attributes:
        device: Index.
        used: Bytes in use at the peak.
        bound: Whether that is a lower bound, because what was allocated before the recording is not in it.
        reserved: Most bytes held by the allocator; None if not recorded.
        total: Bytes that the device has; None if neither recorded nor known from its name.
        baseline: Least bytes in use within any complete step: what stays from step to step; None without steps.
    """

    device: int
    used: int
    bound: bool
    reserved: int | None
    total: int | None
    baseline: int | None


@dataclass(frozen=True, slots=True)
class Growth:
    """Memory in use at the end of each step, from step to step.

    Attributes:
        device: Index; None for the host's memory.
        levels: int64[n], least bytes in use within each of n complete steps.
        starts: int64[n], starts of these steps.
    """

    device: int | None
    levels: Times
    starts: Times

    @property
    def increases(self) -> Times:
        """int64[n - 1], bytes that each step leaves more than the one before it."""
        return np.diff(self.levels)


@dataclass(frozen=True, slots=True)
class Reserve:
    """What the allocator of a device holds, and what of it is used, from step to step.

    Attributes:
        device: Index.
        held: int64[n], most bytes that the allocator holds within each of n complete steps.
        used: int64[n], most bytes in use within each.
    """

    device: int
    held: Times
    used: Times


@signal()
def peaks(s: Signals) -> tuple[Peak, ...]:
    """The peak of each device whose allocations are recorded."""
    known = {row["device"]: row for row in s.trace.rows(_DEVICES_SQL)}
    found = []
    grown = {one.device: one for one in s(growth)}
    for row in s.table("memory_peaks").records():
        if row["device"] is not None:
            total = row["total_bytes"] or _total(known.get(row["device"], {}))
            levels = grown.get(row["device"])
            baseline = int(levels.levels.min()) if levels is not None and levels.levels.size else None
            found.append(
                Peak(
                    row["device"], row["peak_bytes"], row["peak_is_lower_bound"], row["peak_reserved_bytes"] or None,
                    total, baseline,
                )
            )  # fmt: skip
    if not found:
        raise MissingInputError(
            "the recording has no allocations of device memory", hint="record them (PyTorch: profile_memory=True)"
        )
    return tuple(found)


@signal()
def fullest(s: Signals) -> Peak:
    """The device of known size whose peak is the largest share of its memory."""
    sized = [peak for peak in s(peaks) if peak.total]
    if not sized:
        raise MissingInputError(
            "how much memory the device has is not recorded",
            hint="state it: --memory 64GiB, or --device NAME",
        )
    return max(sized, key=lambda peak: peak.used / (peak.total or 1))


@signal("share")
def used_share(s: Signals) -> float:
    """Peak memory as a share of the device's memory."""
    peak = s(fullest)
    return peak.used / (peak.total or 1)


@signal()
def room(s: Signals) -> tuple[int, int]:
    """Peak memory in use and memory of the device in bytes; on an NPU of unknown variant what all for training have."""
    found = [peak for peak in s(peaks) if not peak.bound]
    if not found:
        raise MissingInputError("the peak of the memory in use is not recorded", hint="record it (profile_memory=True)")
    most = max(found, key=lambda peak: peak.used)
    total = most.total or (_LEAST_NPU if s(platform) == "npu" else None)
    if total is None:
        raise MissingInputError(
            "how much memory the device has is not recorded", hint="state it: --memory 64GiB, or --device NAME"
        )
    return most.used, total


@signal()
def levels(s: Signals) -> tuple[MemoryLevels, ...]:
    """Allocations, frees and totals of each device."""
    return tuple(one for one in memory_levels(s.trace) if one.device is not None)


def _steps(s: Signals) -> dict[str, Any]:
    """Name, start and end of the complete steps."""
    every = Steps.of(s.trace)
    return {"step": every.step[every.whole], "ts": every.ts[every.whole], "stop": every.stop[every.whole]}


@signal()
def growth(s: Signals) -> tuple[Growth, ...]:
    """Memory that each complete step leaves in use, by device."""
    steps = _steps(s)
    return tuple(_growth(one, steps) for one in s(levels))


@signal()
def host_growth(s: Signals) -> tuple[Growth, ...]:
    """The same of the host's memory, in a recording of a program that uses no device."""
    where = s(ran_on)
    if where.where not in ("cpu", "unknown") or where.listed or s(levels):
        raise MissingInputError("a device is used, or named: its memory is what runs out")
    steps = _steps(s)
    return tuple(_growth(one, steps) for one in memory_levels(s.trace) if one.device is None)


@signal()
def reserves(s: Signals) -> tuple[Reserve, ...]:
    """What the allocator holds in each complete step, and the most in use then, by device."""
    steps = _steps(s)
    return tuple(found for one in s(levels) if (found := _reserve(one, steps)) is not None)


@signal("share")
def same_sizes(s: Signals) -> float | None:
    """Mean share of a step's allocated bytes in sizes that the step before allocated too; null if not recorded."""
    found = s.maybe(levels)
    steps = _steps(s)
    if not found or steps["ts"].size < 2:
        return None
    shares = [share for one in found for share in _same_sizes(one, steps)]
    return sum(shares) / len(shares) if shares else None


@signal()
def failures(s: Signals) -> tuple[Mapping[str, Any], ...]:
    """Failed allocations, rows of `out_of_memory`; none where no history of the allocator is recorded."""
    if not s.trace.scalar(_FAILED_SQL):
        return ()
    return tuple(s.table("out_of_memory").records())


@signal()
def snapshot(s: Signals) -> Mapping[str, Any]:
    """The row of `memory_snapshot` of the device that holds most."""
    if not s.trace.scalar(_SNAPSHOT_SQL):
        raise MissingInputError(
            "the recording has no memory snapshot",
            hint="record one (PyTorch: torch.cuda.memory._record_memory_history and _dump_snapshot)",
        )
    return max(s.table("memory_snapshot").records(), key=lambda row: row["reserved_bytes"])


@signal()
def churn(s: Signals) -> Mapping[str, Any]:
    """Row of `segment_churn`: segments taken from and returned to the device during a snapshot's history."""
    rows = [row for row in s.table("segment_churn").records() if row["bytes"] is None]
    if not rows:
        raise MissingInputError(
            "no segment was taken or given back during the history of the memory snapshot",
            hint="record the history from the start (PyTorch: torch.cuda.memory._record_memory_history)",
        )
    return max(rows, key=lambda row: (row["taken_again"], row["taken"]))


@signal()
def unreturned(s: Signals) -> tuple[Mapping[str, Any], ...]:
    """Rows of `memory_unreturned`: call stacks that leave more memory behind in each step."""
    s(snapshot)
    return tuple(row for row in s.table("memory_unreturned").records() if row["is_candidate"])


@signal()
def categories(s: Signals) -> Mapping[str, int]:
    """Bytes of a memory snapshot's peak by category of their call stacks."""
    s(snapshot)
    rows = s.table("memory_peak_stacks").records()
    return {row["name"]: row["bytes"] for row in rows if row["by"] == "category"}


def _growth(levels: MemoryLevels, steps: dict[str, Any]) -> Growth:
    first = np.searchsorted(levels.ts, steps["ts"])
    last = np.searchsorted(levels.ts, steps["stop"])
    inside = last > first
    least = np.array(
        [levels.allocated[a:b].min() for a, b in zip(first[inside].tolist(), last[inside].tolist(), strict=True)],
        np.int64,
    )
    return Growth(levels.device, least, steps["ts"][inside])


def _reserve(levels: MemoryLevels, steps: dict[str, Any]) -> Reserve | None:
    first, last = np.searchsorted(levels.ts, steps["ts"]), np.searchsorted(levels.ts, steps["stop"])
    pairs = [(a, b) for a, b in zip(first.tolist(), last.tolist(), strict=True) if b > a]
    if levels.device is None or levels.rebuilt or not pairs or (levels.reserved < 0).any():
        return None
    held, used = (
        np.array([column[a:b].max() for a, b in pairs], np.int64) for column in (levels.reserved, levels.allocated)
    )
    return Reserve(levels.device, held, used)


def _same_sizes(levels: MemoryLevels, steps: dict[str, Any]) -> list[float]:
    """For each step with allocations after the first such, the share in sizes of the one before."""
    made = levels.bytes > 0
    ts, size = levels.ts[made], levels.bytes[made]
    bounds = zip(np.searchsorted(ts, steps["ts"]).tolist(), np.searchsorted(ts, steps["stop"]).tolist(), strict=True)
    tallies = [np.unique(size[first:last], return_counts=True) for first, last in bounds if last > first]
    shares = []
    for (before, often), (now, count) in pairwise(tallies):
        at = np.minimum(np.searchsorted(before, now), before.size - 1)
        same = np.where(before[at] == now, np.minimum(often[at], count), 0)
        shares.append(float((same * now).sum()) / float((count * now).sum()))
    return shares


def _total(row: dict[str, Any]) -> int | None:
    known = match(row.get("name"))
    return None if known is None else known.memory_bytes
