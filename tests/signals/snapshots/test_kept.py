"""Blocks of one line that are never freed, in histories without marked steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from readers.memsnapshot.snapshots import MIB, History, frame, snapshot, trace_of
from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.snapshots.kept import KeptBlocks, kept_again
from support import Facts

MODEL = [frame("forward", "/home/me/model.py", 7)]
LEAK = [frame("train_one_step", "/home/me/train.py", 12)]
G = 1 << 30


def rounds(
    folder: Path, number: int, *, between: int = 12, freed: int = 0, together: bool = False
) -> KeptBlocks | None:
    """Rounds that take a block and keep it, with blocks of the model between, which are freed."""
    folder.mkdir(exist_ok=True)
    history = History()
    for each in range(number):
        at = G * (1 + each * 100)
        for block in range(number) if together and not each else () if together else (0,):
            history.alloc(at + block * G // 4, 40 * MIB, frames=LEAK)
        for block in range(between):
            history.alloc(at + (50 + block) * (G // 64), MIB, frames=MODEL)
            history.free(at + (50 + block) * (G // 64), MIB)
        if each < freed:
            history.free(at, 40 * MIB)
    with trace_of(folder, snapshot([], history)) as trace:
        found: KeptBlocks | None = Signals.of(trace)(kept_again)
        return found


def test_three_blocks_at_even_distances_that_are_never_freed_are_kept(tmp_path: Path) -> None:
    found = rounds(tmp_path, 3)
    assert found is not None
    assert (found.place, found.count, found.bytes, found.each) == (
        "/home/me/train.py(12): train_one_step", 3, 120 * MIB, 40 * MIB,
    )  # fmt: skip
    assert rounds(tmp_path / "fewer", 2) is None


def test_a_line_that_gives_any_back_keeps_nothing(tmp_path: Path) -> None:
    assert rounds(tmp_path, 4, freed=1) is None


def test_parameters_that_are_made_one_after_the_other_are_no_growth(tmp_path: Path) -> None:
    assert rounds(tmp_path, 4, together=True) is None


def test_little_must_not_happen_in_between(tmp_path: Path) -> None:
    assert rounds(tmp_path, 3, between=9) is None
    assert rounds(tmp_path / "more", 3, between=10) is not None


def test_other_recordings_are_not_looked_at() -> None:
    facts = Facts()
    facts.kernel("k", 10, 5, launch=(0, 5))
    with pytest.raises(MissingInputError):
        Signals.of(facts.trace())(kept_again)
