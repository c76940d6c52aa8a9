from __future__ import annotations

import pytest

from recording_support import advised
from rule_support import findings
from stepscope.signals.shared.job import platform, span_ns, step_ns
from stepscope.signals.shared.ran_on import RanOn, ran_on
from support import Facts


def test_it_is_advised_without_a_price() -> None:
    (draft,) = advised("REC003", {"device": 1.5})
    assert (draft.change, draft.cost_ns) == (None, None)


@pytest.mark.parametrize(
    ("where", "mark", "says", "does"),
    [
        ("lost", "cudaLaunchKernel", "no kernels", "KINETO_LOG_LEVEL"),
        ("device", "aten::cudnn_convolution", "not asked for", "ProfilerActivity.CUDA"),
        ("mps", "aten::linear_backward", "Apple", "torch.mps.profiler"),
    ],
)
def test_why_it_is_missing_decides_what_to_do_by_its_wording(where: str, mark: str, says: str, does: str) -> None:
    found = RanOn(where, mark, 0, 0, True, "")  # type: ignore[arg-type]
    (draft,) = advised("REC003", {"device": 1.5}, given={ran_on: found})
    assert says in draft.summary
    assert mark in draft.summary
    assert does in draft.actions[0].after
    assert ("ProfilerActivity.CUDA" in draft.actions[0].after) == (where == "device")


def test_kernels_that_could_not_be_recorded_are_not_advised_to_be_asked_for_by_its_wording() -> None:
    facts = Facts()
    for number in range(40):
        facts.host("op", "aten::mm", number * 100_000, 50_000)
        facts.host("launch", "cudaLaunchKernel", number * 100_000, 5_000, correlation=number + 1)
    (finding,) = findings("REC003", facts.trace(reader="kineto"))
    assert "Why is not in the recording" in finding.summary
    assert all("ProfilerActivity.CUDA" not in action.after for action in finding.actions)


@pytest.mark.parametrize(("on", "named"), [("cuda", True), ("rocm", False), ("xpu", False)])
def test_causes_are_those_of_the_platform(on: str, named: bool) -> None:
    found = RanOn("lost", "hipLaunchKernel", 0, 0, True, "")
    (draft,) = advised("REC003", {"device": 1.5}, given={ran_on: found, platform: on})
    assert ("CUPTI" in draft.summary) == named
    assert "permission" in draft.summary


@pytest.mark.parametrize(("where", "place"), [("lost", 500), ("device", 500), ("mps", None), ("unknown", None)])
def test_it_precedes_what_takes_less_than_half_of_the_time_on_the_host(where: str, place: int | None) -> None:
    found = RanOn(where, "x", 0, 0, True, "")  # type: ignore[arg-type]
    (draft,) = advised("REC003", {"device": 1.5}, given={ran_on: found, step_ns: 1000, span_ns: 9000})
    assert draft.placed_as_ns == place
    (draft,) = advised("REC003", {"device": 1.5}, profiler="nsight", given={ran_on: found, step_ns: 1000})
    assert draft.placed_as_ns is None


def test_operators_of_a_devices_library_without_calls_show_that_the_activity_is_missing() -> None:
    facts = Facts()
    for number in range(40):
        facts.host("op", "aten::cudnn_convolution", number * 100_000, 50_000)
    (finding,) = findings("REC003", facts.trace(reader="kineto"))
    assert "ProfilerActivity.CUDA" in finding.actions[0].after


def test_wording() -> None:
    (draft,) = advised("REC003", {"device": 1.5})
    assert "no time can be explained" in draft.summary


def test_the_advice_is_for_the_profiler_at_hand() -> None:
    (draft,) = advised("REC003", {"device": 1.5}, profiler="nsight")
    assert "--trace=cuda" in draft.actions[0].after


def test_three_weightier_gaps_go_before_it() -> None:
    assert len(advised("REC003", {"device": 1.5, **dict.fromkeys(("lost", "host"), 3.0)})) == 1
    assert advised("REC003", {"device": 1.5, **dict.fromkeys(("lost", "host", "history"), 3.0)}) == []


def test_a_recording_that_has_it_leaves_the_rule_unasked_for_advice() -> None:
    assert advised("REC003", {}) == []
