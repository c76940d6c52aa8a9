"""The causes of a difference, and one sentence that says them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from stepscope.comparison.causes.cause import Cause
from stepscope.comparison.causes.groups import WorkSums, sure_groups
from stepscope.comparison.causes.inside import group_words, inside
from stepscope.comparison.comparable import RecordedDifference
from stepscope.comparison.metrics import MetricShift
from stepscope.comparison.parts.amounts import Beside, StepCounts
from stepscope.comparison.parts.charged import BUSY
from stepscope.comparison.verdict import MARGIN, StepTimes
from stepscope.model.amounts import percent, quantity
from stepscope.model.table import Table

#: Causes that the sentence says, at most.
_SAID: Final = 3
#: Share of a part by which it differs to be said where that is less than the margin of the step, and of the step.
_OF_PART: Final = 0.03
_LITTLE: Final = 0.0025
#: Share of the step from which a part is said that differs most, but not for sure.
_MUCH: Final = 0.03
#: Share of a step's sure difference that a part makes up to be most of it.
_MOST: Final = 0.6
#: Growth of a peak of memory that is said.
_MEMORY: Final = 0.02
#: What is said first where it differs: each step does other work then.
_WORK: Final = ("batch", "model shape", "data type")
_UNITS: Final = {"step": "step", "host step": "step", "window": "recording"}


def causes_of(
    parts: Sequence[Beside[str]],
    strict: Mapping[str, float | None],
    tables: Mapping[str, Table],
    times: StepTimes,
    work: WorkSums,
    counts: StepCounts,
) -> tuple[Cause, ...]:
    """The parts that differ by more than 1 % of the base's step, or by far more of themselves, the sure ones first.

    Of parts that do not differ for sure, activities that do are causes of their own. Where the step differs for sure
    and no part does with all parts in mind, the part that makes up most of it is asked for alone (as in Fisher's
    protected comparisons, The Design of Experiments, 1935).

    Args:
        parts: The parts of the step.
        strict: Half of the interval of each with all parts in mind.
        tables: The tables of the comparison.
        times: Step times of both sides.
        work: Sums of activities of each part.
        counts: What these are divided by, and the certainty.
    """
    step = max(1, min(times.base_ns, times.new_ns) or max(times.base_ns, times.new_ns))
    found: list[Cause] = []
    for one in parts:
        half = strict.get(one.key)
        least = min(MARGIN * step, max(_LITTLE * step, _OF_PART * max(one.base_ns, one.new_ns)))
        if abs(one.diff_ns) < least or half is None:
            continue
        low, high = round(one.diff_ns - half), round(one.diff_ns + half)
        found.append(Cause(one.key, "", one.base_ns, one.new_ns, low, high, abs(one.diff_ns) > half))
    if times.sure_apart_ns and not any(one.sure for one in found):
        halves = {one.key: one.half for one in parts}
        found = [_alone(one, halves[one.part], times.sure_apart_ns) for one in found]
    found = [replace(one, what=inside(one.part, tables, one.diff_ns)) for one in found]
    sure = {one.part for one in found if one.sure}
    for group in sure_groups({part: sums for part, sums in work.items() if part not in sure}, counts, step):
        low, high = round(group.diff_ns - group.half), round(group.diff_ns + group.half)
        what = group_words(group.name, group.rows, "launches" if group.part == BUSY[0] else "calls")
        found.append(Cause(group.part, what, group.base_ns, group.new_ns, low, high, True, within=True))
    return tuple(sorted(found, key=lambda cause: (not cause.sure, -abs(cause.diff_ns))))


def _alone(cause: Cause, half: float | None, apart_ns: int) -> Cause:
    """A part with the certainty that it has by itself, if it makes up most of what the step differs by."""
    if half is None or abs(cause.diff_ns) <= half or cause.diff_ns * apart_ns <= 0:
        return cause
    if abs(cause.diff_ns) < _MOST * abs(apart_ns):
        return cause
    return replace(cause, low_ns=round(cause.diff_ns - half), high_ns=round(cause.diff_ns + half), sure=True)


def sentence(
    times: StepTimes,
    causes: Sequence[Cause],
    metrics: Sequence[MetricShift],
    different: Sequence[RecordedDifference],
) -> str:
    """What the difference comes from, as far as it is certain; empty where nothing is said of times or memory."""
    said = []
    work = [one for one in different if (one.what in _WORK and one.tone == "warning") or one.what == "data type"]
    work = [one for one in work if "unknown" not in (one.base, one.new)]
    if work:
        said.append("; ".join(f"{one.what} {one.base} → {one.new}" for one in work))
    if times.interval is not None and times.interval.method != "identical":
        said.append(_times(times, causes))
    peaks = [one for one in metrics if one.name == "peak_memory" and one.base and abs(one.diff / one.base) > _MEMORY]
    for one in peaks:
        said.append(
            f"peak memory {quantity(one.base, 'bytes')} → {quantity(one.new, 'bytes')} "
            f"({'+' if one.diff > 0 else ''}{percent(one.diff / one.base)})"
        )
    return "; ".join(filter(None, said))


def _times(times: StepTimes, causes: Sequence[Cause]) -> str:
    sure = [one for one in causes if one.sure][:_SAID]
    unit = _UNITS.get(times.unit, "step")
    step = f"{unit}: within noise; " if times.verdict == "inconclusive" and not times.unlike else ""
    if sure:
        return step + "; ".join(map(str, sure))
    if times.verdict in ("faster", "slower") and causes and not times.every:
        return f"most of it in {causes[0]}, though no part differs for sure"
    if not step:
        return ""
    words = f"{step}no part of it differs for sure by {percent(MARGIN, 0)} of a {unit}"
    first = causes[0] if causes else None
    if first is not None and abs(first.diff_ns) > _MUCH * max(1, times.base_ns):
        words += f"; most in {first}, within what that varies by"
    return words
