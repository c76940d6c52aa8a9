"""A trial: runs of the unchanged program and of remedies by turns, until it is clear what helps or the time is over."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Final

from stepscope.language import said
from stepscope.trying.candidates import RemedyCandidate, candidates
from stepscope.trying.failures import CUT
from stepscope.trying.options import TrialOptions
from stepscope.trying.phrases import not_held, pair_of, step_of, to_try
from stepscope.trying.plan import LOOKS, RunPlan, planned
from stepscope.trying.prices import shares
from stepscope.trying.reasons import LEAST
from stepscope.trying.recorded import recorded_run
from stepscope.trying.registry import all_remedies
from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.result import Tried, TriedRemedy
from stepscope.trying.runs import RunResult, Workplace, about_files
from stepscope.trying.seen import Seen
from stepscope.trying.state import TrialState
from stepscope.trying.timing import TURN_STEPS, HowLong, can_take_turns, paired_runs, timed_run
from stepscope.trying.verdicts import MeasuredSaving, measured
from stepscope.trying.writing import ToWrite, to_write

#: Seconds that a run may take at least, and how many times as long as the first; compilers may need long.
_LIMIT_S: Final = 90.0
_LIMIT_TIMES: Final = 4.0
_COMPILING_S: Final = 300.0
#: Of a trial's time, what is left for the combination.
_FOR_TOGETHER: Final = 0.2
#: Pairs that tell that numbers change, or that a remedy is hardly worth more of a short time.
_FEW_PAIRS: Final = 2
#: What is said where two programs can't be there at once, since both want the same port.
_IN_USE: Final = ("ddress already in use", "EADDRINUSE")
#: Number of the group of runs with one remedy each; those of combinations are numbered from the second on.
_ALONE: Final = 1
_TOGETHER: Final = 1000


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
        self._plan = RunPlan(options.settings.warmup, options.steps, TURN_STEPS)
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
        if recorded is not None:
            recorded.tell(seen)
        self._candidates = candidates(findings, seen, self._options.only, self._options.everything)
        fit = [one.remedy for one in self._candidates if not one.unfit]
        self._say(to_try(fit))
        reserve = self._options.seconds * _FOR_TOGETHER if len(fit) > 1 else 0.0
        left = self._until - reserve - time.monotonic()
        self._plan = planned(first, left, len(fit), self._options.settings.warmup, self._options.steps)
        self._alternate(_ALONE, [[one] for one in fit], self._until - reserve)
        if sum(self._measured(one.name).verdict == "helps" for one in fit) < 2:
            # There is nothing to combine.
            self._alternate(_ALONE, [[one] for one in fit], self._until)
        self._combine()
        self._finished = all(self._is_done(_ALONE, [one]) for one in fit)

    def result(self) -> Tried:
        """What is known by now."""
        base = [one for one in self._state.runs if not one.remedies and not one.why]
        means = [one.step_ns for one in base]
        found = Tried(
            self._state.command, self._state.folder, finished=self._finished, load=(*self._load, *_load()),
            notes=[*self._notes, *about_files(self._state.runs)],
        )  # fmt: skip
        recorded = self._state.recorded
        if recorded is not None:
            found.findings = recorded.findings
            if recorded.why:
                found.notes.append(said("no findings: the recorded run showed nothing ({why})", why=recorded.why))
        failed = next((one for one in self._state.runs if not one.remedies and one.why), None)
        if not base:
            if failed is not None:
                found.notes.append(said("the unchanged program could not be timed: {why}", why=failed.why))
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
            why = said("can't be applied: {why}", why=one.unfit)
            known = MeasuredSaving(None, None, None, round(base_ns), None, "failed", why)
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
        self._say(said("running the unchanged program"))
        limit = self._options.limit_s or max(_LIMIT_S, self._options.seconds)
        run = timed_run(
            self._workplace,
            (),
            self._options.settings,
            HowLong(self._options.steps, self._options.timed_s, limit),
            Seen(),
        )
        self._state.runs = [one for one in self._state.runs if one.group or one.remedies]
        self._state.add(run)
        if not run.why:
            self._say(step_of(run))
        return run

    def _record(self) -> None:
        if self._state.recorded is not None and not self._state.recorded.why:
            return
        self._say(said("recording a few steps"))
        settings, first = self._options.settings, self._state.of(0, [])[0]
        if first.ended:
            settings = replace(settings, warmup=min(settings.warmup, first.steps // 2))
        self._state.recorded = recorded_run(self._workplace, settings, self._limit([]))
        self._state.save()

    def _limit(self, remedies: Sequence[OutsideRemedy]) -> float:
        """Seconds after which a run is taken to hang."""
        if self._options.limit_s:
            return self._options.limit_s
        first = next((one.seconds for one in self._state.runs if not one.remedies and not one.why), 0.0)
        compiling = _COMPILING_S if any(one.model is not None for one in remedies) else 0.0
        return max(_LIMIT_S, _LIMIT_TIMES * first) + compiling

    def _alternate(self, group: int, sides: list[list[OutsideRemedy]], until: float) -> None:
        """Run the unchanged program and each side in pairs, until it is clear what to say or there is no more time.

        One side after the other, so that a time too short for all is enough for the first: fewer pairs than that tell
        nothing of any.
        """
        for goal in LOOKS:
            for at, side in enumerate(sides):
                if goal > LOOKS[0] and not self._of(group, side).undecided:
                    continue
                while len(self._of_side(group, side)) < goal and not self._is_settled(group, side):
                    if not self._has_time(until, side) or self._is_hopeless(group, side, sides[at + 1 :], until):
                        break
                    self._pair(group, side)

    def _pair(self, group: int, side: list[OutsideRemedy]) -> None:
        number = len(self._of_side(group, side))
        self._say(pair_of(side, number + 1, max(0.0, self._until - time.monotonic())))
        seen = self._state.of(0, [])[0].was_seen
        place, settings = self._workplace, replace(self._options.settings, warmup=self._plan.warmup)
        settings = replace(settings, warmup=settings.warmup + max(one.settles for one in side))
        limit = self._limit(side)
        # A few seconds beyond the end are better than none of what has been started.
        given = min(limit, max(30.0, self._until - time.monotonic()))
        how_long = HowLong(self._plan.steps, self._options.timed_s, given, self._plan.turn_steps)
        runs: list[RunResult] = []
        if self._takes_turns():
            runs = list(paired_runs(place, side, settings, how_long, seen))
            self._beside = not needs_to_be_alone(*runs)
        if not runs or not self._takes_turns():
            # Every other time the other one comes first.
            order: list[list[OutsideRemedy]] = [[], side] if number % 2 == 0 else [side, []]
            runs = [timed_run(place, one, settings, how_long, seen) for one in order]
        pair = 1 + max((one.pair for one in self._state.runs if one.group == group), default=-1)
        for run in sorted(runs, key=lambda one: len(one.remedies)):
            run.group, run.pair = group, pair
            if run.hung and run.why and given < limit:
                run.why = CUT
            self._state.runs.append(run)
        self._state.save()

    def _takes_turns(self) -> bool:
        """Whether two programs can be there at once.

        On a device both would need its memory; ranks meet at a port that the ranks of the other program would find; and
        a program that soon comes to its end does so in its first turn.
        """
        first = self._state.of(0, [])[0]
        alone = first.was_seen.device != "cpu" or first.ranks > 1 or first.ended
        return not alone and self._beside and can_take_turns()

    def _has_time(self, until: float, side: list[OutsideRemedy]) -> bool:
        return time.monotonic() + self._pair_s(side) <= until

    def _pair_s(self, side: list[OutsideRemedy]) -> float:
        """Seconds that a pair with these remedies takes, as far as is known."""
        names = [one.name for one in side]
        # The last: what has been compiled once is kept.
        mine = [one.seconds for one in self._state.runs if one.remedies == names][-1:]
        others = [one.seconds for one in self._state.runs if one.group]
        known = mine or others
        if not known:
            return 2 * self._state.of(0, [])[0].seconds
        return fmean(known) * (1 if self._takes_turns() else 2)

    def _is_hopeless(
        self, group: int, side: list[OutsideRemedy], later: list[list[OutsideRemedy]], until: float
    ) -> bool:
        """Whether the time is better spent on later ones, which it would be too short for: two pairs show no gain."""
        found = self._of(group, side)
        if found.runs < _FEW_PAIRS or (found.saved_ns or 0) > 0:
            return False
        lacking = [
            LOOKS[0] - len(self._of_side(group, one)) for one in (side, *later) if not self._is_settled(group, one)
        ]
        return time.monotonic() + sum(max(0, one) for one in lacking) * self._pair_s(side) > until

    def _is_done(self, group: int, side: list[OutsideRemedy]) -> bool:
        """Whether nothing was left out for lack of time."""
        found = self._of(group, side)
        return (
            self._is_settled(group, side)
            or (found.runs >= LOOKS[0] and not found.undecided)
            or (found.runs >= LOOKS[-1])
        )

    def _of_side(self, group: int, side: list[OutsideRemedy]) -> list[RunResult]:
        return self._state.of(group, [one.name for one in side])

    def _is_settled(self, group: int, side: list[OutsideRemedy]) -> bool:
        """Whether more runs would change nothing: it fails, or two pairs have shown that it changes numbers."""
        known = [one for one in self._of_side(group, side) if one.why != CUT]
        found = self._of(group, side)
        changes = found.verdict == "changes numbers" and found.runs >= _FEW_PAIRS
        return bool(known) and (found.verdict == "failed" or changes)

    def _of(self, group: int, side: list[OutsideRemedy]) -> MeasuredSaving:
        new = self._state.of(group, [one.name for one in side])
        pairs = {one.pair for one in new}
        base = [one for one in self._state.of(group, []) if one.pair in pairs]
        unchanged = [one for one in self._state.runs if not one.remedies and not one.why]
        return measured(base or self._state.of(0, []), new, side, unchanged)

    def _measured(self, name: str) -> MeasuredSaving:
        return self._of(_ALONE, [all_remedies()[name]])

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
            self._say(said("together: {names}", names=names))
            self._alternate(number, [side], self._until)
            found = self._of(number, side)
            if found.verdict == "helps" and _share(found) >= _share(best) - LEAST:
                self._together, self._combined = [one.name for one in side], found
                return
            self._notes.append(not_held(names, found))
            side = side[:-1]
        self._together, self._combined = [side[0].name], best


def needs_to_be_alone(base: RunResult, new: RunResult) -> bool:
    """Whether two runs that were there at once show that this can't be.

    Both want the same port or too much memory, or the program comes to its end within a turn, or the unchanged one,
    which ran alone, fails, since it stood for too long.
    """
    in_use = any(sign in one.why for one in (base, new) for sign in _IN_USE)
    too_short = any(one.ended for one in (base, new)) and bool(base.why or new.why)
    fails = base.why not in ("", CUT) and not base.hung
    return in_use or too_short or fails or "memory" in new.why


def _share(one: MeasuredSaving) -> float:
    return (one.saved_ns or 0) / max(1, one.base_ns or 1)


def _load() -> tuple[float, ...]:
    with suppress(OSError, AttributeError):
        return (round(os.getloadavg()[0], 2),)
    return ()


def new_folder() -> Path:
    """A folder named after the time."""
    return Path(time.strftime("stepscope-try-%Y%m%d-%H%M%S")).absolute()
