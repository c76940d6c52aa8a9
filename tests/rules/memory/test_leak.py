from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from memory_support import driver_calls
from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.memory import driver_memory, memory
from stepscope.signals.memory.memory import Growth
from stepscope.signals.shared.job import infers
from stepscope.signals.shared.program import generates
from stepscope.signals.snapshots.kept import KeptBlocks, kept_again
from stepscope.signals.snapshots.rounds import Rising, rising

MIB = 1 << 20


def given(levels: Sequence[float]) -> dict[object, object]:
    bytes_ = np.array([int(level * MIB) for level in levels], np.int64)
    return {memory.growth: (Growth(0, bytes_, np.arange(bytes_.size)),)}


def test_a_level_that_rises_with_every_step_is_found() -> None:
    (draft,) = drafts("MEM006", given([100, 124, 148, 172]))
    assert {"24.0 MiB", "4", "72.0 MiB"} <= set(figures(draft.summary))
    assert ".detach()" in draft.actions[0].after


@pytest.mark.parametrize(
    ("left", "trains", "fate"),
    [(20_000 * 24 - 1, True, "will fail"), (20_000 * 24, True, ""), (9, False, ""), (None, True, "will fail")],
)
def test_what_fills_the_device_within_a_training_comes_first(left: int | None, trains: bool, fate: str) -> None:
    facts = {**given([100, 124, 148, 172]), infers: not trains}
    if left is not None:
        facts[memory.fullest] = memory.Peak(0, 172 * MIB, False, None, (172 + left) * MIB, None)
    (draft,) = drafts("MEM006", facts)
    assert draft.fate == fate


@pytest.mark.parametrize(("tokens", "sure"), [(True, 0.4), (False, 0.9)])
def test_a_cache_that_generation_grows_may_be_meant(tokens: bool, sure: float) -> None:
    facts = {**given([100, 124, 148, 172]), infers: True, generates: tokens}
    (draft,) = drafts("MEM006", facts)
    assert draft.confidence == sure
    assert drafts("MEM006", {**facts, infers: False})[0].confidence == 0.9
    assert any(".cpu()" in action.after for action in draft.actions)


def test_a_level_that_stays_or_falls_once_is_not() -> None:
    assert drafts("MEM006", given([100, 124, 124, 172])) == []
    assert drafts("MEM006", given([100, 100, 100, 100])) == []


def test_what_leaks_in_some_steps_rises_from_quarter_to_quarter() -> None:
    # Every third step leaves 9 MiB; batches differ by 1 MiB.
    slow = [100 + 9 * (step // 3) + step % 2 for step in range(12)]
    (draft,) = drafts("MEM006", given(slow))
    assert {"12", "28.0 MiB", "2.55 MiB"} <= set(figures(draft.summary))
    assert drafts("MEM006", given(slow[:11])) == []
    assert drafts("MEM006", given([*slow[:9], 100, 101, 100])) == []
    assert drafts("MEM006", given([100 + 2 * (step // 3) + step % 2 for step in range(12)])) == []


def test_of_a_program_without_a_device_the_memory_of_the_host_is_looked_at() -> None:
    rising_, level = (given(levels)[memory.growth] for levels in ([100, 124, 148, 172], [100, 124, 124, 172]))
    (draft,) = drafts("MEM006", {memory.growth: (), memory.host_growth: _on_host(rising_), infers: False})
    assert {"24.0 MiB", "4", "72.0 MiB"} <= set(figures(draft.summary))
    assert draft.fate == ""
    assert not any("_snapshot" in action.after for action in draft.actions)
    assert drafts("MEM006", {memory.growth: (), memory.host_growth: _on_host(level)}) == []
    with pytest.raises(MissingInputError):
        drafts("MEM006", {memory.growth: None})


def _on_host(found: object) -> tuple[Growth, ...]:
    assert isinstance(found, tuple)
    return tuple(Growth(None, one.levels, one.starts) for one in found)


def test_three_rises_of_a_mebibyte_are_the_least() -> None:
    assert drafts("MEM006", given([100, 124, 148])) == []
    assert drafts("MEM006", given([1, 1.9, 2.9, 3.9])) == []
    assert len(drafts("MEM006", given([1, 2, 3, 4]))) == 1


def test_a_snapshot_names_who_keeps_it() -> None:
    row = {"place": "train.py(12): loop", "bytes_per_step": 3 * MIB, "bytes": 30 * MIB, "stack": 4}
    (draft,) = drafts("MEM006", {memory.unreturned: (row,)})
    assert figures(draft.summary) == ["3.00 MiB", "30.0 MiB", "train.py(12)"]


def test_blocks_of_one_line_that_are_never_freed_are_told_without_steps_by_its_wording() -> None:
    blocks = KeptBlocks("train.py(12): loop", 4, 3, 120 * MIB, 40 * MIB)
    (draft,) = drafts("MEM006", {memory.unreturned: (), rising: None, kept_again: blocks})
    assert {"40.0 MiB", "3", "120 MiB", "train.py(12)"} <= set(figures(draft.summary))
    assert "if these are rounds" in draft.summary
    small = KeptBlocks("train.py(12): loop", 4, 3, 3 * (MIB - 1), MIB - 1)
    assert drafts("MEM006", {memory.unreturned: (), rising: None, kept_again: small}) == []


def test_a_snapshot_without_steps_tells_of_rounds_and_claims_no_more() -> None:
    (draft,) = drafts("MEM006", {memory.unreturned: (), rising: Rising("train.py(12): loop", 4, 3 * MIB, 6)})
    assert {"3.00 MiB"} <= set(figures(draft.summary))
    assert {"6"} <= set(figures(draft.summary))
    assert draft.fate == ""
    assert drafts("MEM006", {memory.unreturned: (), rising: Rising("f", 4, MIB - 1, 6)}) == []
    assert drafts("MEM006", {memory.unreturned: (), rising: None}) == []


def test_a_number_kept_from_each_step_is_none() -> None:
    row = {"place": "train.py(12): loop", "bytes_per_step": MIB - 1, "bytes": 30 * MIB, "stack": 4}
    assert drafts("MEM006", {memory.unreturned: (row,)}) == []
    assert drafts("MEM006", {memory.unreturned: ({**row, "bytes_per_step": None},)}) == []


def test_memory_taken_in_every_step_is_a_hint_where_allocations_are_not_recorded() -> None:
    calls = {driver_memory.driver_calls: driver_calls(5, "t", in_operator=(True,)), memory.same_sizes: None}
    (draft,) = drafts("MEM006", calls)
    assert draft.confidence == 0.5
    assert drafts("MEM006", {**calls, driver_memory.driver_calls: driver_calls(5)}) == []
    assert drafts("MEM006", {**calls, driver_memory.driver_calls: driver_calls(3, "t", in_operator=(True,))}) == []
    assert drafts("MEM006", {**calls, memory.same_sizes: 1.0}) == []


def test_without_any_of_them_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("MEM006", {})
