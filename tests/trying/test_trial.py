"""How a trial shares its time out, with made-up runs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from stepscope.trying import trial as trials
from stepscope.trying.failures import CUT
from stepscope.trying.options import TrialOptions
from stepscope.trying.plan import RunPlan, planned
from stepscope.trying.recorded import NamedFinding, RecordedRun
from stepscope.trying.runs import RunResult, TriedProgram, Workplace
from stepscope.trying.seen import Constructed, Seen
from stepscope.trying.state import opened
from stepscope.trying.trial import Trial, needs_to_be_alone
from trying_support import run

LOADER = Constructed("DataLoader", "loader", "t.py", 3, {"num_workers": 0}, {}, {"iterable": False})
ADAM = Constructed("Adam", "optimizer", "t.py", 4, {"fused": None, "foreach": None})
FINDINGS = [NamedFinding("DAT001", "", 0.5, True), NamedFinding("HST008", "", 0.1, True)]
#: The remedies that these name, the most promising first.
NAMES = ["loader-workers", "foreach-optimizer", "fused-optimizer"]


class Runs:
    """Stands for runs: each takes so long, and shows so long steps; the time is its own."""

    def __init__(self, seconds: float, steps: dict[str, float], ends: bool = False) -> None:
        self.now, self.seconds, self.steps, self.ends = 0.0, seconds, steps, ends
        self.done: list[tuple[str, ...]] = []

    def monotonic(self) -> float:
        return self.now

    def one(self, *names: str) -> RunResult:
        found = run(self.steps.get("+".join(names), 100e6) + len(self.done) % 3 * 1e5, *names)
        found.seconds = self.seconds
        return found

    def timed(self, _place: Any, side: Sequence[Any], *_: Any) -> RunResult:
        self.now += self.seconds
        names = tuple(one.name for one in side)
        self.done.append(names)
        return self.one(*names)

    def paired(self, _place: Any, side: Sequence[Any], *_: Any) -> tuple[RunResult, RunResult]:
        self.now += self.seconds
        names = tuple(one.name for one in side)
        self.done.append(names)
        base, new = self.one(), self.one(*names)
        if self.ends:
            base.ended, new.why = True, CUT
        return base, new


def carried_out(folder: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch, seconds: float = 600.0) -> Trial:
    monkeypatch.setattr(trials, "timed_run", runs.timed)
    monkeypatch.setattr(trials, "paired_runs", runs.paired)
    monkeypatch.setattr(trials, "can_take_turns", lambda: True)
    monkeypatch.setattr(time, "monotonic", runs.monotonic)
    state = opened(folder, ["program"], folder)
    if not state.runs:
        first = run(100e6)
        first.group, first.seconds = 0, 8.0
        first.seen = Seen(cores=2, threads=2, constructed=[LOADER, ADAM]).to_json()
        state.runs, state.recorded = [first], RecordedRun(FINDINGS)
        state.save()
    place = Workplace(folder, TriedProgram(("program",), folder, {}))
    found = Trial(place, state, TrialOptions(seconds), lambda _: None)
    found.run()
    return found


def verdicts(trial: Trial) -> dict[str, tuple[str, int]]:
    return {one.name: (one.measured.verdict, one.measured.runs) for one in trial.result().remedies}


def test_a_time_that_is_too_short_for_all_is_enough_for_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = carried_out(tmp_path / "o", Runs(110.0, {NAMES[0]: 50e6}), monkeypatch)
    assert verdicts(found) == {NAMES[0]: ("helps", 4), NAMES[1]: ("no gain", 1), NAMES[2]: ("failed", 0)}
    result = found.result()
    assert (result.together, result.finished) == ([NAMES[0]], False)
    assert "time was over" in result.remedies[2].measured.why


def test_what_is_no_gain_leaves_its_time_to_later_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = carried_out(tmp_path / "o", Runs(55.0, {NAMES[0]: 110e6, NAMES[1]: 50e6}), monkeypatch)
    assert verdicts(found) == {NAMES[0]: ("no gain", 2), NAMES[1]: ("helps", 4), NAMES[2]: ("no gain", 4)}


def test_enough_time_gives_each_its_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(15.0, {NAMES[0]: 50e6, NAMES[2]: 80e6, f"{NAMES[0]}+{NAMES[2]}": 30e6})
    found = carried_out(tmp_path / "o", runs, monkeypatch)
    assert verdicts(found) == {NAMES[0]: ("helps", 4), NAMES[1]: ("no gain", 4), NAMES[2]: ("helps", 4)}
    assert (found.result().together, found.result().finished) == ([NAMES[0], NAMES[2]], True)


def test_a_program_that_ends_in_its_first_turn_is_run_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(10.0, {NAMES[0]: 50e6}, ends=True)
    found = carried_out(tmp_path / "o", runs, monkeypatch)
    assert verdicts(found)[NAMES[0]] == ("helps", 4)
    # A pair that was of no use, and then runs one by one in changing order.
    assert runs.done[:6] == [(NAMES[0],), (), (NAMES[0],), (NAMES[0],), (), ()]


@pytest.mark.parametrize(
    ("base", "new", "ended", "alone"),
    [
        ("", "", False, False),
        ("", "", True, False),
        ("", CUT, True, True),
        (CUT, "ends with status 1: ValueError: no", False, False),
        ("ends with status 1: RuntimeError: DataLoader timed out", CUT, False, True),
        (CUT, "runs out of memory", False, True),
        (CUT, "ends with status 1: OSError: Address already in use", False, True),
    ],
)
def test_what_can_not_be_there_at_once_is_run_alone(base: str, new: str, ended: bool, alone: bool) -> None:
    before, after = run(100e6, why=base), run(100e6, "gc-freeze", why=new)
    before.ended = ended
    assert needs_to_be_alone(before, after) is alone


def test_pairs_of_a_later_call_have_numbers_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    carried_out(tmp_path / "o", Runs(80.0, {NAMES[0]: 50e6}), monkeypatch)
    carried_out(tmp_path / "o", Runs(20.0, {NAMES[0]: 50e6}), monkeypatch)
    pairs = [one.pair for one in opened(tmp_path / "o", ["program"], tmp_path / "o").runs if one.group == 1]
    assert len(pairs) == 2 * len(set(pairs))


@pytest.mark.parametrize(
    ("step_ns", "seconds", "expected"),
    [
        (20e6, 6.0, RunPlan(10, 20, 4)),
        (100e6, 9.0, RunPlan(10, 20, 4)),
        # 480 s for twelve pairs are 40 s each, of which 7.5 s are the start.
        (1e9, 45.0, RunPlan(5, 11, 2)),
        (2e9, 85.0, RunPlan(3, 6, 1)),
        (20e9, 800.0, RunPlan(3, 6, 1)),
    ],
)
def test_long_steps_are_fewer(step_ns: float, seconds: float, expected: RunPlan) -> None:
    first = RunResult([], step_ns=step_ns, steps=int((seconds - 5) * 1e9 / step_ns) - 10, seconds=seconds)
    found = planned(first, 480.0, 3, 10, 20)
    assert found == expected
