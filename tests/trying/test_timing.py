"""Steps of runs that take turns, and why runs fail."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np
import pytest

from stepscope.trying import timing
from stepscope.trying.failures import CUT, reason_of
from stepscope.trying.job.clock import TrialClock
from stepscope.trying.job.report import TrialReport
from stepscope.trying.job.settings import TrialSettings
from stepscope.trying.registry import all_remedies
from stepscope.trying.runs import RunResult, TriedProgram, Workplace
from stepscope.trying.seen import Seen
from stepscope.trying.timing import HowLong, allowed, can_take_turns, paired_runs


def test_a_step_has_the_length_of_both_turns_that_it_lies_in() -> None:
    at = np.array([5, 12, 18, 43, 50, 58], np.int64)
    turns = [(10, 20), (40, 60)]
    # 12 to 18; 18 to the end of the turn at 20 and from 40 to 43; then as they are.
    assert np.diff(allowed(at, turns)).tolist() == [6, 5, 7, 8]
    assert allowed(at, []).tolist() == at.tolist()


def test_a_start_after_the_end_of_a_turn_lies_at_its_end() -> None:
    assert allowed(np.array([10, 22, 41]), [(10, 20), (40, 60)]).tolist() == [0, 10, 11]


@pytest.mark.parametrize(
    ("output", "status", "hung", "said"),
    [
        ("torch.OutOfMemoryError: out of memory. Tried", 1, None, "runs out of memory: torch.OutOf"),
        ("Traceback\n  File\nValueError: no such thing", 1, None, "ends with status 1: ValueError: no such thing"),
        ("[rank1]: RuntimeError: x\ntorch.distributed.elastic.ChildFailedError: ", 1, None, "RuntimeError: x"),
        ("", -9, None, "killed by SIGKILL, as the system does when memory runs out"),
        ("", -11, None, "killed by SIGSEGV"),
        ("", None, 90.0, "hangs: 3 steps were timed in 90 s"),
        ("", None, None, "cut short"),
        ("", 0, None, "the program ended after 3 timed steps"),
    ],
)  # fmt: skip
def test_reasons(output: str, status: int | None, hung: float | None, said: str) -> None:
    assert said in reason_of(output, status, 3, hung)


#: Reports steps of 2 ms as a program does that has imported torch.
STEPPING = """
import json, os, sys, time
settings = json.loads(os.environ["STEPSCOPE_TRY"])
name = os.path.join(settings["reports"], str(os.getpid()))
out = open(name + ".steps", "ab", buffering=0)
for number in range(int(sys.argv[1])):
    out.write(time.perf_counter_ns().to_bytes(8, "little"))
    if number == settings["warmup"]:
        with open(name, "w") as file:
            json.dump({"pid": os.getpid(), "source": "optimizer", "ready": True, "seen": {}}, file)
        os.rename(name, name + ".json")
    time.sleep(0.002)
"""


def pair(folder: Path, steps: int) -> tuple[RunResult, RunResult]:
    (folder / "work").mkdir()
    command = (sys.executable, "-c", STEPPING, str(steps))
    place = Workplace(folder / "out", TriedProgram(command, folder / "work", dict(os.environ)))
    settings = TrialSettings("", "", warmup=3)
    return paired_runs(place, [all_remedies()["gc-freeze"]], settings, HowLong(10, 0.05, 20.0), Seen())


@pytest.mark.skipif(not can_take_turns(), reason="needs /proc")
def test_two_programs_take_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "_TURN_S", 0.05)
    monkeypatch.setattr(timing, "TURNS", 2)
    for one in pair(tmp_path, 100_000):
        assert (one.why, one.ended, one.hung) == ("", False, False)
        assert one.steps >= 10
        assert one.step_ns >= 2e6


@pytest.mark.skipif(not can_take_turns(), reason="needs /proc")
def test_steps_of_a_run_that_had_no_turn_are_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Longer than the program.
    monkeypatch.setattr(timing, "_TURN_S", 15.0)
    base, new = pair(tmp_path, 400)
    assert (base.ended, new.why, new.steps) == (True, CUT, 0)


def test_steps_that_calls_of_a_model_start_go_on_after_the_warm_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("torch", "torch._C", "torch._C._dynamo"):
        monkeypatch.setitem(sys.modules, name, MagicMock())
    monkeypatch.setattr("stepscope.record.job.recorder.is_traced", lambda: False)
    said: list[TrialReport] = []
    clock = TrialClock(TrialSettings("", str(tmp_path), warmup=2), said.append, list)
    left: list[str] = []
    monkeypatch.setattr(clock.models, "leave", lambda: left.append(clock.loops.finder.source))
    for _ in range(6):
        clock.called("net")
    assert [(one.source, one.ready) for one in said] == [("model", True)]
    assert sum(path.stat().st_size // 8 for path in tmp_path.glob("*.steps")) == 6
    assert not left
