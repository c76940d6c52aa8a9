"""How far off predictions are said to be is how far off they are."""

from __future__ import annotations

from typing import Any

import pytest
from bench.plan.fifth import fifth_set
from bench.plan.fourth import fourth_set
from bench.plan.rows import Row, asked
from bench.plan.second import second_set
from bench.plan.third import third_set

import stepscope
from stepscope.planning.document import document
from stepscope.planning.expected import MEMORY, MIXTURE, STEP


def ends(values: list[float]) -> tuple[float, float]:
    """The 5th and the 95th percentile."""
    ordered = sorted(values)
    return ordered[int(0.05 * len(ordered))], ordered[int(0.95 * len(ordered))]


@pytest.fixture(scope="module")
def unseen() -> list[Row]:
    """Published runs that the formulas were not developed on."""
    return [asked(row) for row in (*third_set(), *fourth_set(), *fifth_set())]


def test_ranges_of_steps_are_those_of_published_runs(unseen: list[Row]) -> None:
    mixtures = [one for one in map(asked, filter(_may_have_experts, second_set())) if one.shape.experts]
    for rows, stated in (
        ([one for one in unseen if not one.shape.experts], STEP),
        ([*mixtures, *(one for one in unseen if one.shape.experts)], MIXTURE),
    ):
        assert ends([one.step_s / one.plan.step_ns * 1e9 for one in rows if one.step_s]) == pytest.approx(
            stated, abs=0.03
        )


def _may_have_experts(row: dict[str, Any]) -> bool:
    return "Megatron-Bridge" in row["series"]


def test_the_range_of_memory_is_that_of_published_runs(unseen: list[Row]) -> None:
    rows = [one for one in unseen if one.memory_gib and "InternEvo" not in one.source]
    found = ends([one.memory_gib * 2**30 / one.memory_bytes for one in rows if one.memory_gib])
    assert found == pytest.approx(MEMORY, abs=0.03)


def test_a_plan_states_its_range() -> None:
    found = document(stepscope.plan("llama3-8b", devices=8, device="h100", global_batch=64))["plans"][0]
    low, high = found["step_range_ns"]
    assert low < found["step_ns"] < high
    assert high / found["step_ns"] == pytest.approx(STEP[1])
    assert found["memory_range_bytes"][1] / found["memory_bytes"] == pytest.approx(MEMORY[1])
    mixture = document(stepscope.plan("mixtral-8x7b", devices=64, device="h100", global_batch=64))["plans"][0]
    assert mixture["step_range_ns"][1] / mixture["step_ns"] == pytest.approx(MIXTURE[1])
