"""Runs of trials, made up."""

from __future__ import annotations

from collections.abc import Sequence

from stepscope.trying.runs import RunResult


def run(
    step_ns: float, *remedies: str, pair: int = 0, losses: Sequence[float] = (2.0, 1.5, 1.0), why: str = ""
) -> RunResult:
    """A run of one rank whose steps take so long."""
    return RunResult(
        list(remedies), why, step_ns, 20, "optimizer", losses=[list(losses)], norms=[[0.5] * len(losses)],
        applied=list(remedies), group=1, pair=pair,
    )  # fmt: skip


def runs(steps: Sequence[float], *remedies: str, losses: Sequence[float] = (2.0, 1.5, 1.0)) -> list[RunResult]:
    """A run for each of these lengths, each of another pair."""
    return [run(one, *remedies, pair=pair, losses=losses) for pair, one in enumerate(steps)]
