"""What the tables of a job need to know of a rank's steps: their budgets, and communication by process group."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from stepscope.analyses.registry import analyses, table_of
from stepscope.analyses.shared.typical import typical_part
from stepscope.model.events.steps import Steps
from stepscope.model.trace import Trace
from stepscope.signals import Signals
from stepscope.signals.communication.communication import P2P, calls

#: Columns of `StepPart.budgets`.
BUDGET = ("total_ns", "compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns")


@dataclass(frozen=True, slots=True)
class StepGroupTimes:
    """Collectives of one process group in one step of a rank, in ns: sums over calls.

    Attributes:
        calls: How many.
        comm_ns: Durations.
        exposed_ns: The part behind which nothing was computed.
        transfer_ns: The part that moved data; all of it where nothing tells.
        bubble_ns: Exposed waiting in sends and receives.
        bytes: Sizes, where recorded.
    """

    calls: int
    comm_ns: int
    exposed_ns: int
    transfer_ns: int
    bubble_ns: int
    bytes: int


@dataclass(frozen=True, slots=True)
class StepPart:
    """The typical steps of a rank.

    Attributes:
        budgets: By step, its parts in the order of `BUDGET`, in ns.
        groups: By step and group.
    """

    budgets: dict[int, tuple[int, ...]]
    groups: dict[tuple[int, str], StepGroupTimes] = field(default_factory=dict)


def steps_of(trace: Trace) -> StepPart | None:
    """The typical steps of a rank; None without any.

    Raises:
        MissingInputError: There is nothing that tells where their time goes.
    """
    typical = set(Steps.of(trace).typical_steps.tolist())
    budgets: dict[int, tuple[int, ...]] = {}
    for row in table_of(analyses()["step_budget"], trace).records():
        # Of a rank with several devices, the one that computes longest decides.
        found = tuple(int(row[name]) for name in BUDGET)
        if row["step"] in typical and found[1] >= budgets.get(row["step"], found)[1]:
            budgets[row["step"]] = found
    if not budgets:
        return None
    return StepPart(budgets, _groups(trace))


def _groups(trace: Trace) -> dict[tuple[int, str], StepGroupTimes]:
    found = Signals.of(typical_part(trace), trace).maybe(calls)
    if found is None:
        return {}
    sums: dict[tuple[int, str], list[int]] = defaultdict(lambda: [0] * 6)
    columns = (found.step, found.group, found.name, found.dur, found.exposed, found.transfer, found.bytes)
    for step, group, name, dur, exposed, transfer, size in zip(*(one.tolist() for one in columns), strict=True):
        bubble = min(exposed, dur - transfer) if name in P2P else 0
        values = (1, dur, exposed, transfer, bubble, max(size, 0))
        total = sums[step, group]
        for at, value in enumerate(values):
            total[at] += value
    return {key: StepGroupTimes(*values) for key, values in sums.items()}
