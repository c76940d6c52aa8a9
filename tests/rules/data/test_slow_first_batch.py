from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.data import data

MS = 1_000_000


def given(first_ms: int, odd: bool = True, in_process: bool | None = False) -> dict[object, object]:
    waits = data.LoaderWaits(
        np.arange(4),
        np.arange(4) * 1000 * MS,
        np.array([first_ms * MS, 2 * MS, 1 * MS, 3 * MS]),
        ("enumerate(DataLoader)#_X.__next__",) * 4,
    )
    return {data.waits: waits, data.odd_first: odd, data.in_process: in_process}


def test_a_slow_start_is_found_without_a_price() -> None:
    (draft,) = drafts("DAT002", given(1500))
    assert {"1.50 s", "2.00 ms"} <= set(figures(draft.summary))
    assert (draft.change, draft.cost_ns) == (None, None)
    assert "persistent_workers=True" in draft.actions[0].after


def test_without_workers_there_are_none_to_keep() -> None:
    (draft,) = drafts("DAT002", given(1500, in_process=True))
    assert not any("persistent_workers" in action.after for action in draft.actions)


def test_just_below_the_threshold_or_like_the_others_it_is_not() -> None:
    assert drafts("DAT002", given(99)) == []
    assert drafts("DAT002", given(1500, odd=False)) == []
    assert len(drafts("DAT002", given(100))) == 1


def test_without_a_loader_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("DAT002", {})
