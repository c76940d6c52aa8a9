"""What a step is made of, on both sides, adds up to the step."""

from __future__ import annotations

import pytest

from stepscope.comparison.build import CompareOptions, compare_traces
from stepscope.comparison.parts.amounts import Amount, beside
from stepscope.comparison.parts.charged import charged
from stepscope.comparison.parts.shares import means
from stepscope.comparison.result import Comparison
from stepscope.comparison.side import side_of
from stepscope.model.trace import Trace
from support import Facts


def job(gemm: int = 300, gap: int = 100, steps: int = 2, name: str = "sgemm_kernel") -> Trace:
    """Steps of 1,000 ns: a GEMM, an elementwise kernel that overlaps its end, an all-reduce half hidden, a copy."""
    facts = Facts()
    for number in range(steps):
        at = 1000 * number
        facts.step(number, at, 1000)
        facts.host("op", "aten::mm", at + 5, 40)
        facts.kernel(name, at + gap, gemm, launch=(at + 10, 20))
        facts.host("op", "aten::add", at + 50, 40)
        facts.kernel("vectorized_elementwise_kernel", at + gap + gemm - 50, 100, launch=(at + 55, 20), stream="8")
        facts.kernel("ncclDevKernel_AllReduce", at + gap + gemm, 150, launch=(at + 100, 20), stream="9")
        facts.kernel("Memcpy HtoD", at + gap + gemm + 140, 60, launch=(at + 130, 20), stream="10", kind="copy")
    return facts.trace()


@pytest.fixture(scope="module")
def base() -> Trace:
    return job()


def parts(found: Comparison) -> dict[str, tuple[int, int]]:
    return {row.key: (row.base_ns, row.new_ns) for row in found.parts}


def test_parts_add_up_to_the_step(base: Trace) -> None:
    found = compare_traces(base, job(gemm=500))
    assert parts(found)["compute"] == (350, 550)
    assert parts(found)["exposed_communication"] == (100, 100)
    assert parts(found)["exposed_copy"] == (50, 50)
    times = found.step_time
    assert sum(row.base_ns for row in found.parts) == times.base_ns == 1000
    assert sum(row.diff_ns for row in found.parts) == times.new_ns - times.base_ns
    phases = found.table("step_phases")
    assert sum(phases.column("base_ns")) == times.base_ns
    assert sum(phases.column("new_ns")) == times.new_ns


def test_every_split_of_compute_adds_up_to_it(base: Trace) -> None:
    found = compare_traces(base, job(gemm=451, name="Cijk_Ailk_Bljk_SB"))
    for name in ("compute_classes", "compute_operators", "compute_kernels"):
        table = found.table(name)
        assert (sum(table.column("base_ns")), sum(table.column("new_ns"))) == parts(found)["compute"]
    rows = {row["operator"]: row for row in found.table("compute_operators").records()}
    assert (rows["aten::mm"]["base_ns"], rows["aten::mm"]["new_ns"]) == (300, 451)
    assert rows["aten::mm"]["base_count"] == rows["aten::mm"]["new_count"] == 1.0
    kernels = {row["kernel"]: row for row in found.table("compute_kernels").records() if row["operator"] == "aten::mm"}
    assert kernels["sgemm_kernel"]["new_ns"] == kernels["Cijk_Ailk_Bljk_SB"]["base_ns"] == 0


def test_of_kernels_that_overlap_the_first_one_counts() -> None:
    trace = job(steps=1)
    work = charged(side_of(trace, 0))
    by_part = [int(work.ns[work.part == part].sum()) for part in range(3)]
    assert by_part == [350, 100, 50]
    assert sorted(work.ns.tolist()) == [50, 50, 100, 300]


def test_the_same_recording_has_no_difference(base: Trace) -> None:
    found = compare_traces(base, base)
    assert found.verdict == "same"
    assert found.comparable == ()
    assert all(row.diff_ns == 0 for row in found.parts)
    differing = [table for table in found.tables.values() if "diff_ns" in table.schema.names]
    assert len(differing) > 10
    assert all(set(table.column("diff_ns")) <= {0} for table in differing)
    assert not any(any(table.column("sure")) for table in differing if "sure" in table.schema.names)


def test_steps_asked_for() -> None:
    trace = job(steps=3)
    found = compare_traces(trace, trace, CompareOptions(base_steps=(0,), steps=(2,)))
    assert (found.base.steps, found.new.steps) == ((0,), (2,))
    assert found.verdict == "same"


def test_without_a_device_the_host_is_compared() -> None:
    def host(length: int) -> Trace:
        facts = Facts()
        for number in range(6):
            facts.step(number, 2000 * number, length + number)
            facts.host("op", "aten::mm", 2000 * number + 10, 50)
        return facts.trace()

    found = compare_traces(host(1000), host(1500))
    assert found.verdict == "slower"
    assert found.step_time.unit == "host step"
    assert list(parts(found)) == ["host"]
    assert "compute_classes" not in found.tables


def test_recordings_without_steps_have_no_verdict() -> None:
    def window(length: int) -> Trace:
        facts = Facts()
        facts.kernel("gemm", 0, length, launch=(0, 10))
        return facts.trace()

    found = compare_traces(window(1000), window(3000))
    assert found.verdict == "inconclusive"
    assert "no steps are known, and too little repeats" in found.step_time.reason


def test_means_add_up() -> None:
    assert means([10, 10, 10], 4) == [2, 3, 2]
    assert sum(means([7, 0, 12, 5], 5)) == 24 // 5


def test_which_mean_is_rounded_up_does_not_depend_on_the_order_of_groups() -> None:
    sums = {"a": Amount(1, 1), "b": Amount(1, 1)}
    turned = dict(reversed(sums.items()))
    rows = beside(sums, turned, (2, 2))
    assert rows == beside(turned, sums, (2, 2))
    assert [(row.key, row.base_ns, row.new_ns) for row in rows] == [("b", 1, 1), ("a", 0, 0)]
