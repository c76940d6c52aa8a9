from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from memory_support import driver_calls
from rule_support import drafts, figures, findings
from stepscope.model.errors import MissingInputError
from stepscope.rules.engine import diagnose
from stepscope.rules.settings import Settings
from stepscope.signals.memory import driver_memory, memory
from stepscope.signals.memory.driver_memory import DriverCalls
from stepscope.signals.shared import job
from stepscope.signals.snapshots import allocator
from support import Facts

HISTORY = {"taken": 600, "taken_again": 500, "kind": "segment"}


def given(calls: DriverCalls, share: float = 0.05) -> dict[object, object]:
    return {driver_memory.driver_calls: calls, driver_memory.driver_share: share, job.platform: "cuda"}


def test_memory_given_back_and_taken_in_every_step_is_found_and_priced() -> None:
    (draft,) = drafts("MEM002", given(driver_calls(4)))
    assert {"2", "200 µs", "5.0 %"} <= set(figures(draft.summary))
    assert draft.change is not None
    assert draft.change.host[0].events.tolist() == list(range(8))
    assert draft.change.unblocked.tolist() == [1, 3, 5, 7]
    assert "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True" in draft.actions[0].after


def test_npus_have_their_own_variable() -> None:
    (draft,) = drafts("MEM002", {**given(driver_calls(4)), job.platform: "npu"})
    assert "PYTORCH_NPU_ALLOC_CONF" in draft.actions[0].after


def test_what_is_only_taken_at_the_start_or_only_in_the_first_step_is_no_churn() -> None:
    assert drafts("MEM002", given(driver_calls(3, "tt"))) == []
    assert drafts("MEM002", given(driver_calls(5, "tt", only=[0, 1, 2, 4]))) == []
    assert drafts("MEM002", given(driver_calls(4, only=[0]))) == []


def test_what_every_step_takes_and_none_gives_back_is_found_and_priced() -> None:
    (draft,) = drafts("MEM002", given(driver_calls(4, "tt", in_operator=(True, True))))
    assert draft.key == "taken"
    assert {"2", "200 µs", "5.0 %"} <= set(figures(draft.summary))
    assert draft.change is not None
    assert draft.change.host[0].events.tolist() == draft.change.unblocked.tolist() == list(range(8))
    assert drafts("MEM002", given(driver_calls(4, "tt"), 0.0099)) == []


def test_a_start_takes_less_memory_with_every_step() -> None:
    calls = driver_calls(4, "t", in_operator=(True,))

    def falling(last: int) -> DriverCalls:
        return replace(calls, dur=np.array([900, 120, 80, last]))

    assert drafts("MEM002", given(falling(39))) == []
    assert len(drafts("MEM002", given(falling(40)))) == 1


def test_the_price_of_memory_that_is_only_taken_is_what_the_device_waits_for_it() -> None:
    facts = Facts()
    for number in range(5):
        at = number * 1_000_000
        facts.step(number, at, 1_000_000)
        facts.kernel("gemm", at + 100_000, 400_000, launch=(at + 50_000, 10_000))
        facts.host("runtime", "cudaMalloc", at + 500_000, 250_000)
        facts.kernel("add", at + 800_000, 190_000, launch=(at + 760_000, 10_000))
    (finding,) = findings("MEM002", facts.trace())
    assert finding.cost_ns is not None
    assert 200_000 <= finding.cost_ns <= 260_000


def test_less_than_half_of_the_steps_is_a_warm_up() -> None:
    assert drafts("MEM002", given(driver_calls(5, only=[0, 1]))) == []
    assert len(drafts("MEM002", given(driver_calls(5, only=[0, 1, 2])))) == 1


def test_a_single_return_is_no_churn() -> None:
    calls = driver_calls(4, "tt")
    once = replace(calls, free=np.arange(calls.event.size) == 3)
    twice = replace(calls, free=np.isin(np.arange(calls.event.size), (3, 5)))
    assert drafts("MEM002", given(once)) == []
    assert len(drafts("MEM002", given(twice))) == 1


def test_just_below_the_share_nothing_is_found() -> None:
    assert drafts("MEM002", given(driver_calls(4), 0.0099)) == []
    assert len(drafts("MEM002", given(driver_calls(4), 0.01))) == 1


def collected(times: int = 3, cause: str = "garbage_collection", **history: int) -> dict[object, object]:
    row = {"cause": cause, "segments": 20, "dur": 1_000_000}
    return {
        memory.churn: {**HISTORY, **history}, job.platform: "cuda", allocator.flushes: (row,) * times,
        allocator.history_ns: 1_000_000_000, job.step_ns: 100_000_000,
    }  # fmt: skip


def test_a_snapshot_tells_the_allocators_own_collection() -> None:
    (draft,) = drafts("MEM002", collected())
    assert figures(draft.summary) == ["3", "500", "60", "600", "garbage_collection_threshold"]
    assert draft.cost_ns == 300_000
    assert drafts("MEM002", collected(2)) == []
    assert drafts("MEM002", collected(taken_again=9)) == []


def test_churn_whose_trigger_is_unknown_or_another_rules_is_not_told() -> None:
    for cause in ("unknown", "empty_cache", "retry"):
        assert drafts("MEM002", collected(cause=cause)) == []


def test_without_calls_or_history_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("MEM002", {})


def _without_steps(times: int) -> list[str]:
    """Findings of thirty kernels of one program, the first of which take memory and give it back."""
    facts = Facts()
    for number in range(30):
        at = number * 2_000_000
        if number < times:
            facts.host("runtime", "cudaMalloc", at, 400_000)
        facts.kernel("fft(float2*)", at + 500_000, 500_000 + number, launch=(at + 450_000, 5_000))
        if number < times:
            facts.host("runtime", "cudaFree", at + 1_100_000, 600_000)
    trace = facts.trace(reader="nsight", attributes={"executable": "fft"})
    found = diagnose(trace, Settings(select=("MEM002",)), strict=True).findings
    return [f"{one.title}: {one.actions[0].text}" for one in found]


def test_without_steps_what_recurs_all_the_time_is_churn_and_a_start_is_not() -> None:
    (found,) = _without_steps(30)
    assert found.startswith("Device memory is given back and allocated again all the time: Allocate before the loop")
    assert _without_steps(3) == []
