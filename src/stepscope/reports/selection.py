"""What a report is to contain: options, and the steps and ranks that they choose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from stepscope.analyses.communication.given_groups import GivenGroup
from stepscope.ingest.workers import MakeWorkers
from stepscope.language import said
from stepscope.model.amounts import listed
from stepscope.model.errors import UserError
from stepscope.model.trace import Trace
from stepscope.rules.settings import Settings

#: Called with (what is being done, done, in all).
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Selection:
    """What a report is limited to, as asked for; empty for no limit."""

    steps: tuple[int, ...] = ()
    ranks: tuple[int, ...] = ()
    tables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """What a report is to contain.

    Attributes:
        steps: Steps to look at, as column `step` has them: by their recorded number; empty for all.
        ranks: Ranks to look at; empty for all.
        tables: Names of the tables to compute; empty for all.
        page: Compute only what a page shows something of, unless tables are named.
        rules: Which rules look for findings, and their thresholds; None for none. Rules do not run where tables are
            named.
        all_findings: Show findings that cost next to nothing too.
        strict: Let unexpected errors of an analysis through instead of noting them in health.
        progress: Told of the progress.
        between: Called at the start of each rank, after each analysis and before each rule; it may wait. Ranks that are
            analysed by other processes don't call it.
        groups: Groups of parallelism that the user states, in place of what the recordings tell.
        workers: Makes what ranks are analysed on, from their number and the bytes that each needs; None for processes
            of this machine where there are many ranks, else this one.
    """

    steps: tuple[int, ...] = ()
    ranks: tuple[int, ...] = ()
    tables: tuple[str, ...] = ()
    page: bool = False
    rules: Settings | None = field(default_factory=Settings)
    all_findings: bool = False
    strict: bool = False
    progress: Progress = lambda *_: None
    between: Callable[[], None] = lambda: None
    groups: tuple[GivenGroup, ...] = ()
    workers: MakeWorkers | None = None


def chosen_ranks(trace: Trace, ranks: Sequence[int]) -> tuple[int, ...]:
    """The ranks asked for, or all.

    Raises:
        UserError: The trace does not have one of them.
    """
    return ranks_of(trace.ranks, ranks)


def ranks_of(known: Sequence[int], ranks: Sequence[int]) -> tuple[int, ...]:
    """The ranks asked for, or all, of those that there are.

    Raises:
        UserError: One of them is not there.
    """
    for rank in ranks:
        if rank not in known:
            raise UserError(
                said("the input has no rank {rank}", rank=rank), hint=said("it has {known}", known=listed(known))
            )
    return tuple(sorted(set(ranks))) or tuple(known)


def steps_of_rank(trace: Trace, ranks: Sequence[int], wanted: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """The steps asked for that each rank has.

    Raises:
        UserError: No rank has one of the steps.
    """
    known: dict[int, set[int]] = {rank: set() for rank in ranks}
    for row in trace.rows("SELECT rank, step FROM steps"):
        if row["rank"] in known:
            known[row["rank"]].add(row["step"])
    return chosen_steps(known, wanted)


def chosen_steps(known: Mapping[int, set[int]], wanted: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """The steps asked for that each rank has, of those that it has.

    Raises:
        UserError: No rank has one of the steps.
    """
    everywhere = sorted(set().union(*known.values()))
    for step in wanted:
        if step not in everywhere:
            raise UserError(
                said("the input has no step {step}", step=step),
                hint=said("it has {everywhere}", everywhere=listed(everywhere)),
            )
    return {rank: tuple(step for step in wanted if step in steps) for rank, steps in known.items()}
