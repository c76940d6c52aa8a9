from __future__ import annotations

import pytest

from fusion_support import CHANGE, sequences
from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.kernels.fusions import losses


def test_it_says_how_often_as_what_and_what_would_remain() -> None:
    (draft,) = drafts("KRN012", sequences(losses, 0.2))
    assert figures(draft.summary) == ["1.00 µs", "2", "2.00 µs", "4"]
    assert draft.change is CHANGE
    assert draft.events.tolist() == [4, 5, 6]


def test_the_remedy_is_that_of_the_platform() -> None:
    for platform, code in (
        ("cuda", "F.cross_entropy"),
        ("rocm", "F.cross_entropy"),
        ("npu", "F.cross_entropy"),
        ("cpu", "F.cross_entropy"),
    ):
        (draft,) = drafts("KRN012", sequences(losses, 0.2, platform))
        assert code in draft.actions[0].after


def test_less_than_a_hundredth_of_the_step_just_misses() -> None:
    assert drafts("KRN012", sequences(losses, 0.0099)) == []
    assert len(drafts("KRN012", sequences(losses, 0.01))) == 1
    assert drafts("KRN012", sequences(losses, 0.2, count=0)) == []


def test_without_operations_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("KRN012", {})
