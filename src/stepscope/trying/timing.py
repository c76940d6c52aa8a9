"""Time the steps of a run, or of two runs that take turns: one is stopped while the other goes on."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.trying.failures import reason_of
from stepscope.trying.job.report import STEPS, TrialReport
from stepscope.trying.job.settings import TrialSettings
from stepscope.trying.registry import modules
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.runs import OpenRun, RunResult, Workplace
from stepscope.trying.seen import Seen

#: Seconds between two looks at what processes have reported.
_LOOK_S: Final = 0.02
#: Timed steps without which a run says nothing.
FEWEST: Final = 5
#: Turns that each of two runs has at least; and how long one is, in seconds and steps, at least.
TURNS: Final = 6
_TURN_S: Final = 0.5
TURN_STEPS: Final = 4
#: Share of the time that a run is given without a step, from which on it hangs.
_STILL: Final = 0.25
#: Seconds that say enough of a run, however few steps they are.
_LONG_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class HowLong:
    """How long steps are timed.

    Attributes:
        steps: Steps at least.
        seconds: Seconds at least.
        limit_s: Seconds after which a run is taken to hang.
        turn_steps: Steps of a turn at least.
    """

    steps: int
    seconds: float
    limit_s: float
    turn_steps: int = TURN_STEPS


@dataclass(slots=True)
class Side:
    """A run that is being timed.

    Attributes:
        run: The run.
        remedies: What is applied.
        warmup: Steps that do not count.
        turns: When it was allowed to run since it was ready, as pairs of `time.perf_counter_ns`.
        hung: Whether it took too long.
        by_turns: Whether only what it did in turns counts: beside the other run its steps are none of its own.
    """

    run: OpenRun
    remedies: Sequence[OutsideRemedy]
    warmup: int
    turns: list[tuple[int, int]] = field(default_factory=list)
    hung: bool = False
    by_turns: bool = False

    def reports(self) -> list[TrialReport]:
        """What its ranks have reported."""
        return reports_in(self.run.reports)

    def is_ready(self) -> bool:
        """Whether all ranks have warmed up."""
        ready = [one for one in self.reports() if one.ready]
        return bool(ready) and len({one.rank for one in ready}) >= max(one.world for one in ready)

    def starts(self) -> list[NDArray[np.int64]]:
        """Where the counted steps of each rank start, in ns of the time that the run was allowed to run."""
        found = []
        for report in self.reports() if self.turns or not self.by_turns else ():
            with suppress(OSError):
                raw = (self.run.reports / f"{report.pid}{STEPS}").read_bytes()
                at = np.frombuffer(raw[: len(raw) // 8 * 8], "<i8").astype(np.int64)
                skipped = self.warmup if at.size > self.warmup + FEWEST else min(at.size // 3 + 1, self.warmup)
                found.append(allowed(at[skipped:], self.turns))
        return [one for one in found if one.size]

    def pause(self) -> None:
        """Stop all of its processes, those included that it has just started."""
        self.run.look()
        self.run.send(signal.SIGSTOP)

    def resume(self) -> None:
        """Let them go on."""
        self.run.send(signal.SIGCONT)


def timed_run(
    workplace: Workplace, remedies: Sequence[OutsideRemedy], settings: TrialSettings, how_long: HowLong, seen: Seen
) -> RunResult:
    """Run the program with remedies, and time its steps.

    Args:
        workplace: Where.
        remedies: What to apply.
        settings: What runs do.
        how_long: How much to time.
        seen: What an earlier run showed.
    """
    side = _started(workplace, remedies, settings, seen)
    try:
        _until(side, how_long, lambda: _is_enough(side, how_long))
        return _ended(side, side.run.status, how_long)
    finally:
        side.run.end()


def paired_runs(
    workplace: Workplace, remedies: Sequence[OutsideRemedy], settings: TrialSettings, how_long: HowLong, seen: Seen
) -> tuple[RunResult, RunResult]:
    """Run the program unchanged and with remedies by turns, so that what else the machine does concerns both alike.

    Both are started at once, and each is stopped as soon as it has warmed up.

    Returns:
        The unchanged run and the other; either is cut short where the other fails before its first turn.
    """
    sides: list[Side] = []
    try:
        for applied in ((), remedies):
            sides.append(_started(workplace, applied, settings, seen))
        base, new = sides
        _warm_up(sides, how_long)
        if not any(side.hung or side.run.is_over() for side in sides):
            _take_turns(base, new, how_long)
        # What one puts back the other must not write over.
        statuses = [side.run.status for side in sides]
        for side in sides:
            side.run.kill()
        for side in sides:
            side.by_turns = True
        return _ended(base, statuses[0], how_long), _ended(new, statuses[1], how_long)
    finally:
        for side in sides:
            side.run.kill()
        for side in sides:
            side.run.end()


def _warm_up(sides: Sequence[Side], how_long: HowLong) -> None:
    """Wait until all have warmed up, and have each stand still from then on."""
    waiting, since = list(sides), time.monotonic()
    while waiting and not any(side.run.is_over() for side in sides):
        for side in list(waiting):
            if side.is_ready():
                side.pause()
                waiting.remove(side)
        if time.monotonic() - since > how_long.limit_s:
            for side in waiting:
                side.hung = True
            return
        time.sleep(_LOOK_S)


def can_take_turns() -> bool:
    """Whether all processes of a run can be found, to stop them."""
    return Path("/proc/self/environ").exists()


def _take_turns(base: Side, new: Side, how_long: HowLong) -> None:
    """Let both run in the order A B B A, until either has shown enough or has ended."""
    number = 0
    until = time.monotonic() + how_long.limit_s
    while time.monotonic() < until:
        for side in (base, new) if number % 2 == 0 else (new, base):
            before = _count(side)
            start = time.perf_counter_ns()
            side.resume()
            _until(side, how_long, partial(_turn_is_over, side, start, before, how_long))
            side.pause()
            side.turns.append((start, time.perf_counter_ns()))
            if side.run.is_over() or side.hung:
                return
        number += 1
        if number >= TURNS and all(_is_enough(side, how_long) for side in (base, new)):
            return


def _turn_is_over(side: Side, start: int, before: int, how_long: HowLong) -> bool:
    return time.perf_counter_ns() - start >= _TURN_S * 1e9 and _count(side) - before >= how_long.turn_steps


def _count(side: Side) -> int:
    """Steps that its slowest rank has started."""
    sizes = [path.stat().st_size // 8 for path in side.run.reports.glob(f"*{STEPS}")]
    return min(sizes, default=0)


def _started(workplace: Workplace, remedies: Sequence[OutsideRemedy], settings: TrialSettings, seen: Seen) -> Side:
    name = "+".join(one.name for one in remedies) or "base"
    run = workplace.open(name[:60])
    variables: dict[str, str | None] = {}
    for one in remedies:
        variables |= one.variables(seen)
    asked = replace(
        settings, reports=str(run.reports), remedies=tuple(modules()[one.name] for one in remedies),
        seen=seen.to_json() if remedies else {},
    )  # fmt: skip
    run.start(asked, variables)
    return Side(run, remedies, settings.warmup)


def _until(side: Side, how_long: HowLong, reached: Callable[[], bool]) -> None:
    """Wait until something is reached, or the run has ended or hangs."""
    since = time.monotonic()
    while not reached() and not side.run.is_over():
        if time.monotonic() - since > how_long.limit_s:
            side.hung = True
            return
        time.sleep(_LOOK_S)


def _is_enough(side: Side, how_long: HowLong) -> bool:
    if not side.is_ready():
        return False
    starts = side.starts()
    counted = min((one.size - 1 for one in starts), default=0)
    if counted <= FEWEST:
        return False
    spent = float(min(one[-1] - one[0] for one in starts)) / 1e9
    return spent >= _LONG_S or (counted >= how_long.steps and spent >= how_long.seconds)


def _ended(side: Side, status: int | None, how_long: HowLong) -> RunResult:
    """End a run, and say what it showed; the status is that with which it ended by itself, if it did."""
    result = RunResult([one.name for one in side.remedies], linked=side.run.linked, seconds=side.run.seconds)
    outside = side.run.end()
    result.back, result.removed, result.lost = outside.back, outside.removed, outside.lost
    result.ended, result.hung = status == 0, side.hung
    _fill(result, side)
    if result.steps < FEWEST or status not in (None, 0) or _stands_still(side, how_long):
        result.step_ns = 0.0
        result.why = reason_of(side.run.output(), status, result.steps, how_long.limit_s if side.hung else None)
    return result


def _stands_still(side: Side, how_long: HowLong) -> bool:
    """Whether it took too long since no step has come for long, not since steps are slow."""
    last = 0
    for path in side.run.reports.glob(f"*{STEPS}"):
        raw = path.read_bytes()
        last = max(last, int.from_bytes(raw[len(raw) // 8 * 8 - 8 :][:8], "little") if len(raw) >= 8 else 0)
    return side.hung and time.perf_counter_ns() - last > how_long.limit_s * 1e9 * _STILL


def _fill(result: RunResult, side: Side) -> None:
    reports = side.reports()
    if not reports:
        return
    lengths = [np.diff(one) for one in side.starts()]
    lengths = [one for one in lengths if one.size]
    first = reports[0]
    result.steps = min((one.size for one in lengths), default=0)
    result.step_ns = fmean(float(one.mean()) for one in lengths) if lengths else 0.0
    result.source, result.ranks = first.source, max(one.world for one in reports)
    result.losses = [one.losses for one in reports]
    result.norms = [one.norms for one in reports]
    result.outputs = [one.outputs for one in reports]
    result.applied = sorted({name for one in reports for name in one.applied})
    result.peak_bytes = max(one.peak_bytes for one in reports)
    result.seen = first.seen.to_json()


def allowed(at: NDArray[np.int64], turns: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    """Moments on a clock that goes on in turns only; those before the first turn are left out, if there are turns.

    A step that was interrupted so has the length that it had in both turns together.
    """
    if not turns:
        return at
    start, end = (np.array(one, np.int64) for one in zip(*turns, strict=True))
    done = np.concatenate([[0], np.cumsum(end - start)])
    at = at[at >= start[0]]
    turn = np.searchsorted(start, at, side="right") - 1
    return np.asarray(done[turn] + np.minimum(at, end[turn]) - start[turn], np.int64)


def reports_in(folder: Path) -> list[TrialReport]:
    """What processes have reported, by rank; those that never started a step are left out where others did."""
    found = []
    for path in folder.glob("*.json"):
        with suppress(OSError, ValueError, TypeError, KeyError):
            found.append(TrialReport.read(path))
    stepping = [one for one in found if one.source]
    return sorted(stepping or found, key=lambda one: (one.rank, one.pid))
