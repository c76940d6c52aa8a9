from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.host import host, pauses

MS = 1_000_000


def given(share: float = 0.2, count: int = 3, dispatch: float = 0.3, collections: int = 0) -> dict[object, object]:
    starts = np.arange(count) * 10 * MS
    none = np.zeros(collections, np.int64)
    return {
        host.late_share: dispatch,
        host.collections: host.StepEvents(none, none, none),
        pauses.pauses: pauses.Pauses(starts, starts + np.arange(1, count + 1) * MS, 1),
        pauses.paused_share: share,
    }


def test_pauses_are_found_the_longest_first() -> None:
    (draft,) = drafts("HST012", given())
    assert figures(draft.summary) == ["1", "20.0 %", "3", "3.00 ms"]
    assert draft.ranges[0] == (20 * MS, 23 * MS)
    assert draft.change is not None
    assert draft.change.time[0].factor == 0


def test_garbage_collection_is_ruled_out_only_where_it_is_recorded() -> None:
    (unknown,) = drafts("HST012", given())
    (known,) = drafts("HST012", given(collections=1))
    assert "gc.disable()" in unknown.actions[0].after
    assert "gc" not in known.actions[0].after


def test_wording_leaves_garbage_collection_open_where_it_is_not_recorded() -> None:
    (unknown,), (known,) = drafts("HST012", given()), drafts("HST012", given(collections=1))
    assert "may be the cause" in unknown.summary
    assert "may be the cause" not in known.summary


def test_few_or_short_ones_or_a_device_that_does_not_wait_just_miss() -> None:
    assert drafts("HST012", given(count=2)) == []
    assert drafts("HST012", given(share=0.0199)) == []
    assert drafts("HST012", given(dispatch=0.0199)) == []
    assert len(drafts("HST012", given(share=0.02, dispatch=0.02))) == 1


def test_without_a_device_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("HST012", {})
