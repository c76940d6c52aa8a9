"""Rounds of a snapshot without marked steps, each of which leaves something behind or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from readers.memsnapshot.snapshots import MIB, History, frame, snapshot, trace_of
from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.snapshots.rounds import Rising, rising
from support import Facts

MODEL = [frame("forward", "/home/me/model.py", 7)]
KEPT = [frame("train", "/home/me/train.py", 12)]
G = 1 << 30


def rounds(folder: Path, number: int, kept: int, layers: int = 4, returned: bool = True) -> Rising | None:
    """Weights; then rounds that take a block of 64 MiB per layer, keep a little, and give the blocks back."""
    folder.mkdir(exist_ok=True)
    history = History().alloc(0, 256 * MIB, frames=[frame("__init__", "/home/me/model.py", 3)])
    for each in range(number):
        at = G * (1 + each * (layers + 1))
        for layer in range(layers):
            history.alloc(at + layer * G, 64 * MIB, frames=MODEL)
        if kept:
            history.alloc(at + layers * G, kept, frames=KEPT)
        for layer in range(layers) if returned else ():
            history.free(at + layer * G, 64 * MIB)
    with trace_of(folder, snapshot([], history)) as trace:
        found: Rising | None = Signals.of(trace)(rising)
        return found


def test_the_stack_that_leaves_memory_behind_in_every_round_is_found(tmp_path: Path) -> None:
    found = rounds(tmp_path, 8, 4 * MIB)
    assert found is not None
    assert (found.place, found.per_round, found.rounds) == ("/home/me/train.py(12): train", 4 * MIB, 6)


def test_five_rounds_after_the_first_are_the_least(tmp_path: Path) -> None:
    assert rounds(tmp_path, 6, 4 * MIB) is None
    assert rounds(tmp_path / "more", 7, 4 * MIB) is not None


def test_rounds_that_return_everything_and_passes_that_return_nothing_are_none(tmp_path: Path) -> None:
    assert rounds(tmp_path, 8, 0) is None
    assert rounds(tmp_path / "growing", 8, 4 * MIB, returned=False) is None


def test_other_recordings_are_not_looked_at() -> None:
    facts = Facts()
    facts.kernel("k", 10, 5, launch=(0, 5))
    with pytest.raises(MissingInputError):
        Signals.of(facts.trace())(rising)
