"""Faster, slower, the same or not to be decided: step times of two sides with their noise in mind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from stepscope.comparison.comparable import RUNS, TRAINS, WORK, items_words
from stepscope.comparison.noise.rates import rate_ratio
from stepscope.comparison.noise.ratio import ASSUMED_SPREAD, CONFIDENCE, RatioInterval, ratio_interval
from stepscope.comparison.steps.figures import ItemsBeside, StepsBeside, steps_beside
from stepscope.comparison.steps.slow import SlowShift, slow_shift
from stepscope.comparison.steps.words import slow_words
from stepscope.comparison.summary import SideSummary
from stepscope.language import listing, pattern, said
from stepscope.model.amounts import between, percent, plural

Verdict = Literal["faster", "slower", "same", "inconclusive"]
#: Differences below this share of the step are no difference, whatever their certainty: two recordings of one program
#: on one machine differ by as much.
MARGIN: Final = 0.01
#: The same of what a single stall costs each step on average: one may happen to any recording.
STALL_MARGIN: Final = 0.03


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Step times of both sides.

    Attributes:
        base_ns: Mean of the base's steps.
        new_ns: Mean of the new side's steps.
        base_median_ns: Median of the base's steps (the lower of the two middle ones).
        new_median_ns: The same of the new side.
        base_steps: Steps that the base has.
        new_steps: Steps that the new side has.
        interval: By which factor they differ.
        unit: What is timed: step, host step, window or none.
        verdict: Of the new side.
        reason: Why, one sentence.
        every: Mean of all complete steps of either side where the verdict rests on them; else None.
        steps: All recorded steps of both sides.
        unlike: Whether one side trains a model and the other runs it, so that neither can be faster.
    """

    base_ns: int
    new_ns: int
    base_median_ns: int
    new_median_ns: int
    base_steps: int
    new_steps: int
    interval: RatioInterval | None
    unit: str
    verdict: Verdict
    reason: str
    every: tuple[int, int] | None = None
    steps: StepsBeside = field(default_factory=StepsBeside)
    unlike: bool = False

    @property
    def sure_apart_ns(self) -> int:
        """By how much the typical step, or the same work, differs where it does for sure; else 0."""
        sure = self.interval is not None and self.interval.sure and self.verdict in ("faster", "slower")
        if sure and (work := self.same_work) is not None:
            return round(self.base_ns * work.ratio) - self.base_ns
        return self.new_ns - self.base_ns if sure else 0

    @property
    def same_work(self) -> RatioInterval | None:
        """Of recordings without steps by which factor the new one takes longer for the same work; else None."""
        return self.interval if self.interval is not None and self.interval.method == "rates" else None

    def to_json(self) -> dict[str, Any]:
        """As in `stepscope.comparison/1`; `low_ns` and `high_ns` bound the difference of a step of the base's mean."""
        one = self.interval
        timed = None if one is not None and one.method == "rates" else one
        return {
            "base_ns": self.base_ns,
            "new_ns": self.new_ns,
            "low_ns": None if timed is None else round((timed.low - 1) * self.base_ns),
            "high_ns": None if timed is None or timed.most is None else round((timed.most - 1) * self.base_ns),
            "diff_ns": self.new_ns - self.base_ns,
            "base_median_ns": self.base_median_ns,
            "new_median_ns": self.new_median_ns,
            "base_steps": self.base_steps,
            "new_steps": self.new_steps,
            "ratio": None if one is None else one.ratio,
            "ratio_low": None if one is None else one.low,
            "ratio_high": None if one is None else one.most,
            "confidence": None if one is None else one.confidence,
            "method": None if one is None else one.method,
            "unit": self.unit,
            "reason": self.reason,
            "rests_on": "all steps" if self.every else "typical steps",
            "steps": self.steps.to_json(),
        }


