"""The causes of a difference, and one sentence that says them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from stepscope.comparison.causes.cause import Cause
from stepscope.comparison.causes.changed import CALLS, LAUNCHES
from stepscope.comparison.causes.groups import WorkSums, sure_groups
from stepscope.comparison.causes.inside import CAUSE_TABLES, group_words, inside
from stepscope.comparison.causes.same_work import SameWork
from stepscope.comparison.comparable import RECORDED, RecordedDifference
from stepscope.comparison.metrics import MetricShift
from stepscope.comparison.parts.amounts import Beside, StepCounts
from stepscope.comparison.parts.charged import BUSY
from stepscope.comparison.parts.peak import OLDER
from stepscope.comparison.parts.tables import STEP_PARTS
from stepscope.comparison.verdict import MARGIN, StepTimes
from stepscope.language import listing, parted, said
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
#: Share of that growth that something must hold to be named.
_HELD: Final = 0.25
#: What is said first where it differs: each step does other work then, or does it elsewhere.
_WORK: Final = ("what was run", "batch", "model shape", "world size", "data type", "devices", "versions")
_UNTOLD: Final = ("unknown", "none", "unnamed")
#: What of the host recording more takes longer.
_OF_HOST: Final = ("idle.host_dispatch", "idle.profiler_overhead", "idle.unknown", "host")


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
    protected comparisons, The Design of Experiments, 1935). Recordings without steps are held against each other as if
    they had done the same work, and have no causes where nothing tells how much each did.

    Args:
        parts: The parts of the step.
        strict: Half of the interval of each with all parts in mind.
        tables: The tables of the comparison.
        times: Step times of both sides.
        work: Sums of activities of each part.
        counts: What these are divided by, and the certainty.
    """
    step = max(1, min(times.base_ns, times.new_ns) or max(times.base_ns, times.new_ns))
    drift, per_step = 0.0, True
    if times.unit == "window":
        if times.interval is None:
            return ()
        per_step = False
        if times.same_work is not None:
            same = SameWork.of(times.same_work, times.base_ns, times.new_ns)
            strict = {one.key: same.half(strict.get(one.key), one.new_ns) for one in parts}
            parts, drift, work = [same.part(one) for one in parts], same.apart, same.sums(work)
            tables = {**tables, **same.tables(tables, (STEP_PARTS.name, *CAUSE_TABLES))}
    found: list[Cause] = []
    for one in parts:
        half = strict.get(one.key)
        least = min(MARGIN * step, max(_LITTLE * step, _OF_PART * max(one.base_ns, one.new_ns)))
        if abs(one.diff_ns) < least or half is None:
            continue
        low, high = round(one.diff_ns - half), round(one.diff_ns + half)
        found.append(Cause(one.key, "", one.base_ns, one.new_ns, low, high, abs(one.diff_ns) > half, per_step=per_step))
    if times.sure_apart_ns and not any(one.sure for one in found):
        halves = {one.key: one.half for one in parts}
        found = [_alone(one, halves[one.part], times.sure_apart_ns) for one in found]
    found = [replace(one, what=inside(one.part, tables, one.diff_ns)) for one in found]
    sure = {one.part for one in found if one.sure}
    for group in sure_groups({part: sums for part, sums in work.items() if part not in sure}, counts, step, drift):
        low, high = round(group.diff_ns - group.half), round(group.diff_ns + group.half)
        what = group_words(group.name, group.rows, LAUNCHES if group.part == BUSY[0] else CALLS)
        found.append(
            Cause(group.part, what, group.base_ns, group.new_ns, low, high, True, within=True, per_step=per_step)
        )
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
    tables: Mapping[str, Table] | None = None,
) -> str:
    """What the difference comes from, as far as it is certain; empty where nothing is said of times or memory."""
    clauses: list[str] = []
    if times.interval is not None:
        if times.interval.method != "identical":
            clauses += [_other_work(one) for what in _WORK for one in different if one.what == what]
        clauses += [_times(times, causes), _recorded(causes, different)]
    peaks = [one for one in metrics if one.name == "peak_memory" and one.base and abs(one.diff / one.base) > _MEMORY]
    for one in peaks:
        grown = f"{'+' if one.diff > 0 else ''}{percent(one.diff / one.base)}"
        peak = said(
            "peak memory {base} → {new} ({growth})", base=quantity(one.base, "bytes"), new=quantity(one.new, "bytes"),
            growth=grown,
        )  # fmt: skip
        held = _held(tables or {}, one.diff)
        clauses.append(said("{text}: {what}", text=peak, what=held) if held else peak)
    return listing(filter(None, clauses), "; ")


