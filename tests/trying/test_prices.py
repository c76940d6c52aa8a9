"""Prices that are kept: those of other trials are shown, and a trial that goes on counts once."""

from __future__ import annotations

from pathlib import Path

from stepscope.trying.prices import keep, kept, shares
from stepscope.trying.result import Tried, TriedRemedy
from stepscope.trying.state import opened
from stepscope.trying.verdicts import MeasuredSaving
from stepscope.trying.writing import ToWrite


def tried(saved_ns: int | None) -> Tried:
    known = MeasuredSaving(saved_ns, saved_ns, saved_ns, 100, 50, "helps", "")
    one = TriedRemedy("loader-workers", "", "DAT001", 40, known, ToWrite("loader-workers", ()))
    return Tried(["a"], Path("/o"), device="cpu", remedies=[one])


def known(path: Path, mark: str) -> tuple[float, ...]:
    return shares(kept(path, mark), "loader-workers", "DAT001", "cpu")


def test_a_trial_that_goes_on_counts_once_and_not_as_an_earlier_one(tmp_path: Path) -> None:
    path = tmp_path / "stepscope" / "prices.jsonl"
    keep(tried(20), path, "a")
    assert known(path, "a") == ()
    keep(tried(30), path, "a")
    keep(tried(40), path, "b")
    assert (known(path, "b"), known(path, "c")) == ((0.75,), (0.75, 1.0))
    keep(tried(None), path, "c")
    assert len(kept(path)) == 2


def test_lines_of_trials_without_a_mark_and_broken_ones(tmp_path: Path) -> None:
    path = tmp_path / "prices.jsonl"
    path.write_text(
        '{"name": "loader-workers", "rule": "DAT001", "device": "cpu", "predicted_ns": 2, "measured_ns": 1}\n{'
    )
    assert known(path, "") == known(path, "a") == (0.5,)
    keep(tried(40), path, "a")
    assert known(path, "b") == (0.5, 1.0)


def test_the_mark_of_a_trial_is_kept_with_it(tmp_path: Path) -> None:
    first = opened(tmp_path / "one", ["a"], tmp_path).mark
    assert opened(tmp_path / "one", ["a"], tmp_path).mark == first
    assert opened(tmp_path / "two", ["a"], tmp_path).mark != first