def step_times(
    base: SideSummary, new: SideSummary, confidence: float = CONFIDENCE, margin: float = MARGIN
) -> StepTimes:
    """Compare the steps of two sides.

    Args:
        base: One side.
        new: The other.
        confidence: Chance that the interval of the ratio holds the true one.
        margin: Differences below this share of the step are none.
    """
    units = {base.unit, new.unit}
    unit = base.unit if len(units) == 1 else "none"
    first, second = base.lengths, new.lengths
    interval = ratio_interval(first, second, confidence) if any(first) and any(second) and unit != "none" else None
    if interval is not None and unit == "window" and not (interval.method == "identical" and base.calls == new.calls):
        interval = rate_ratio(base.calls, new.calls, sum(first), sum(second))
    every, steps = None, StepsBeside()
    if units == {"none"}:
        verdict, reason = _untimed(base.series, new.series)
    else:
        verdict, reason = _verdict(interval, unit, margin, (len(first), len(second)), (sum(first), sum(second)))
    if unit in ("step", "host step"):
        items = _items(base, new)
        steps = steps_beside(base.steps, new.steps, slow_shift(base.steps, new.steps, confidence), confidence, items)
        verdict, reason, every = _with_slow_steps(verdict, reason, interval, steps, margin, confidence)
        reason = listing(filter(None, (reason, _per_item(items, steps))), "; ")
    unlike = {base.recorded.get(WORK), new.recorded.get(WORK)} == {TRAINS, RUNS}
    if unlike and verdict in ("faster", "slower"):
        verdict = "inconclusive"
        reason = said("one side trains a model and the other runs one, so neither is faster: {reason}", reason=reason)
    return StepTimes(
        sum(base.lengths) // max(1, len(base.lengths)),
        sum(new.lengths) // max(1, len(new.lengths)),
        _median(base.lengths),
        _median(new.lengths),
        len(base.lengths),
        len(new.lengths),
        interval,
        unit,
        verdict,
        reason,
        every,
        steps,
        unlike,
    )


def _items(base: SideSummary, new: SideSummary) -> ItemsBeside | None:
    """What a step of either side reads; None where one side does not tell, or counts something else."""
    if base.items is None or new.items is None or base.items[1] != new.items[1]:
        return None
    return ItemsBeside(base.items[0], new.items[0], base.items[1])


def _per_item(items: ItemsBeside | None, steps: StepsBeside) -> str:
    """What a step of another batch takes per item: that it takes longer says nothing of how fast the program is."""
    mean = steps.figure("mean_step")
    if items is None or items.base == items.new or mean is None or not mean.base or not mean.new:
        return ""
    apart = mean.new / items.new * items.base / mean.base - 1
    numbers = said("{base:,.0f} → {new}", base=items.base, new=items_words(items.new, items.unit))
    share = percent(abs(apart))
    if apart < 0:
        return said("a step reads {numbers}, of which each takes {share} less time", numbers=numbers, share=share)
    return said("a step reads {numbers}, of which each takes {share} more time", numbers=numbers, share=share)


def _with_slow_steps(
    verdict: Verdict, reason: str, interval: RatioInterval | None, steps: StepsBeside, margin: float, confidence: float
) -> tuple[Verdict, str, tuple[int, int] | None]:
    """The verdict with the steps that take far longer than the usual ones in mind.

    They decide where what they cost differs for sure and outweighs what the typical step does for sure, as long as the
    mean of all steps says the same.
    """
    slow, mean = steps.slow, steps.figure("mean_step")
    if interval is None or mean is None or mean.base is None or mean.new is None:
        return verdict, reason, None
    usual = _usual_shift(steps, confidence)
    if not slow.base.count and not slow.new.count:
        return verdict, reason, None
    words = slow_words(slow)
    lost = slow.diff_ns / max(1, slow.base.usual_ns or slow.new.usual_ns)
    least = STALL_MARGIN if abs(slow.new.count - slow.base.count) < 2 and not _recurring(slow) else margin
    apart = mean.new / mean.base - 1
    told = abs(apart) > margin and (apart > 0) == (usual + lost > 0)
    if slow.sure and abs(lost) > least and abs(usual + lost) > margin and told:
        found: Verdict = "slower" if usual + lost > 0 else "faster"
        if verdict in (found, "same", "inconclusive") or (usual > 0) != (lost > 0):
            if verdict == found:
                return verdict, listing((reason, _all_steps(apart, words)), "; "), None
            step = said("the usual step takes {share}", share=_signed(usual))
            step = step if usual else said("the usual step is within the noise")
            every = (round(mean.base), round(mean.new))
            return found, listing((_all_steps(apart, words), step), "; "), every
    if verdict in ("same", "inconclusive") and abs(usual) > margin and (apart > 0) == (usual > 0):
        kind = said("steps are of two kinds, and the faster ones take {share}", share=_signed(usual))
        return ("slower" if usual > 0 else "faster"), listing((kind, words), "; "), None
    return verdict, listing((reason, words), "; "), None


def _all_steps(apart: float, words: str) -> str:
    return said("all steps {share}: {words}", share=_signed(apart), words=words)


def _recurring(slow: SlowShift) -> bool:
    return slow.base.recurring or slow.new.recurring


def _usual_shift(steps: StepsBeside, confidence: float) -> float:
    """By how much the usual steps differ for sure, as a share; 0 where that may be noise."""
    sides = []
    for every, slow in ((steps.base, steps.slow.base), (steps.new, steps.slow.new)):
        left = {*slow.steps}
        sides.append([one.ns for one in every if one.role == "typical" and one not in left])
    if not all(map(any, sides)):
        return 0.0
    found = ratio_interval(sides[0], sides[1], confidence)
    return found.ratio - 1 if found.sure else 0.0


