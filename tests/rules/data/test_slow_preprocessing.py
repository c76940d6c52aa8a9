from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.data import data, loader_activity


def given(preparing: float, reading: float = 0.0, wait: float = 0.5) -> dict[object, object]:
    return {
        data.wait_share: wait,
        loader_activity.preparing_share: preparing,
        loader_activity.reading_share: reading,
        loader_activity.preparing: loader_activity.Inside(np.array([3]), 600, ("images.py(3): load", "aten::stack")),
        loader_activity.reading: loader_activity.Inside(np.array([5]), 600, ("read",)),
    }


def test_preparation_that_takes_most_of_the_wait_is_found_with_what_it_is() -> None:
    (draft,) = drafts("DAT004", given(0.9))
    assert {"aten::stack", "images.py(3)"} <= set(figures(draft.summary))
    assert draft.change is not None
    assert draft.change.host[0].events.tolist() == [3]


def test_reading_is_told_apart() -> None:
    (draft,) = drafts("DAT004", given(0.1, 0.8))
    assert draft.key != drafts("DAT004", given(0.9))[0].key


def test_wording_of_reading_and_preparing() -> None:
    titles = [drafts("DAT004", given(*shares))[0].title for shares in ((0.1, 0.8), (0.9,))]
    assert titles == ["Reading batches is the bottleneck", "Preparing batches is the bottleneck"]


def test_less_than_half_of_the_wait_is_not_enough() -> None:
    assert drafts("DAT004", given(0.49, 0.49)) == []
    assert len(drafts("DAT004", given(0.5))) == 1


def test_without_a_wait_it_does_not_matter() -> None:
    assert drafts("DAT004", given(0.9, wait=0.009)) == []


def test_without_knowledge_of_what_happens_inside_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("DAT004", {data.wait_share: 0.5})
