"""What `--fail-on` does to a command: a line per limit, and exit status 1 if one is not kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

if TYPE_CHECKING:
    from stepscope.comparison.gates import GateResult, GrowthLimit
    from stepscope.comparison.metrics import MetricShift

#: Exit status where a limit is not kept.
GATE_FAILED: Final = 1

FailOn = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on", metavar="METRIC>N%", help="Exit with 1 if a metric grew by more, noise aside; may be repeated."
    ),
]


def limits_of(given: Sequence[str]) -> list[GrowthLimit]:
    """The limits that options mean, before anything is read.

    Raises:
        UserError: One of them means none.
    """
    from stepscope.comparison.gates import growth_limit

    return [growth_limit(one) for one in given]


def judged(limits: Sequence[GrowthLimit], metrics: Sequence[MetricShift]) -> tuple[GateResult, ...]:
    """Say on standard error whether each limit is kept."""
    from stepscope.comparison.gates import judge

    results = judge(limits, metrics)
    for one in results:
        typer.echo(f"{'failed' if one.failed else 'passed'}: {one.gate}: {one.message}", err=True)
    return results


def leave(results: Sequence[GateResult]) -> None:
    """End the command with status 1 if a limit is not kept."""
    if any(one.failed for one in results):
        raise typer.Exit(GATE_FAILED)
