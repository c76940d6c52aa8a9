from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.analyses.snapshots.memory_snapshot_layout import FreeLayout
from stepscope.model.errors import MissingInputError
from stepscope.signals.memory import memory
from stepscope.signals.snapshots import allocator, layout_at, peak_makeup, split_size

GIB = 1 << 30


def given(stranded: int, reserved: int = 32 * GIB, trains: bool | None = True) -> dict[object, object]:
    held = FreeLayout(reserved, stranded + GIB, GIB, GIB // 4)
    known = {} if trains is None else {peak_makeup.trains: trains}
    return {memory.snapshot: {"device": 0}, memory.failures: (), layout_at.fullest_layout: held, **known}


def test_memory_stranded_when_most_was_held_is_found() -> None:
    (draft,) = drafts("MEM003", given(8 * GIB))
    assert {"25.0 %", "8.00 GiB"} <= set(figures(draft.summary))
    assert "expandable_segments:True" in draft.actions[0].after
    assert draft.confidence == 0.8


def test_without_a_history_the_snapshot_has_one_moment_only() -> None:
    (draft,) = drafts("MEM003", given(8 * GIB, trains=None))
    assert draft.confidence == 0.5


def test_wording_without_a_history() -> None:
    (draft,) = drafts("MEM003", given(8 * GIB, trains=None))
    assert "at the moment of the snapshot" in draft.summary


def test_just_below_a_threshold_nothing_is_found() -> None:
    assert drafts("MEM003", given(8 * GIB - 1)) == []
    assert drafts("MEM003", given(GIB - 1, 2 * GIB)) == []
    assert len(drafts("MEM003", given(GIB, 2 * GIB))) == 1


@pytest.mark.parametrize(
    ("state", "settings"),
    [("off", ["expandable_segments:True", "max_split_size_mb:64", ""]), ("unsupported", ["max_split_size_mb:64", ""]),
     ("on", [""])],
)  # fmt: skip
def test_what_is_advised_is_what_the_platform_can_do(state: str, settings: list[str]) -> None:
    (draft,) = drafts("MEM003", {**given(8 * GIB), allocator.expandable: state, split_size.split_size_mb: 64})
    assert [action.after.partition("=")[2] for action in draft.actions] == settings


def test_an_allocation_that_failed_with_enough_free_is_found() -> None:
    failed = {"ts": 1, "verdict": "fragmentation", "requested_bytes": GIB, "free_bytes": 5 * GIB,
              "largest_free_bytes": GIB // 2}  # fmt: skip
    (draft,) = drafts("MEM003", {memory.failures: (failed,), allocator.variable: "PYTORCH_NPU_ALLOC_CONF"})
    assert {"1.00 GiB", "5.00 GiB"} <= set(figures(draft.summary))
    assert "PYTORCH_NPU_ALLOC_CONF" in draft.actions[0].after


def test_without_a_snapshot_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("MEM003", {memory.failures: ()})


def _steps(held: list[int], used: list[int]) -> dict[object, object]:
    told = memory.Reserve(0, np.array(held) << 20, np.array(used) << 20)
    return {memory.reserves: (told,), memory.failures: ()}


def test_an_allocator_that_holds_more_and_more_for_the_same_use() -> None:
    held = [1000 + 128 * (step // 3) for step in range(12)]
    (draft,) = drafts("MEM003", _steps(held, [900, 910] * 6))
    assert {"12", "384 MiB", "1.35 GiB", "910 MiB"} <= set(figures(draft.summary))
    assert "expandable_segments:True" in draft.actions[0].after


@pytest.mark.parametrize(
    ("held", "used"),
    [
        ([1000 + 128 * (step // 3) for step in range(11)], [900] * 11),
        ([1000 + 85 * (step // 3) for step in range(12)], [900] * 12),
        ([1000 + 128 * (step // 3) for step in range(12)], [900 + step for step in range(12)]),
        ([1000] * 6 + [1600] * 6, [900] * 12),
    ],
)
def test_growth_that_settles_or_serves_more_use_is_none(held: list[int], used: list[int]) -> None:
    with pytest.raises(MissingInputError):
        drafts("MEM003", _steps(held, used))
