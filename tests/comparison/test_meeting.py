"""Kernels of different platforms meet at an operator of the framework."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from stepscope.comparison.build import CompareOptions, compare_traces
from stepscope.comparison.matching.meeting import _climbed
from stepscope.comparison.result import Comparison
from stepscope.ingest import Options, open_trace
from stepscope.model.trace import Trace
from stepscope.simulate import SimJob, simulate

OWN = Options(cache=False)
QUICK = CompareOptions(findings=False, levels=("operators", "modules", "kernels"))


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Trace, Trace]]:
    folder = tmp_path_factory.mktemp("platforms")
    simulate(SimJob(steps=2, model="mlp", layers=1), folder / "gpu.json")
    simulate(SimJob(steps=2, model="mlp", layers=1, device="ascend910b2"), folder / "npu", format="ascend")
    with open_trace(folder / "gpu.json", OWN) as gpu, open_trace(folder / "npu", OWN) as npu:
        yield gpu, npu


def operators(found: Comparison) -> dict[str, tuple[int, int]]:
    return {row["operator"]: (row["base_ns"], row["new_ns"]) for row in found.table("compute_operators").records()}


def test_two_platforms_meet_at_what_both_call(traces: tuple[Trace, Trace]) -> None:
    found = compare_traces(*traces, QUICK)
    both = operators(found)
    assert min(both["aten::addmm"]) > 0
    assert sum(base > 0 and new > 0 for base, new in both.values()) > len(both) / 2
    rows = found.table("compute_kernels").records()
    assert sum(new for _, new in both.values()) == sum(row["new_ns"] for row in rows)
    [calls] = [r for r in found.table("compute_calls").records() if r["base_path"] == "aten::linear / aten::addmm"]
    assert (calls["match"], bool(calls["base_ns"]), bool(calls["new_ns"])) == ("same", True, True)
    marks = [r for r in found.table("compute_modules").records() if (r["new_path"] or "").startswith("Optimizer.step#")]
    assert [row["match"] for row in marks] == ["same"]


def test_on_one_platform_the_innermost_operator_counts(traces: tuple[Trace, Trace]) -> None:
    own = operators(compare_traces(traces[1], traces[1], QUICK))
    assert any(name.startswith("aclnn") for name in own)
    assert "aten::addmm" not in own


def test_climbing_ends_at_the_first_that_meets_and_within_the_module() -> None:
    around = np.array([-1, 0, 1, 1, 0, 4], np.int32)
    meets = np.array([True, True, False, False, False, False])
    ends = np.array([False, False, False, False, True, False])
    rows = np.array([3, 1, 0, -1, 2, 5], np.int32)
    assert _climbed(rows, meets, ends, around).tolist() == [1, 1, 0, -1, 1, -1]
