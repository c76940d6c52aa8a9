from __future__ import annotations

import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.rules.engine import diagnose
from stepscope.rules.settings import Settings
from stepscope.signals.shared import job, serving
from support import Facts


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


def test_time_that_graphs_and_a_scheduler_save_is_priced_once() -> None:
    """Its operators are slow because they are called, and what lies between steps is none of their time."""
    facts, at, each = Facts(), 0, 100_000
    for _ in range(6):
        facts.host("annotation", "execute_context_0(0)_generation_4(4)", at, 51 * each)
        for call in range(50):
            start = at + call * each
            facts.host("op", "aten::mm" if call % 2 else "aten::add", start + 5_000, 80_000)
            facts.kernel("ampere_sgemm", start + 90_000, 40_000, launch=(start + 50_000, 20_000))
        at += 51 * each + 4_000_000
    asked = Settings(select=("HST001", "HST003", "HST016", "HST021", "HST022"))
    shown = {one.code: one for one in diagnose(facts.trace(), asked, strict=True).shown}
    assert not {"HST001", "HST003", "HST016"} & shown.keys()
    assert shown["HST021"].cost_ns is not None
    gaps = shown["HST022"]
    assert (gaps.cost_ns, gaps.recorded_share is not None) == (None, True)


def test_without_a_recording_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("HST021", {})
