"""Where the time of each step goes, over all ranks and by process group."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from stepscope.cluster.step_part import BUDGET, StepPart
from stepscope.model.schema import Column, TableSchema, count, ns, number, text
from stepscope.model.table import Table

GROUP_STEPS: Final = TableSchema(
    "group_steps",
    "Each typical step over all ranks at hand (`group` null) and over the ranks that communicate in each process "
    "group: means over the ranks. step_ns = compute_ns + exposed_comm_ns + exposed_copy_ns + idle_ns but for rounding. "
    "The columns from `calls` on are sums over the collectives of the group, or of all groups.",
    (
        text("group", "Process group; null for all ranks.", nullable=True),
        Column("step", "int32", "Step, as in `steps`."),
        count("ranks", "Ranks at hand."),
        ns("step_ns", "Length, as in `step_budget`."),
        ns("compute_ns", "Computing."),
        ns("exposed_comm_ns", "Communication, of any group, without computing."),
        ns("exposed_copy_ns", "Copies without either."),
        ns("idle_ns", "The rest."),
        number("balance", "The largest compute_ns of a rank over the mean: of the stages in a pipeline's group, of the "
               "load in one of experts; null if none computes, or one rank is at hand.", nullable=True),
        Column("busiest_rank", "int32", "The rank that computes longest; the lowest of several."),
        number("calls", "Collectives of a rank, as a mean.", "count"),
        ns("comm_ns", "Their durations."),
        ns("overlapped_ns", "The part of comm_ns behind which something is computed."),
        ns("exposed_ns", "The rest of comm_ns."),
        ns("transfer_ns", "The part of comm_ns that moves data; all of it where nothing tells."),
        ns("wait_ns", "The rest of comm_ns."),
        ns("bubble_ns", "Exposed waiting in sends and receives, as between the stages of a pipeline."),
        number("bytes", "Sizes of a rank's collectives, as a mean, where recorded.", "bytes"),
        number("load_balance", "The largest sum of sizes of a rank over the mean; null where none is recorded, or one "
               "rank is at hand.", nullable=True),
    ),
)  # fmt: skip


@dataclass(slots=True)
class _StepSum:
    """Sums over the ranks of a group in a step."""

    ranks: int = 0
    budget: list[int] = field(default_factory=lambda: [0] * len(BUDGET))
    busiest: tuple[int, int] = (-1, 0)
    calls: list[int] = field(default_factory=lambda: [0] * 6)
    largest: int = 0

    def add(self, rank: int, budget: tuple[int, ...], called: tuple[int, ...]) -> None:
        self.ranks += 1
        self.budget = [old + new for old, new in zip(self.budget, budget, strict=True)]
        self.calls = [old + new for old, new in zip(self.calls, called, strict=True)]
        self.busiest = max(self.busiest, (budget[1], -rank))
        self.largest = max(self.largest, called[5])


@dataclass(slots=True)
class StepSums:
    """Steps by group; of ranks nothing is kept but sums."""

    _sums: dict[tuple[str | None, int], _StepSum] = field(default_factory=dict)

    def add(self, rank: int, part: StepPart) -> None:
        """Add a rank's steps."""
        every = {step: [0] * 6 for step in part.budgets}
        for (step, group), one in part.groups.items():
            if step not in part.budgets:
                continue
            called = (one.calls, one.comm_ns, one.exposed_ns, one.transfer_ns, one.bubble_ns, one.bytes)
            every[step] = [old + new for old, new in zip(every[step], called, strict=True)]
            self._sum(group, step).add(rank, part.budgets[step], called)
        for step, total in every.items():
            self._sum(None, step).add(rank, part.budgets[step], tuple(total))

    def _sum(self, group: str | None, step: int) -> _StepSum:
        return self._sums.setdefault((group, step), _StepSum())

    def table(self) -> Table:
        """The steps, of all ranks first, then by group."""
        order = sorted(self._sums, key=lambda key: (key[0] is not None, key[0] or "", key[1]))
        return Table.from_rows(GROUP_STEPS, (_row(*key, self._sums[key]) for key in order))


def _row(group: str | None, step: int, one: _StepSum) -> tuple[object, ...]:
    number, called = one.ranks, one.calls
    comm, exposed, transfer, bubble = (value // number for value in called[1:5])
    most, rank = one.busiest
    compute, size = one.budget[1], called[5]
    compared = number > 1
    balance = most * number / compute if compute and compared else None
    load_balance = one.largest * number / size if size and compared else None
    return (
        group, step, number, *(value // number for value in one.budget), balance,
        -rank, called[0] / number, comm, comm - exposed, exposed, transfer, comm - transfer, bubble, size / number,
        load_balance,
    )  # fmt: skip
