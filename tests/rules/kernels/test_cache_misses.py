from __future__ import annotations

from dataclasses import replace

import pytest

from counted_support import given
from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.ascend import ascend
from stepscope.signals.kernels.inspected import inspected


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


@pytest.mark.parametrize(("attained", "count"), [(0.499, 1), (0.5, 0), (None, 0)])
def test_hits_alone_count_where_arithmetic_is_far_below_the_peak(attained: float | None, count: int) -> None:
    signals = given(npu=True, l2_hit_rate=0.3)
    [one] = signals[inspected]  # type: ignore[misc]
    found = drafts("KRN022", {**signals, inspected: (replace(one, attained=attained),)})
    assert len(found) == count
    assert all("49.9 %" in figures(draft.summary) for draft in found)


def test_without_counters_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("KRN022", {ascend.recorded: False})