def _signed(share: float) -> str:
    return f"{100 * share:+,.1f} %"


def _untimed(base: Mapping[str, tuple[int, ...]], new: Mapping[str, tuple[int, ...]]) -> tuple[Verdict, str]:
    """The verdict on recordings without times, such as memory snapshots."""
    if not base and not new:
        return "inconclusive", said("neither steps nor a device are known, so that nothing tells which side is faster")
    if base == new:
        return "same", said("no times are recorded, and all other figures are equal")
    peaks = [max(side.get("peak_memory", (0,))) for side in (base, new)]
    if not all(peaks) or peaks[0] == peaks[1]:
        return "inconclusive", said("no times are recorded: the sections below compare the rest")
    apart = peaks[1] / peaks[0] - 1
    share = percent(abs(apart))
    peak = said("the peak of memory is {share} smaller", share=share)
    if apart > 0:
        peak = said("the peak of memory is {share} larger", share=share)
    return "inconclusive", listing((said("no times are recorded, so that neither is faster"), peak), "; ")


def _verdict(
    interval: RatioInterval | None, unit: str, margin: float, steps: tuple[int, int], lengths: tuple[int, int]
) -> tuple[Verdict, str]:
    if interval is None and unit == "window":
        return "inconclusive", said(
            "no steps are known, and too little repeats on both sides to tell how fast they are"
        )
    if interval is None:
        return "inconclusive", said("the two sides have no times of the same kind")
    if interval.method == "identical" and unit == "window":
        return "same", said("both recordings hold the same calls in the same time")
    if interval.method == "identical":
        return "same", said("the step times of both sides are equal to the nanosecond")
    if interval.method == "rates":
        return _by_rates(interval, margin, lengths)
    ends = between(percent(interval.low - 1), percent(interval.high - 1))
    around = said("{confidence:.0%} interval {ends}", confidence=interval.confidence, ends=ends)
    found, share, text = _judged(interval, margin)
    reason = said(text, share=percent(share, 0 if found == "same" else 1), between=around)
    return found, listing(filter(None, (reason, _few(interval, steps))), "; ")


def _judged(interval: RatioInterval, margin: float) -> tuple[Verdict, float, str]:
    """The verdict on steps, the share that it is about, and what is said of it."""
    if interval.high <= 1 + margin and interval.low >= 1 - margin:
        return "same", margin, pattern("the step time differs by less than {share}: {between}")
    if interval.low > 1 and interval.ratio > 1 + margin:
        return "slower", interval.ratio - 1, pattern("the step takes {share} more time: {between}")
    if interval.high < 1 and interval.ratio < 1 - margin:
        return "faster", 1 - interval.ratio, pattern("the step takes {share} less time: {between}")
    return "inconclusive", interval.ratio - 1, pattern("the difference of {share} is within the noise: {between}")


def _by_rates(interval: RatioInterval, margin: float, lengths: tuple[int, int]) -> tuple[Verdict, str]:
    """The verdict on recordings without steps, and how much work the new one holds."""
    done = lengths[1] / lengths[0] / interval.ratio
    held = said("the new recording holds {done:.2f} times the base's work, which its parts show as well", done=done)
    among = said(
        "{low} to {high} for nine of ten calls of kernels, cut repetitions in mind", low=percent(interval.low - 1),
        high=percent(interval.high - 1),
    )  # fmt: skip
    verdict: Verdict = "inconclusive"
    share = percent(abs(interval.ratio - 1))
    if interval.low > 1 and interval.ratio > 1 + margin:
        verdict, apart = "slower", said("the same work takes {share} more time: {among}", share=share, among=among)
    elif interval.high < 1 and interval.ratio < 1 - margin:
        verdict, apart = "faster", said("the same work takes {share} less time: {among}", share=share, among=among)
    else:
        apart = said("how often kernels run differs by {among}", among=among)
    return verdict, listing((said("no steps are known"), apart, held), "; ")


def _few(interval: RatioInterval, steps: tuple[int, int]) -> str:
    """What the interval rests on where that is little."""
    if interval.method == "assumed":
        return said(
            "with one step on each side the noise is not measured but taken to be {share:.0%} of a step",
            share=ASSUMED_SPREAD,
        )  # fmt: skip
    if interval.method == "spread":
        return said("{steps} beside {others}, few for an interval", steps=plural(steps[0], "step"), others=steps[1])
    return ""


def _median(lengths: tuple[int, ...]) -> int:
    return sorted(lengths)[(len(lengths) - 1) // 2] if lengths else 0
