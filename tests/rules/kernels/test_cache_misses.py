from __future__ import annotations

import pytest

from counted_support import given
from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.ascend import ascend


def test_operands_that_come_from_memory() -> None:
    (draft,) = drafts("KRN022", given(l2_hit_rate=0.5, memory_busy=0.6))
    assert {"50.0 %", "60.0 %", "200"} <= set(figures(draft.summary))
    assert len(drafts("KRN022", given(npu=True, l2_hit_rate=0.3, loading=0.9))) == 1


@pytest.mark.parametrize(
    "given_",
    [
        given(l2_hit_rate=0.501, memory_busy=0.9),
        given(l2_hit_rate=0.1, memory_busy=0.599),
        given(l2_hit_rate=0.1, memory_busy=0.9, intensity=99.0),
        given(l2_hit_rate=0.1, memory_busy=0.9, intensity=None),
        given(l2_hit_rate=0.1, memory_busy=0.9, op_class="elementwise"),
        given(l2_hit_rate=0.1),
    ],
)
def test_what_is_read_once_or_little_is_left_alone(given_: dict[object, object]) -> None:
    assert drafts("KRN022", given_) == []


def test_without_counters_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("KRN022", {ascend.recorded: False})
