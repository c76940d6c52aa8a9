from __future__ import annotations

from typing import Any

import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.shared import job, serving


def row(requests: int, idle: int, padded: int | None = None) -> dict[str, Any]:
    return {
        "requests": requests, "tokens": requests, "device_ns": 10_000_000, "idle_ns": idle, "padded_tokens": padded,
    }  # fmt: skip


def given(eager: list[dict[str, Any]], graphs: list[dict[str, Any]]) -> dict[object, object]:
    return {serving.launched: eager, serving.replayed: graphs, job.recorded_steps: 4, job.platform: "cuda"}


def test_batches_beyond_the_captured_sizes_are_priced_by_what_they_idle_more() -> None:
    (draft,) = drafts("HST023", given([row(40, 5_000_000)], [row(8, 1_000_000)] * 3))
    assert {"40", "8", "50.0 %", "10.0 %"} <= set(figures(draft.summary))
    assert draft.cost_ns == 1_000_000


def test_batches_that_idle_little_more_just_miss() -> None:
    assert drafts("HST023", given([row(40, 2_990_000)], [row(8, 1_000_000)] * 3)) == []
    assert len(drafts("HST023", given([row(40, 3_000_000)], [row(8, 1_000_000)] * 3))) == 1


def test_padding_is_advice_from_half_as_many_rows_again_on() -> None:
    (draft,) = drafts("HST023", given([], [row(40, 0, 64)] * 3))
    assert (draft.key, draft.cost_ns) == ("padding", None)
    assert {"120", "192", "60.0 %"} <= set(figures(draft.summary))
    assert drafts("HST023", given([], [row(44, 0, 64)] * 3)) == []
    assert drafts("HST023", given([], [row(40, 0, 64)] * 2)) == []
    assert drafts("HST023", given([], [row(40, 0)] * 9)) == []


def test_a_few_rows_more_cost_nothing() -> None:
    assert drafts("HST023", given([], [row(9, 0, 24)] * 3)) == []
    assert len(drafts("HST023", given([], [row(8, 0, 24)] * 3))) == 1


def test_passes_of_a_size_that_is_replayed_miss_something_else() -> None:
    assert drafts("HST023", given([row(8, 5_000_000)], [row(8, 1_000_000)] * 3)) == []
    (draft,) = drafts("HST023", given([row(8, 5_000_000), row(40, 5_000_000)], [row(8, 1_000_000)] * 3))
    assert draft.cost_ns == 1_000_000
    assert {"1", "40"} <= set(figures(draft.summary))


def test_without_a_recording_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("HST023", {})
