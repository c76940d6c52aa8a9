from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures, findings
from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.memory import driver_memory, memory
from support import Facts

MS = 1_000_000


def given(total_ms: float = 36, recorded_ms: int = 60, used: float | None = 0.95) -> dict[object, object]:
    found = driver_memory.Returned(round(total_ms * MS), 34 * MS, "cudaFree", np.array([7, 3]), recorded_ms * MS)
    return {driver_memory.returned: found, **({} if used is None else {memory.used_share: used})}


def test_calls_that_take_much_of_the_recording_are_found_by_its_wording() -> None:
    (draft,) = drafts("MEM019", given())
    assert {"2", "36.0 ms", "60.0 ms", "60.0 %", "34.0 ms", "95.0 %"} <= set(figures(draft.summary))
    assert "it may be that" in draft.summary
    assert "num_alloc_retries" in draft.actions[0].after
    assert draft.placed_as_ns == 36 * MS


def test_why_is_left_open_where_the_memory_is_not_full_or_not_known_by_its_wording() -> None:
    for used in (0.89, None):
        (draft,) = drafts("MEM019", given(used=used))
        assert "is not recorded" in draft.summary


def test_the_range_around_the_longest_call_is_named() -> None:
    facts = Facts()
    facts.host("launch", "cudaLaunchKernel", MS, 10_000)
    facts.host("annotation", "outer", 2 * MS, 40 * MS)
    facts.host("annotation", "inner", 3 * MS, 30 * MS)
    facts.host("annotation", "later", 34 * MS, 5 * MS)
    facts.host("runtime", "cudaFree", 4 * MS, 9 * MS)
    facts.host("runtime", "cudaFree", 35 * MS, MS)
    found = Signals.of(facts.trace())(driver_memory.returned)
    assert found.within == "inner"
    (draft,) = drafts("MEM019", {driver_memory.returned: found})
    assert " inner" in draft.summary


def test_a_tenth_and_a_millisecond_are_the_least() -> None:
    assert drafts("MEM019", given(5.99)) == []
    assert len(drafts("MEM019", given(6))) == 1
    assert drafts("MEM019", given(0.99, 1)) == []
    assert len(drafts("MEM019", given(1, 1))) == 1


def returned(*frees: tuple[float, float], steps: int = 0) -> driver_memory.Returned:
    facts = Facts()
    for step in range(steps):
        facts.step(step, step * 10 * MS, 10 * MS)
        facts.host("op", "aten::mm", step * 10 * MS + 1000, 5 * MS)
    facts.host("launch", "cudaLaunchKernel", 1 * MS, 10_000)
    facts.host("runtime", "cudaMalloc", 2 * MS, 9 * MS)
    for start, length in frees:
        facts.host("runtime", "cudaFree", round(start * MS), round(length * MS))
    return Signals.of(facts.trace())(driver_memory.returned)


def test_a_first_call_creates_the_context() -> None:
    assert returned((0, 0.9)).total_ns == 0
    found = returned((0, 0.9), (12, 1), (14, 5))
    assert (found.total_ns, found.longest_ns, found.name, found.events.size) == (6 * MS, 5 * MS, "cudaFree", 2)


def test_in_a_loop_of_steps_it_can_be_seen_whether_they_recur() -> None:
    assert returned((12, 1), steps=6).total_ns == 0


def host_alone(length_ms: float, *, kernels: bool = False) -> Facts:
    facts = Facts()
    facts.host("op", "aten::mm", 0, 60 * MS)
    facts.host("launch", "cudaLaunchKernel", MS, 10_000)
    facts.host("runtime", "cudaMalloc", 2 * MS, round(length_ms * MS))
    if kernels:
        facts.kernel("gemm", 50 * MS, MS, launch=(49 * MS, 5_000))
    return facts


def test_memory_that_is_taken_is_found_where_the_device_is_not_recorded() -> None:
    (finding,) = findings("MEM019", host_alone(36).trace())
    assert {"1", "36.0 ms", "60.0 ms", "60.0 %"} <= set(figures(finding.summary))
    assert findings("MEM019", host_alone(36, kernels=True).trace()) == []
    assert findings("MEM019", host_alone(5.9).trace()) == []


def test_without_calls_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("MEM019", {})
