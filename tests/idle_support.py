"""Causes of idle time of a small trace."""

from __future__ import annotations

from stepscope.analyses.idle.idle_causes import idle_causes
from stepscope.analyses.steps.step_budget import step_budget
from stepscope.model.trace import Trace

Causes = dict[tuple[str, str | None], int]


def causes(trace: Trace, step: int | None = 0, device: int | None = 0) -> Causes:
    """Time by (cause, detail) of a step, once the sums are found to be those of the step budget."""
    found = idle_causes(trace).records()
    for row in step_budget(trace).records():
        mine = [r for r in found if (r["device"], r["step"]) == (row["device"], row["step"])]
        assert sum(r["total_ns"] for r in mine) == row["idle_ns"]
        assert all(r["share"] == r["total_ns"] / row["total_ns"] for r in mine)
        assert all(r["total_ns"] > 0 and r["count"] > 0 for r in mine)
    rows = [r for r in found if (r["device"], r["step"]) == (device, step)]
    assert len({(r["cause"], r["detail"]) for r in rows}) == len(rows)
    return {(r["cause"], r["detail"]): r["total_ns"] for r in rows}
