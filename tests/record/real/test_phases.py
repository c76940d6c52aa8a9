"""Phases of real programs against ranges that these put around their passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from record_support import HAS_TORCH, record
from stepscope.analyses.steps.phases import phases
from stepscope.ingest import Options, open_trace

pytestmark = pytest.mark.skipif(not HAS_TORCH, reason="needs torch")


@pytest.mark.parametrize("optimizer", ["lbfgs", "foreach"])
def test_passes_of_a_closure_are_no_optimizers(optimizer: str, tmp_path: Path) -> None:
    recorded = record(tmp_path, "closures.py", optimizer)
    assert recorded.status == 0, recorded.errors
    with open_trace(recorded.folder, Options(cache=False)) as trace:
        rows = phases(trace).records()
        said = trace.rows(
            "SELECT n.name, sum(s.dur) AS ns FROM spans s JOIN names n USING (name_id)"
            " WHERE s.category = 'annotation' AND s.step IS NOT NULL GROUP BY n.name"
        )
    ran = {phase: sum(row["host_ns"] for row in rows if row["phase"] == phase) for phase in ("forward", "backward")}
    expected = {phase: sum(one["ns"] for one in said if one["name"] == f"what is {phase}") for phase in ran}
    # Python takes some of each range; what prepares a backward pass counts as forward.
    assert all(0.5 * expected[phase] < ran[phase] < 1.5 * expected[phase] for phase in ran), (ran, expected)
    steps = sum(one["ns"] for one in said if one["name"].startswith("Optimizer.step#"))
    own = sum(row["host_ns"] for row in rows if row["phase"] == "optimizer")
    assert own <= steps - sum(ran.values())
