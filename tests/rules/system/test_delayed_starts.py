from __future__ import annotations

import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.model.intervals import Intervals
from stepscope.rules.engine import diagnose
from stepscope.signals import Signals
from stepscope.signals.shared import job
from stepscope.signals.system import late_starts
from support import Facts

MS = 1_000_000


def given(per_step_ms: float = 40, count: int = 10) -> dict[object, object]:
    found = Intervals.union_of([0, 50 * MS], [2 * MS, 60 * MS])
    return {
        late_starts.late_starts: late_starts.LateStarts(count, round(per_step_ms * MS), MS, 8 * MS, 5_000, found),
        job.step_ns: 100 * MS,
    }


def test_work_that_starts_late_is_a_hypothesis_with_the_command_that_proves_it() -> None:
    (draft,) = drafts("SYS008", given())
    assert {"10", "1.00 ms", "8.00 ms", "5.00 µs", "40.0 %"} <= set(figures(draft.summary))
    assert "hypothesis" in draft.summary
    assert "nvidia-smi --query-compute-apps" in draft.actions[0].after
    assert (draft.change, draft.cost_ns, draft.taken_ns) == (None, None, 40 * MS)


def test_a_tenth_of_the_step_and_three_times_are_the_least() -> None:
    assert drafts("SYS008", given(9.99)) == []
    assert len(drafts("SYS008", given(10))) == 1
    assert drafts("SYS008", given(count=2)) == []
    assert len(drafts("SYS008", given(count=3))) == 1


def late(*delays_us: int) -> Facts:
    """Batches of one kernel, each launched when the device has been idle, which start so long after their launch."""
    facts, at = Facts(), 0
    for delay in delays_us:
        facts.kernel("gemm", at + 10_000 + delay * 1000, 100_000, launch=(at, 10_000))
        at += delay * 1000 + 400_000
    return facts


def test_only_long_delays_of_known_kernels_count() -> None:
    found = Signals.of(late(900, 5, 1500, 99, 5, 100, 5).trace())(late_starts.late_starts)
    assert (found.count, found.per_step_ns, found.least_ns, found.longest_ns) == (2, 1_600_000, 100_000, 1_500_000)
    assert found.usual_ns == 5_000


def test_what_follows_within_a_graph_was_not_launched_to_an_empty_queue() -> None:
    facts = Facts()
    for number in range(6):
        at, shared = number * 5_000_000, facts.correlation()
        facts.host("launch", "cudaGraphLaunch", at, 10_000, correlation=shared)
        for node in range(4):
            facts.kernel("gemm", at + 15_000 + node * 500_000, 100_000, launch=shared)
    assert Signals.of(facts.trace())(late_starts.late_starts).count == 0


def test_it_is_found_in_a_trace_and_only_the_platforms_own_command_is_shown() -> None:
    facts = late(*[5, 1500] * 20)
    found = {one.code: one for one in diagnose(facts.trace(), strict=True).shown}
    assert "nvidia-smi" in found["SYS008"].actions[0].after
    assert not any("rocm-smi" in action.after or "npu-smi" in action.after for action in found["SYS008"].actions)


def test_without_launches_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("SYS008", {})
