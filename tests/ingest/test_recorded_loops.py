"""Steps of the small real programs in `tests/recorded`, which say what they do."""

from __future__ import annotations

from pathlib import Path

import pytest

import stepscope

RECORDED = Path(__file__).parents[1] / "recorded"


@pytest.mark.parametrize(
    ("program", "source", "steps", "phases"),
    [
        ("generation", "inferred", 10, {"forward", "rest"}),
        ("denoising", "inferred", 10, {"forward"}),
        ("two_models", "annotation", 6, {"forward", "backward", "optimizer", "rest"}),
        ("zeroed_between", "profiler", 3, {"forward", "backward", "optimizer", "rest"}),
    ],
)
def test_steps_and_phases_are_those_of_the_program(program: str, source: str, steps: int, phases: set[str]) -> None:
    with stepscope.open(RECORDED / f"{program}.json.gz", cache=False) as trace:
        found = trace.steps.records()
        assert {step["source"] for step in found} == {source}
        assert len(found) == steps
        rows = trace.table("phases").records()
        report = trace.analyze()
    assert {row["phase"] for row in rows} == phases
    rest = sum(row["host_ns"] for row in rows if row["phase"] == "rest")
    assert rest < 0.1 * sum(row["host_ns"] for row in rows)
    assert not [one.table for one in report.abstentions if one.failed]