def _held(tables: Mapping[str, Table], diff: float) -> str:
    """What most of a peak's difference is held for: `activations +231 MiB`; empty where nothing tells."""
    rows = tables["memory_peak"].records() if "memory_peak" in tables else []
    by = next((one for one in ("purpose", "operator") if any(row["by"] == one for row in rows)), "")
    found = [row for row in rows if row["by"] == by and row["diff_bytes"] / diff >= _HELD and row["name"] != OLDER]
    words = [
        f"{row['name']} {'+' if diff > 0 else '-'}{quantity(abs(row['diff_bytes']), 'bytes')}" for row in found[:2]
    ]
    return ", ".join(words)


def _other_work(one: RecordedDifference) -> str:
    """What the sides do differently; empty where one does not tell."""
    if any(untold in side for untold in _UNTOLD for side in (one.base, one.new)):
        return ""
    if one.what == "versions":
        base_of, new_of = (dict(part.rsplit(" ", 1) for part in side.split(", ")) for side in (one.base, one.new))
        return ", ".join(f"{name} {of} → {new_of[name]}" for name, of in base_of.items() if new_of.get(name, of) != of)
    if one.what != "what was run":
        return said("{what} {base} → {new}", what=one.what, base=one.base, new=one.new)
    base, new = parted(one.base), parted(one.new)
    gone, come = [part for part in base if part not in new], [part for part in new if part not in base]
    if gone and come:
        return said("{gone} → {come}", gone=listing(gone), come=listing(come))
    if gone:
        return said("{gone} on the base alone", gone=listing(gone))
    return said("{come} on the new side alone", come=listing(come))


def _recorded(causes: Sequence[Cause], different: Sequence[RecordedDifference]) -> str:
    """What the side with the slower host records beyond the other, which takes time there; empty without any."""
    apart = sum(one.diff_ns for one in causes if one.sure and one.part in _OF_HOST)
    more = [
        RECORDED[one.what] for one in different
        if apart and one.what in RECORDED and (one.new if apart > 0 else one.base) == "yes"
    ]  # fmt: skip
    if not more:
        return ""
    if apart > 0:
        return said("of which recording {what} on the new side alone may be a part", what=listing(more))
    return said("of which recording {what} on the base alone may be a part", what=listing(more))


def _times(times: StepTimes, causes: Sequence[Cause]) -> str:
    sure = [one for one in causes if one.sure][:_SAID]
    whole = times.unit == "window"
    noisy = times.verdict == "inconclusive" and not times.unlike
    if sure:
        parts = listing((one.said for one in sure), "; ")
        if times.same_work is not None:
            return said("for the same work: {parts}", parts=parts)
        within = said("recording: within noise") if whole else said("step: within noise")
        return listing((within, parts), "; ") if noisy else parts
    if times.verdict in ("faster", "slower") and causes and not times.every:
        return said("most of it in {cause}, though no part differs for sure", cause=causes[0].said)
    if not noisy and times.same_work is None:
        return ""
    margin = percent(MARGIN, 0)
    if times.same_work is not None:
        words = [said("for the same work: no part of it differs for sure by {margin} of a recording", margin=margin)]
    elif whole:
        words = [
            said("recording: within noise; no part of it differs for sure by {margin} of a recording", margin=margin)
        ]
    else:
        words = [said("step: within noise; no part of it differs for sure by {margin} of a step", margin=margin)]
    first = causes[0] if causes else None
    if first is not None and abs(first.diff_ns) > _MUCH * max(1, times.base_ns):
        words.append(said("most in {cause}, within what that varies by", cause=first.said))
    return listing(words, "; ")
