from __future__ import annotations

from typing import Any

import pytest

from rule_support import drafts, figures
from rules.memory.makeups import GIB
from stepscope.model.errors import MissingInputError
from stepscope.signals.snapshots import generations, peak_makeup
from stepscope.signals.snapshots.generations import Superseded

FREED = "/home/me/proj/run.py(80): main"


def given(trained: bool = False, **changed: Any) -> dict[object, object]:
    values = {
        "bytes": 5 * GIB, "count": 700, "alike": 5 * GIB, "peak": 20 * GIB, "freed_at": FREED, "forward": 1.0,
        "older": True,
    }  # fmt: skip
    return {generations.superseded: Superseded(**{**values, **changed}), peak_makeup.trains: trained}


def test_a_graph_that_lives_too_long_is_found_with_its_line() -> None:
    (draft,) = drafts("MEM012", given())
    assert {"20.0 GiB", "25.0 %", "5.00 GiB", "700"} <= set(figures(draft.summary))
    assert {"15.0 GiB", "run.py:80"} <= set(figures(draft.summary))
    assert "no_grad" in draft.actions[0].after


def test_where_a_backward_pass_follows_only_the_reference_is_advised() -> None:
    (draft,) = drafts("MEM012", given(trained=True))
    assert [action.text for action in draft.actions] == ["Let go of the previous result before the next iteration"]
    (state,) = drafts("MEM012", given(forward=0.4))
    assert state.title != draft.title


def test_wording_counts_activations_and_graph_as_two_and_memory_as_one() -> None:
    titles = [drafts("MEM012", given(**how))[0].title for how in ({}, {"forward": 0.4})]
    assert titles == [
        "The previous iteration's activations and graph live until the next one is done",
        "The previous iteration's memory lives until the next one is done",
    ]


def test_just_below_a_threshold_nothing_is_found() -> None:
    assert drafts("MEM012", given(count=19)) == []
    assert drafts("MEM012", given(bytes=2 * GIB - 1)) == []
    assert drafts("MEM012", given(alike=4 * GIB - 1)) == []
    assert len(drafts("MEM012", given(count=20, bytes=2 * GIB, alike=2 * GIB))) == 1
    assert drafts("MEM012", {**given(), generations.superseded: None}) == []


def test_without_a_history_it_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("MEM012", {})
