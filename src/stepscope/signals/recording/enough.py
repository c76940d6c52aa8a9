"""Whether a recording suffices to say what is slow: neither a few kernels, nor first use only, nor a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.analyses.shared.device_time import device_times
from stepscope.ingest.inputs import source_of
from stepscope.language import said
from stepscope.model import runtime_names
from stepscope.model.amounts import duration, percent
from stepscope.model.categories import CATEGORIES
from stepscope.model.events.columns import Spans, names_by_id
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.steps import Steps
from stepscope.signals.host.one_time import first_use
from stepscope.signals.recording.recording import FEW_STEPS
from stepscope.signals.signal import Signals, signal

#: Fewer device activities than this that take less than that together are a test, not a job; and if they are copies
#: alone, they bring what the job begins with.
_FEW: Final = 30
_SHORT_NS: Final = 1_000_000
#: Where first uses and memory from the driver take this share of the time in which devices are in use, all else is
#: beside them.
_MOSTLY: Final = 0.5
#: Where this part of the time in which memory is taken lies after half of the kernels, it recurs.
_LATE: Final = 0.25
#: Operators are numbered one after another: recordings hold 13 to 100 % of the numbers between their first and last.
#: What lies between two sessions of a recording is missing at once, so that the widest holes do not count.
_KEPT: Final = 0.05
_WIDEST: Final = 0.01
#: So many operators tell how densely they are numbered.
_ENOUGH: Final = 500
_NUMBERS_SQL: Final = """
SELECT DISTINCT external_id AS number FROM spans WHERE category = 'op' AND external_id > 0 ORDER BY 1
"""
#: What the profiler adds: marks of steps, its own time, and its window.
_OF_THE_PROFILER: Final = ("step", "overhead", "other")
_MEMORY_SQL: Final = "SELECT count(*) FROM memory"
#: Typical steps whose start the recording marks.
_MARKED_SQL: Final = "SELECT count(*) FROM steps WHERE typical AND source NOT IN ('inferred', 'whole')"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why findings about time would not describe the job.

    Attributes:
        kind: `nothing` (no event of the program), `few` (hardly anything ran), `first use` (most of it is what happens
            once), `thinned` (most events were taken out), or empty where there is enough.
        text: What was seen, one sentence.
    """

    kind: str = ""
    text: str = ""


@signal()
def verdict(s: Signals) -> Verdict:
    """Whether the recording suffices to say what is slow, and why not."""
    if _is_empty(s):
        return Verdict("nothing", said("No operator, call, range or device activity of the program is recorded."))
    devices = s.trace.once(device_times)
    number = int(np.count_nonzero(~DeviceWork.of(s.trace).are("sync")))
    busy = sum(device.busy.total for device in devices)
    small = busy < _SHORT_NS
    if number <= _FEW and not _marked(s, small) and (small or not DeviceWork.of(s.trace).are("compute").any()):
        kernels = (
            said("Only one kernel or copy") if number == 1 else said("Only {number} kernels and copies", number=number)
        )
        return Verdict(
            "few",
            said(
                "{kernels} ran on the device, {busy} in all: too few to judge a job by.",
                kernels=kernels,
                busy=duration(busy),
            ),
        )
    return _thinned(s) or _first_use(s) or Verdict()


def _is_empty(s: Signals) -> bool:
    """Whether a profiler that records operators recorded nothing but its own marks."""
    spans = Spans(s.trace)
    seen = spans.of(*(one for one in CATEGORIES if one not in _OF_THE_PROFILER)).any()
    return source_of(s.trace.recordings[s.rank].reader).by_operators and not seen and not s.trace.scalar(_MEMORY_SQL)


def _marked(s: Signals, small: bool) -> bool:
    """Whether the program or its profiler marks whole steps: then these are the job, however little runs in them.

    A single one with hardly any work may be the first one of a test, in which all is used for the first time.
    """
    return int(s.trace.scalar(_MARKED_SQL) or 0) > int(small)


def _thinned(s: Signals) -> Verdict | None:
    """Verdict for recordings in which most operator numbers are missing."""
    if not source_of(s.trace.recordings[s.rank].reader).numbered:
        return None
    holes = np.sort(np.diff(s.trace.columns(_NUMBERS_SQL)["number"]))
    kept = holes.size + 1
    numbers = int(holes[: kept - max(1, round(_WIDEST * kept))].sum()) + 1
    if kept < _ENOUGH or kept >= _KEPT * numbers:
        return None
    text = said(
        "The recording is thinned: {kept} of the operators between its first and its last are left, "
        "so that gaps are holes, and sums too low.",
        kept=percent(kept / numbers),
    )
    return Verdict("thinned", text)


def _first_use(s: Signals) -> Verdict | None:
    """Verdict for recordings that mostly hold one-time work, with too few typical steps.

    The whole device span counts: steps leave out the start-up before or in the first one.
    """
    again = _allocates_on(s)
    taken = sum(
        row["total_ns"]
        for row in s.table("idle_causes").arrow.to_pylist()
        if row["step"] is None and (row["detail"] == "first_use" or (row["cause"] == "allocation" and not again))
    )
    span = sum(row["total_ns"] for row in s.table("step_budget").arrow.to_pylist() if row["step"] is None)
    steps = Steps.of(s.trace)
    if taken < _MOSTLY * span or np.count_nonzero(steps.typical & steps.found) >= FEW_STEPS:
        return None
    once = s.maybe(first_use)
    longest = (
        said(", {longest} in one {name}", longest=duration(once.longest_ns), name=once.name)
        if once and once.name
        else ""
    )
    text = said(
        "{taken} of the {span} in which the device was in use go to first launches and operators, "
        "which load their kernels and libraries, and to memory from the driver{once}: what is "
        "recorded is the start-up, not the job.",
        taken=duration(taken),
        span=duration(span),
        once=said("; all first use takes {total}{longest}", total=duration(once.total_ns), longest=longest)
        if once and longest
        else "",
    )
    return Verdict(said("first use"), text)


def _allocates_on(s: Signals) -> bool:
    """Whether driver allocations continue to the end as at the start, which is no start-up."""
    spans = Spans(s.trace)
    asks = [name_id for name_id, name in s.trace.once(names_by_id).items() if runtime_names.is_allocation(name)]
    at = np.flatnonzero(np.isin(spans.name, asks) & (spans.dur > 0))
    work = DeviceWork.of(s.trace)
    computing = work.are("compute")
    if not at.size or not computing.any():
        return False
    # By kernels, not by time: the first use of some can take longer than all that comes after it.
    middle = int(np.median(work.ts[computing]))
    began = spans.ts[at] >= int(work.ts[computing].min())
    late = int(spans.dur[at][began & (spans.ts[at] > middle)].sum())
    return late >= _LATE * int(spans.dur[at][began].sum()) > 0
