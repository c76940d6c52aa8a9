"""Where a rank's typical steps go, as far as the ranks of a job are held against each other."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.grouping import Groups
from stepscope.model.errors import MissingInputError
from stepscope.model.events.steps import Steps
from stepscope.signals.communication.cluster import collectives
from stepscope.signals.communication.exchanged import Exchanged, exchanged
from stepscope.signals.communication.pipeline import bubbles, given_pipe, stage
from stepscope.signals.communication.waiting import Collectives
from stepscope.signals.signal import Signals, signal

#: Where all ranks at hand wait for more than this part, the one that came last is not at hand.
_ALL_WAIT: Final = 0.1
_NUMBERS_SQL: Final = "SELECT step, number FROM steps WHERE typical ORDER BY ts, step"


@dataclass(frozen=True, slots=True)
class RankTimes:
    """Where the typical steps of a rank go, in ns; means of them but for `waits`.

    Attributes:
        steps: Number of typical steps.
        step_ns: Length.
        compute_ns: As in `step_budget`.
        exposed_comm_ns: Likewise.
        exposed_copy_ns: Likewise.
        idle_ns: Likewise.
        waited_ns: The part of exposed_comm_ns that is waiting: for other ranks in collectives, for other stages in
            sends and receives; None where nothing tells.
        held_ns: The part of waited_ns in collectives; None where nothing tells.
        waits: The waiting in each step, by its recorded number; by its place where one has none.
        pipe: Ranks of its pipeline, by stage; empty if it is in none, or that is not recorded.
        place: Its stage, from 0 on; None if not recorded.
        under_way: Whether what is recorded is the job, and not its start-up or a few kernels.
        absent: Whether collectives whose waiting counts had other ranks that are not at hand, or may have had.
        awaited: By step, as in `waits`, and rank: the part of the waiting in collectives of the whole job to which that
            rank came last, beyond what all ranks waited.
        on_processor: Whether the model runs on the processor: computing is time in operators, exposed communication
            what ends with a collective of the host's and has none in it, idle time the rest.
    """

    steps: int
    step_ns: int
    compute_ns: int
    exposed_comm_ns: int
    exposed_copy_ns: int
    idle_ns: int
    waited_ns: int | None = None
    held_ns: int | None = None
    waits: tuple[tuple[int, int], ...] = ()
    pipe: tuple[int, ...] = ()
    place: int | None = None
    under_way: bool = True
    absent: bool = False
    awaited: tuple[tuple[int, int, int], ...] = ()
    on_processor: bool = False

    @property
    def transfer_ns(self) -> int:
        """The part of exposed_comm_ns that is no waiting."""
        return self.exposed_comm_ns - (self.waited_ns or 0)


@signal()
def rank_times(s: Signals) -> RankTimes:
    """Where the rank's typical steps go, to be held against other ranks."""
    typical = set(Steps.of(s.trace).typical_steps.tolist())
    rows = [row for row in s.table("step_budget").records() if row["step"] in typical]
    if not rows:
        raise MissingInputError("the recording has no complete step", hint="record at least two whole steps")
    on_host = s.maybe(exchanged)
    if on_host is not None:
        rows = _of_processor(rows, on_host)

    def mean(column: str) -> int:
        return sum(int(row[column]) for row in rows) // len(rows)

    found = s.maybe(collectives) if on_host is None else on_host.found
    known = found is not None and bool(found.known.any())
    place = s.maybe(stage)
    pipe = place.ranks if place is not None and place.position is not None else s(given_pipe)
    times = RankTimes(
        len(typical), mean("total_ns"), mean("compute_ns"), mean("exposed_comm_ns"), mean("exposed_copy_ns"),
        mean("idle_ns"),
        pipe=pipe,
        place=pipe.index(s.rank) if pipe else None,
        absent=found is not None and bool(found.absent.any()),
        on_processor=on_host is not None,
    )  # fmt: skip
    # Where the stage is not known, nor is who does the same.
    if not known or found is None or (place is not None and not times.pipe):
        return times
    # Of a process with several devices each waits; the mean of them is the rank's.
    devices, exposed = Counter[int](), Counter[int]()
    for row in rows:
        devices[row["step"]] += 1
        exposed[row["step"]] += int(row["exposed_comm_ns"])
    held = _by_step(found.step[found.known], found.exposed[found.known])
    in_stages = s.maybe(bubbles)
    waits = held if in_stages is None else held + Counter(in_stages)
    each = {step: (min(waits[step], most), min(held[step], most)) for step, most in exposed.items()}
    numbers = {row["step"]: row["number"] for row in s.trace.rows(_NUMBERS_SQL)}
    named = all(number is not None for number in numbers.values())
    order = [step for step in numbers if step in each]
    called = {step: int(numbers[step]) if named else place for place, step in enumerate(order)}
    return replace(
        times,
        waited_ns=sum(each[step][0] // devices[step] for step in order) // len(order),
        held_ns=sum(each[step][1] // devices[step] for step in order) // len(order),
        waits=tuple((called[step], each[step][0] // devices[step]) for step in order),
        awaited=tuple(
            (called[step], last, min(ns, each[step][1]) // devices[step])
            for (step, last), ns in _awaited(found).items()
            if step in called
        ),
    )


def _of_processor(rows: list[dict[str, Any]], on_host: Exchanged) -> list[dict[str, Any]]:
    """Steps of a rank without a device, by what its processor does in them."""
    starts, ends = (np.array([row[side] for row in rows], np.int64) for side in ("start_ns", "end_ns"))
    compute, stopped = on_host.compute.within(starts, ends), on_host.stopped.within(starts, ends)
    columns = (ends - starts, compute, stopped, ends - starts - compute - stopped)
    names = ("total_ns", "compute_ns", "exposed_comm_ns", "idle_ns")
    return [
        {**row, **dict(zip(names, each, strict=True))}
        for row, *each in zip(rows, *(column.tolist() for column in columns), strict=True)
    ]


def _awaited(found: Collectives) -> dict[tuple[int, int], int]:
    """What the rank waits for each other one, by step, in collectives of all ranks, which none of them waits in, ns."""
    wait = found.exposed - found.unseen
    mine = found.known & found.whole & (found.last >= 0) & (wait > 0) & (found.unseen <= _ALL_WAIT * found.exposed)
    each = Groups.by(found.step[mine], found.last[mine])
    keys = zip(found.step[mine][each.first].tolist(), found.last[mine][each.first].tolist(), strict=True)
    return dict(zip(keys, each.sum(wait[mine]).tolist(), strict=True))


def _by_step(steps: NDArray[np.int64], ns: NDArray[np.int64]) -> Counter[int]:
    each, index = np.unique(steps, return_inverse=True)
    sums = np.zeros(each.size, np.int64)
    np.add.at(sums, index, ns)
    return Counter(dict(zip(each.tolist(), sums.tolist(), strict=True)))
