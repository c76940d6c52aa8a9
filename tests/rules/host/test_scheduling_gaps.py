from __future__ import annotations

import pytest

from rule_support import drafts, figures
from stepscope.analyses.shared.typical import typical_part
from stepscope.model.errors import MissingInputError
from stepscope.model.trace import Trace
from stepscope.signals import Signals
from stepscope.signals.shared import job, serving
from support import Facts


def given(gap: int, number: int = 3, scheduler: int | None = None) -> dict[object, object]:
    rows = [{"device_ns": 9_000_000, "gap_ns": gap, "scheduler_ns": scheduler} for _ in range(number)]
    return {
        serving.passes: [{"device_ns": 9_000_000, "gap_ns": None}, *rows],
        serving.pending_gaps: rows,
        job.recorded_steps: number + 1,
        job.platform: "cuda",
    }


def test_gaps_before_which_requests_waited_are_priced() -> None:
    (draft,) = drafts("HST022", given(4_000_000, scheduler=3_000_000))
    assert {"3", "4.00 ms", "25.0 %", "3.00 ms"} <= set(figures(draft.summary))
    assert (draft.cost_ns, draft.most_ns) == (2_700_000, 3_000_000)
    assert draft.confidence > drafts("HST022", given(4_000_000))[0].confidence


def test_a_host_that_was_at_something_else_is_not_scheduling() -> None:
    assert drafts("HST022", given(4_000_000, scheduler=1_999_999)) == []


def test_stages_of_a_pipeline_wait_for_each_other() -> None:
    assert drafts("HST022", {**given(4_000_000), serving.staged: True}) == []
    assert len(drafts("HST022", {**given(4_000_000, scheduler=3_000_000), serving.staged: True})) == 1


def test_short_gaps_and_two_gaps_just_miss() -> None:
    assert drafts("HST022", given(1_300_000)) == []
    assert len(drafts("HST022", given(1_400_000))) == 1
    assert drafts("HST022", given(4_000_000, number=2)) == []


def test_gaps_after_which_other_requests_come_are_nobodys_wait() -> None:
    facts = Facts()
    for i, (name, at) in enumerate([("generation_2(2)", 0), ("generation_2(2)", 50), ("generation_3(3)", 100)]):
        facts.host("annotation", f"execute_context_0(0)_{name}", at * 1000, 20_000)
        facts.kernel("sgemm", at * 1000 + 5_000, 10_000, launch=(at * 1000 + 1_000 + i, 500))
    trace = facts.trace()
    # Before the third pass nobody needs to have waited: it may have begun when its third request came.
    assert [row["ts"] for row in Signals.of(trace)(serving.pending_gaps)] == [50_000]


def served(odd: str, took: int, pause: int = 0) -> Trace:
    """Twelve passes of decode of 40 us, 1 us apart, among them one of another kind, and a pause before another."""
    facts, at = Facts(), 0
    for i in range(12):
        name, dur = (odd, took) if i == 6 else ("context_0(0)_generation_2(2)", 40_000)
        at += pause if i == 9 else 0
        facts.host("annotation", f"execute_{name}", at, dur)
        facts.kernel("sgemm", at + 5_000, dur, launch=(at + 1_000, 500))
        at += dur + 1_000
    return facts.trace()


@pytest.mark.parametrize(
    ("odd", "took", "pause"),
    [("context_1(900)_generation_0(0)", 900_000, 0), ("context_0(0)_generation_2(2)", 40_000, 2_000_000)],
)
def test_a_pass_that_is_no_typical_step_is_no_gap_and_a_pause_is_not_the_scheduler(
    odd: str, took: int, pause: int
) -> None:
    trace = served(odd, took, pause)
    signals = Signals.of(typical_part(trace), trace)
    assert {row["gap_ns"] for row in signals(serving.pending_gaps)} == {1_000}


def test_without_a_recording_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("HST022", {})
