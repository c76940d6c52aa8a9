"""Write the job as an export, read some of its ranks, and say what the answer is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from stepscope.ingest import Inputs, Options, open_trace
from stepscope.reports.build import ReportOptions, build_report
from stepscope.rules.engine import diagnose
from stepscope.simulate import SimJob, simulate

#: Eight ranks, of which the sixth takes twice as long: the others wait for it.
JOB: Final = SimJob(
    device="ascend910b2", ranks=8, slow_rank=5, slow_factor=2.0, layers=1, hidden=2048, sequence=1024, batch=8, steps=2
)
LEVELS: Final = (-1, 0, 1, 2)
EXPORTS: Final = {"ascend": "text", "ascend-db": "database"}
NAMES: Final = ("8.0", "8.5")
#: How many of the eight ranks are read, from the first on.
SUBSETS: Final = {"one of eight": 1, "two of eight": 2, "all": 8}

_KERNELS: Final = (
    "SELECT rank, kind, name, count(*) AS n, sum(dur)::BIGINT AS total FROM kernels "
    "WHERE kind IN ('compute', 'comm', 'copy') GROUP BY ALL ORDER BY ALL"
)


@dataclass(frozen=True, slots=True)
class Cell:
    """What is read: a level (-1: none), an export, names of a release of CANN, and a number of ranks."""

    level: int
    export: str
    cann: str
    subset: str

    @property
    def names(self) -> str:
        """The level as the profiler calls it."""
        return "none" if self.level < 0 else str(self.level)


@dataclass(frozen=True, slots=True)
class MatrixAnswer:
    """What was read and found.

    Attributes:
        steps: Rank, number, and in ns the length, compute, exposed communication, exposed copies and idle time.
        kernels: Rank, kind, name, number and total ns of kernels, collectives and copies.
        findings: Code and price in ns of each shown finding; 0 without a price.
    """

    steps: tuple[tuple[int, ...], ...]
    kernels: tuple[tuple[object, ...], ...]
    findings: tuple[tuple[str, int], ...]


def cells() -> Iterator[Cell]:
    """Every combination."""
    for subset in SUBSETS:
        for level in LEVELS:
            for export in EXPORTS:
                for cann in NAMES:
                    yield Cell(level, export, cann, subset)


def written(cell: Cell, folder: Path) -> list[Path]:
    """The folders of all ranks, in order; they are written once."""
    out = folder / f"{cell.export}-{cell.names}-{cell.cann}"
    if out.is_dir():
        return sorted(out.glob("*_ascend_pt"))
    return simulate(replace(JOB, profiler_level=cell.level, cann=cell.cann), out, cell.export)


def answer(cell: Cell, folder: Path) -> MatrixAnswer:
    """Write what the cell says, if it is not there yet, and read it; `folder` keeps both."""
    ranks = written(cell, folder)[: SUBSETS[cell.subset]]
    inputs: Inputs = list(map(str, ranks)) if len(ranks) > 1 else ranks[0]
    with open_trace(inputs, Options(store=folder / "store")) as trace:
        # No table but this one is asked for: what the findings rest on, they compute themselves.
        budget = build_report(trace, ReportOptions(tables=("step_budget",))).table("step_budget")
        diagnosis = diagnose(trace)
        kernels = trace.sql(_KERNELS).to_pylist()
    parts = ("rank", "number", "total_ns", "compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns")
    steps = [row for row in budget.records() if row["step"] is not None]
    return MatrixAnswer(
        tuple(tuple(row[part] for part in parts) for row in steps),
        tuple(tuple(row.values()) for row in kernels),
        tuple((finding.code, finding.cost_ns or 0) for finding in diagnosis.shown),
    )
