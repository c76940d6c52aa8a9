from __future__ import annotations

import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.shared import job, serving


def row(idle: int, launches: int = 400) -> serving.Row:
    return {"device_ns": 10_000_000, "idle_ns": idle, "launches": launches, "requests": 4}


def given(*rows: serving.Row, replayed: int = 0) -> dict[object, object]:
    return {
        serving.launched: list(rows),
        serving.replayed: [row(0)] * replayed,
        job.recorded_steps: 2,
        job.platform: "cuda",
    }


def test_decode_that_is_launched_one_by_one_is_priced_by_its_idle_time() -> None:
    (draft,) = drafts("HST021", given(row(6_000_000), row(4_000_000)))
    assert {"50.0 %", "400", "10.0 ms"} <= set(figures(draft.summary))
    assert (draft.cost_ns, draft.most_ns) == (4_500_000, 5_000_000)


@pytest.mark.parametrize(
    "rows",
    [
        [row(1_990_000)],
        [row(5_000_000, launches=49)],
        [],
    ],
)
def test_little_idle_time_or_few_launches_just_miss(rows: list[serving.Row]) -> None:
    assert drafts("HST021", given(*rows)) == []
    assert len(drafts("HST021", given(row(2_000_000, launches=50)))) == 1


def test_where_some_passes_are_replayed_it_is_their_sizes_that_miss() -> None:
    assert drafts("HST021", given(row(6_000_000), replayed=1)) == []


def test_without_a_recording_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("HST021", {})
