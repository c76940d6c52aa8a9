from __future__ import annotations

import pytest

from rule_support import drafts, figures
from rules.memory.makeups import GIB, makeup
from stepscope.model.errors import MissingInputError
from stepscope.signals.memory import memory
from stepscope.signals.snapshots import peak_makeup


def given(active: int, reserved: int = 100 * GIB, trains: bool | None = None) -> dict[object, object]:
    row = {"device": 0, "active_bytes": active, "reserved_bytes": reserved, "inactive_bytes": reserved - active}
    known = {} if trains is None else {peak_makeup.trains: trains}
    return {memory.snapshot: row, peak_makeup.makeup: makeup(parameters=active), **known}


def test_memory_full_of_weights_is_told_with_its_lines() -> None:
    (draft,) = drafts("MEM017", given(99 * GIB))
    assert {"100 GiB", "100.0 %", "99.0 %", "99.0 GiB"} <= set(figures(draft.summary))
    assert {"1.00 GiB", "99.0 GiB", "model.py:41"} <= set(figures(draft.summary))


def test_a_history_tells_more_than_that() -> None:
    assert drafts("MEM017", given(99 * GIB, trains=False)) == []


def test_just_below_a_threshold_nothing_is_found() -> None:
    assert drafts("MEM017", given(98 * GIB - 1)) == []
    assert len(drafts("MEM017", given(98 * GIB))) == 1
    assert drafts("MEM017", given(4 * GIB - 1, 4 * GIB - 1)) == []


def test_without_a_snapshot_it_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("MEM017", {})
