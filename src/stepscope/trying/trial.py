"""A trial: runs of the unchanged program and of remedies by turns, until it is clear what helps or the time is over."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from typing import Final

from stepscope.model.amounts import duration, plural
from stepscope.trying.candidates import RemedyCandidate, candidates
from stepscope.trying.job.settings import TrialSettings
from stepscope.trying.prices import shares
from stepscope.trying.recorded import recorded_run
from stepscope.trying.registry import all_remedies
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.result import Tried, TriedRemedy
from stepscope.trying.runs import RunResult, Workplace
from stepscope.trying.seen import Seen
from stepscope.trying.state import TrialState
from stepscope.trying.timing import HowLong, can_take_turns, paired_runs, timed_run
from stepscope.trying.verdicts import LEAST, MeasuredSaving, measured
from stepscope.trying.writing import ToWrite, to_write

#: Remedies that are alternated with the same runs of the unchanged program.
_GROUP: Final = 4
#: Pairs of runs, and how many there may be where a gain is possible but not sure.
_ROUNDS: Final = 4
_MOST_ROUNDS: Final = 8
#: Seconds that a run may take at least, and how many times as long as the first; compilers may need long.
_LIMIT_S: Final = 90.0
_LIMIT_TIMES: Final = 4.0
_COMPILING_S: Final = 300.0
#: Of a trial's time, what is left for the combination.
_FOR_TOGETHER: Final = 0.2
#: What is said where two programs can't be there at once, since both want the same port.
_IN_USE: Final = ("ddress already in use", "EADDRINUSE")
#: Groups of combinations are numbered from here.
_TOGETHER: Final = 1000


@dataclass(frozen=True, slots=True)
class TrialOptions:
    """What is to be tried.

    Attributes:
        seconds: How long all of it may take.
        only: Names of remedies; empty for those whose finding fired.
        everything: Try all that fit.
        limit_s: Seconds after which a run is taken to hang; 0 for what follows from the first run.
        steps: Steps to time of each run at least.
        timed_s: Seconds to time of each run at least.
        settings: What runs do.
        prices: MeasuredSaving prices of earlier trials.
    """

    seconds: float = 600.0
    only: tuple[str, ...] = ()
    everything: bool = False
    limit_s: float = 0.0
    steps: int = 20
    timed_s: float = 2.0
    settings: TrialSettings = field(default_factory=lambda: TrialSettings("", ""))
    prices: tuple[dict[str, object], ...] = ()


class Trial:
    """Carries a trial out; what it has found so far can be asked for at any time.

    Args:
        workplace: Where it runs.
        state: What was done before, and what is done.
        options: What to try.
        say: Told of progress, a phrase.
    """

    def __init__(
        self, workplace: Workplace, state: TrialState, options: TrialOptions, say: Callable[[str], None]
    ) -> None:
        self._workplace = workplace
        self._state = state
        self._options = options
        self._say = say
        self._until = time.monotonic() + options.seconds
        self._load = _load()
        self._candidates: list[RemedyCandidate] = []
        self._groups: dict[str, int] = {}
        self._numbers: dict[str, int] = {}
        self._beside = True
        self._together: list[str] = []
        self._combined: MeasuredSaving | None = None
        self._notes: list[str] = []
        self._finished = False

    def run(self) -> None:
        """Do all of it; what can't be done in time is left out."""
        first = self._first()
        if first.why:
            self._finished = True
            return
        self._record()
        recorded = self._state.recorded
        findings = recorded.findings if recorded is not None else []
        seen = first.was_seen
        seen.small_operators = recorded.small_operators if recorded is not None else 0
        self._candidates = candidates(findings, seen, self._options.only, self._options.everything)
        fit = [one.remedy for one in self._candidates if not one.unfit]
        self._say(f"{plural(len(fit), 'remedy', 'remedies')} to try: {', '.join(one.name for one in fit) or 'none'}")
        reserve = self._options.seconds * _FOR_TOGETHER if len(fit) > 1 else 0.0
        groups = [fit[at : at + _GROUP] for at in range(0, len(fit), _GROUP)]
        for number, group in enumerate(groups, 1):
            self._groups |= {one.name: number for one in group}
        for number, group in enumerate(groups, 1):
            self._alternate(number, [[one] for one in group], self._until - reserve)
        self._combine()
        self._finished = all(self._measured(one.name).runs or self._has_failed(one.name) for one in fit)

    def result(self) -> Tried:
        """What is known by now."""
        base = [one for one in self._state.runs if not one.remedies and not one.why]
        means = [one.step_ns for one in base]
        found = Tried(
            self._state.command, self._state.folder, finished=self._finished, load=(*self._load, *_load()),
            notes=[*self._notes, *self._about_files()],
        )  # fmt: skip
        recorded = self._state.recorded
        if recorded is not None:
            found.findings = recorded.findings
            if recorded.why:
                found.notes.append(f"no findings: the recorded run showed nothing ({recorded.why})")
        failed = next((one for one in self._state.runs if not one.remedies and one.why), None)
        if not base:
            if failed is not None:
                found.notes.append(f"the unchanged program could not be timed: {failed.why}")
            return found
        seen = base[0].was_seen
        found.base_ns, found.base_runs = round(fmean(means)), len(base)
        found.base_steps = min(one.steps for one in base)
        found.base_spread = stdev(means) / fmean(means) if len(means) > 1 else None
        found.source, found.ranks, found.device, found.cores = base[0].source, base[0].ranks, seen.device, seen.cores
        found.remedies = [self._tried(one, fmean(means), seen) for one in self._candidates]
        found.together, found.combined = self._together, self._combined
        found.write = [one.write for name in self._together for one in found.remedies if one.name == name]
        return found

    def _tried(self, one: RemedyCandidate, base_ns: float, seen: Seen) -> TriedRemedy:
        name = one.remedy.name
        if one.unfit:
            known = MeasuredSaving(None, None, None, round(base_ns), None, "failed", f"can't be applied: {one.unfit}")
        else:
            known = self._measured(name)
        predicted = round(one.share * base_ns) if one.share is not None else None
        return TriedRemedy(
            name, one.remedy.title, one.rule, predicted, known, self._write(one.remedy, seen),
            shares(list(self._options.prices), name, one.rule, seen.device),
        )  # fmt: skip

    def _write(self, remedy: OutsideRemedy, seen: Seen) -> ToWrite:
        runs = [one for one in self._state.runs if remedy.name in one.applied and one.seen]
        if not runs:
            return ToWrite(remedy.name, ())
        alone = next((one for one in runs if one.remedies == [remedy.name]), runs[0])
        return to_write(remedy, seen, alone.was_seen, self._workplace.folder / "runs", self._workplace.program.working)

    def _first(self) -> RunResult:
        """The first run of the unchanged program, which later ones are planned by."""
        known = self._state.of(0, [])
        if known and not known[0].why:
            return known[0]
        self._say("running the unchanged program")
        limit = self._options.limit_s or max(_LIMIT_S, self._options.seconds)
        run = timed_run(self._workplace, (), self._options.settings, self._how_long(limit), Seen())
        self._state.runs = [one for one in self._state.runs if one.group or one.remedies]
        self._state.add(run)
        if not run.why:
            self._say(f"step {duration(round(run.step_ns))}, mean of {run.steps} ({run.seconds:.0f} s)")
        return run

    def _record(self) -> None:
        if self._state.recorded is not None and not self._state.recorded.why:
            return
        self._say("recording a few steps")
        self._state.recorded = recorded_run(self._workplace, self._options.settings, self._limit([]))
        self._state.save()

    def _limit(self, remedies: Sequence[OutsideRemedy]) -> float:
        """Seconds after which a run is taken to hang."""
        if self._options.limit_s:
            return self._options.limit_s
        first = next((one.seconds for one in self._state.runs if not one.remedies and not one.why), 0.0)
        compiling = _COMPILING_S if any(one.model is not None for one in remedies) else 0.0
        return max(_LIMIT_S, _LIMIT_TIMES * first) + compiling

    def _alternate(self, group: int, sides: list[list[OutsideRemedy]], until: float) -> None:
        """Run the unchanged program and each side in pairs, until it is clear what to say or there is no more time."""
        live = list(sides)
        for number in range(_MOST_ROUNDS):
            if number >= _ROUNDS:
                live = [one for one in live if self._of(group, one).undecided]
            for side in live:
                names = [one.name for one in side]
                if len(self._state.of(group, names)) > number:
                    continue
                if not self._has_time(until, side):
                    return
                self._pair(group, side, number)
            live = [one for one in live if not self._is_settled(group, one)]

    def _pair(self, group: int, side: list[OutsideRemedy], number: int) -> None:
        names = [one.name for one in side]
        left = max(0.0, self._until - time.monotonic())
        self._say(f"{' + '.join(names)}, pair {number + 1} ({left / 60:.0f} min left)")
        seen = self._state.of(0, [])[0].was_seen
        place, settings = self._workplace, self._options.settings
        how_long = self._how_long(min(self._limit(side), max(30.0, self._until - time.monotonic())))
        runs: list[RunResult] = []
        if self._takes_turns():
            runs = list(paired_runs(place, side, settings, how_long, seen))
            if any(sign in one.why for one in runs for sign in _IN_USE):
                self._beside = False
        if not runs or not self._takes_turns():
            # Every other time the other one comes first.
            order: list[list[OutsideRemedy]] = [[], side] if number % 2 == 0 else [side, []]
            runs = [timed_run(place, one, settings, how_long, seen) for one in order]
        for run in sorted(runs, key=lambda one: len(one.remedies)):
            run.group, run.pair = group, 10 * self._number(names) + number
            self._state.runs.append(run)
        self._state.save()

    def _takes_turns(self) -> bool:
        """Whether two programs can be there at once.

        On a device both would need its memory; and ranks meet at a port that the ranks of the other program would find.
        """
        first = self._state.of(0, [])[0]
        return first.was_seen.device == "cpu" and first.ranks == 1 and self._beside and can_take_turns()

    def _number(self, names: list[str]) -> int:
        """A number for remedies that are applied together."""
        return self._numbers.setdefault("+".join(names), len(self._numbers))

    def _how_long(self, limit_s: float) -> HowLong:
        return HowLong(self._options.steps, self._options.timed_s, limit_s)

    def _has_time(self, until: float, side: list[OutsideRemedy]) -> bool:
        names = [one.name for one in side]
        known = [one.seconds for one in self._state.runs if one.remedies == names] or [
            one.seconds for one in self._state.runs if not one.remedies
        ]
        return time.monotonic() + 2 * fmean(known) <= until

    def _is_settled(self, group: int, side: list[OutsideRemedy]) -> bool:
        """Whether more runs would change nothing: it fails, or changes numbers."""
        return self._of(group, side).verdict in ("failed", "changes numbers")

    def _of(self, group: int, side: list[OutsideRemedy]) -> MeasuredSaving:
        new = self._state.of(group, [one.name for one in side])
        pairs = {one.pair for one in new}
        base = [one for one in self._state.of(group, []) if one.pair in pairs]
        return measured(base or self._state.of(0, []), new, side)

    def _measured(self, name: str) -> MeasuredSaving:
        return self._of(self._groups.get(name, 0), [all_remedies()[name]])

    def _has_failed(self, name: str) -> bool:
        return self._measured(name).verdict == "failed"

    def _combine(self) -> None:
        """Measure what helps together; without its weakest part where that is no better than the best alone."""
        helping = [
            (found, one.remedy)
            for one in self._candidates
            if not one.unfit and (found := self._measured(one.remedy.name)).verdict == "helps"
        ]
        helping.sort(key=lambda pair: -(pair[0].saved_ns or 0) / max(1, pair[0].base_ns or 1))
        side: list[OutsideRemedy] = []
        for _, remedy in helping:
            if not any(remedy.name in one.excludes or one.name in remedy.excludes for one in side):
                side.append(remedy)
        if not side:
            return
        best = helping[0][0]
        number = _TOGETHER
        while len(side) > 1:
            number += 1
            names = " + ".join(one.name for one in side)
            self._say(f"together: {names}")
            self._alternate(number, [side], self._until)
            found = self._of(number, side)
            if found.verdict == "helps" and _share(found) >= _share(best) - LEAST:
                self._together, self._combined = [one.name for one in side], found
                return
            self._notes.append(f"together, {names} did not hold ({found.verdict}: {found.why})")
            side = side[:-1]
        self._together, self._combined = [side[0].name], best

    def _about_files(self) -> list[str]:
        """What runs wrote outside of their folders, and what their folders are."""
        runs = self._state.runs
        said = []
        for what, files in (
            ("written outside of the scratch folders and put back", sorted({one for run in runs for one in run.back})),
            ("made outside of the scratch folders and removed", sorted({one for run in runs for one in run.removed})),
            ("written and could NOT be put back", sorted({one for run in runs for one in run.lost})),
        ):
            if files:
                said.append(f"{plural(len(files), 'file')} {what}: {', '.join(files[:3])}{' ...' if files[3:] else ''}")
        return said


def _share(one: MeasuredSaving) -> float:
    return (one.saved_ns or 0) / max(1, one.base_ns or 1)


def _load() -> tuple[float, ...]:
    with suppress(OSError, AttributeError):
        return (round(os.getloadavg()[0], 2),)
    return ()


def new_folder() -> Path:
    """A folder named after the time."""
    return Path(time.strftime("stepscope-try-%Y%m%d-%H%M%S")).absolute()
