"""What is said of a job with something planted in it, and whether that names the culprit first."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.cluster.compact import compact
from bench.cluster.examining import NAMING, examined
from bench.cluster.planted import Planted
from bench.cluster.standins import represented
from stepscope.cluster.job import JobParts
from stepscope.cluster.tables import JOB_TABLES
from stepscope.ingest import Options, open_trace
from stepscope.ingest.workers import processes
from stepscope.model.table import Table
from stepscope.reports.ranks.tasks import memory_of
from stepscope.rules.finding import Finding
from stepscope.simulate import simulate

#: Rules that name a rank, host or link.
_NAMING = ("CLU001", "CLU002", "CLU003", "CLU004", "CLU009")


@dataclass(frozen=True, slots=True)
class Verdict:
    """One run.

    Attributes:
        planted: What was wrong.
        first: Whether the first finding of all names the culprit; of a healthy job, whether none names anybody. None
            where no rule was asked.
        table: The same of the first row of `slow_ranks` or `slow_links`; None where these are not about it.
        said: The first findings.
        same: Whether the findings name the ranks that `slow_ranks` calls slow, and no others; None as for `first`.
    """

    planted: Planted
    first: bool | None
    table: bool | None
    said: str
    same: bool | None = None


def verdict(planted: Planted, read: int = 0) -> Verdict:
    """Simulate a job, write it, read it and diagnose it.

    Args:
        planted: The job.
        read: How many ranks are read, and stand in for the others; 0 for all.
    """
    if 0 < read < planted.job.ranks:
        return judged(planted, *_with_tables(*represented(planted, read)))
    with tempfile.TemporaryDirectory() as folder:
        simulate(planted.job, Path(folder) / "job", planted.format)
        with open_trace(Path(folder) / "job", Options(store=Path(folder) / "store")) as trace:
            found = examined(trace, processes(planted.job.ranks, memory_of(trace.recordings)))
            return judged(planted, *_with_tables(*found))


def of_tables(planted: Planted) -> Verdict:
    """What the tables say of a job that is simulated, but neither written nor read."""
    return replace(judged(planted, *_with_tables((), compact(planted.job))), first=None, same=None)


def _with_tables(shown: Sequence[Finding], job: JobParts) -> tuple[Sequence[Finding], Mapping[str, Table]]:
    return shown, {name: JOB_TABLES[name].run(job) for name in NAMING}


def judged(planted: Planted, shown: Sequence[Finding], tables: Mapping[str, Table]) -> Verdict:
    """Compare findings and tables with what was planted."""
    said = "; ".join(f"{one.code} ranks {_some(one.evidence.ranks)}" for one in shown[:3]) or "nothing"
    late = {row["rank"] for row in tables["slow_ranks"].records() if row["slow"]}
    same = late == {rank for one in shown for rank in one.late}
    if planted.codes:
        return Verdict(planted, bool(shown) and _names(shown[0], planted), _first_row(planted, tables), said, same)
    named = any(one.code in _NAMING for one in shown)
    slow = [row for name in ("slow_ranks", "slow_links") for row in tables[name].records() if row["slow"]]
    return Verdict(planted, not named, not slow, said, same)


def _some(ranks: tuple[int, ...]) -> str:
    return f"{', '.join(map(str, ranks[:4]))}{', ...' if len(ranks) > 4 else ''}"


def _names(found: Finding, planted: Planted) -> bool:
    if found.code not in planted.codes:
        return False
    if planted.stage is not None:
        return f"Stage {planted.stage} computes" in found.summary
    if found.code == "CLU002":
        # The group that the link is in, or the two ranks themselves.
        return set(planted.ranks) <= set(found.evidence.ranks[: planted.job.inner_ranks or 2])
    return found.evidence.ranks[0] == planted.ranks[0]


def _first_row(planted: Planted, tables: Mapping[str, Table]) -> bool | None:
    """Whether the table about it begins with the culprit."""
    if planted.stage is not None:
        return None
    name = "slow_links" if "CLU002" in planted.codes else "slow_ranks"
    row = tables[name].records()[0]
    ranks = row["ranks"] if name == "slow_links" else [row["rank"]]
    return bool(row["slow"]) and set(planted.ranks) <= set(ranks)
