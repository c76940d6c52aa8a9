"""A simulated job straight as what the tables of all ranks are made of: nothing is written or read.

`JobParts` of 1,024 ranks take half a minute of processor time so, a fifth of what reading them takes. Calls of
collectives and the times of steps are those that a reader would find; what only a trace tells is not there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.communication.matching import Calls, Matching
from stepscope.analyses.stepgraph.building.peers import quickest
from stepscope.cluster.job import JobParts
from stepscope.cluster.part import GroupPart
from stepscope.model.intervals import Intervals
from stepscope.model.recording import Recording
from stepscope.signals.communication.cluster import pushed_by, ready_at, unhidden
from stepscope.signals.communication.rank_times import RankTimes
from stepscope.simulate.engine.run import Simulation, clock_offset
from stepscope.simulate.job import SimJob
from stepscope.simulate.pipeline import stage_of
from stepscope.simulate.records import ActivityRecord, CallRecord, Record
from stepscope.simulate.specs import Collective
from stepscope.simulate.writers.ascend.collectives import group_number

#: Kinds of collectives as tables call them; sends and receives are not matched.
_KINDS: Final = {
    "allreduce": "all_reduce", "_allgather_base": "all_gather", "_reduce_scatter_base": "reduce_scatter",
    "all_to_allv": "all_to_all",
}  # fmt: skip
_ORIGIN: Final = 10**18


def compact(
    job: SimJob, seen: Callable[[int, list[Record]], object] = lambda _, __: None, format: str = "kineto"
) -> JobParts:
    """The job's ranks, their collectives and the times of their steps.

    Args:
        job: What to simulate.
        seen: Called with a rank and its next records.
        format: What the ranks that are read are written as: Ascend's numbers calls and groups in its own way.
    """
    simulation, found = Simulation(job), [(_AscendRank if format == "ascend" else _Rank)() for _ in range(job.ranks)]
    for rank, records in simulation.batches():
        seen(rank, records)
        for record in records:
            if type(record) is ActivityRecord:
                found[rank].see(record)
            elif type(record) is CallRecord and record.launches:
                found[rank].launched[record.correlation] = record.start
    parts = JobParts()
    for rank, one in enumerate(found):
        recording = Recording(f"rank{rank}", format, rank, job.ranks, None, _ORIGIN + clock_offset(job, rank))
        parts.add(rank, recording, one.calls(rank), [*one.groups(), *pipeline_of(job, rank)])
    for rank, (one, truth) in enumerate(zip(found, simulation.truth(), strict=True)):
        parts.times[rank] = _times(job, rank, one, parts.collectives, truth["steps"])
    return parts


def pipeline_of(job: SimJob, rank: int) -> list[GroupPart]:
    """The group in which a rank sends to other stages and receives from them; none without a pipeline."""
    if job.stages == 1:
        return []
    pipe = stage_of(job, rank).pipe
    return [GroupPart(pipe.name, pipe.description, pipe.ranks, len(pipe.ranks), ("recv", "send"), 1, 0)]


class _Rank:
    """Collectives of one rank."""

    def __init__(self) -> None:
        self._rows: list[tuple[Collective, int, int, int, int]] = []
        self._computing: list[tuple[int, int]] = []
        self._kernels: list[tuple[int, int]] = []
        self._queued: list[tuple[int, int]] = []
        #: When each correlation was launched.
        self.launched: dict[int, int] = {}
        self._messages: list[tuple[Collective, int, int, int]] = []

    def see(self, record: ActivityRecord) -> None:
        """Take what a kernel or collective tells."""
        what = record.spec.collective
        if what is not None:
            self.add(record, what)
        elif record.spec.kind == "compute":
            self._computing.append((record.start, record.end))
            self._kernels.append((record.correlation, record.end))

    def add(self, record: ActivityRecord, what: Collective) -> None:
        if what.name in _KINDS:
            self._rows.append((what, record.end - record.start, record.end, record.sequence, record.step))
            self._queued.append((record.queue, record.correlation))
        else:
            self._messages.append((what, record.start, record.end, record.step))

    def calls(self, rank: int) -> Calls:
        """As `transfers.calls_of` gives them."""
        columns: dict[str, Any] = {
            "group": np.array([what.group for what, *_ in self._rows], object),
            "collective": np.array([_KINDS[what.name] for what, *_ in self._rows], object),
            "bytes": np.array([what.bytes for what, *_ in self._rows], np.int64),
        }
        for at, name in enumerate(("dur", "stop", "key", "step"), 1):
            columns[name] = np.array([row[at] for row in self._rows], np.int64)
        number = len(self._rows)
        return columns | {
            "rank": np.full(number, rank, np.int32), "event": np.arange(number), "device": np.zeros(number, np.int32),
            "typical": np.ones(number, np.bool_), "held": columns["dur"],
        }  # fmt: skip

    def waits(
        self, rank: int, matched: Matching, ranks: int
    ) -> tuple[Counter[int], Counter[int], Counter[tuple[int, int]]]:
        """By step, exposed waiting in collectives, and in sends and receives, ns; the first by who was last of all."""
        starts, ends = np.array(sorted(self._computing), np.int64).reshape(-1, 2).T
        computing = [Intervals.union_of(starts, ends)]
        calls = self.calls(rank)
        shortest, _ = matched.of(calls)
        wait = calls["dur"] - shortest
        ts = calls["stop"] - calls["dur"]
        held = unhidden(computing, ts, calls["dur"], wait, self._pushed(ts, calls["dur"], wait))
        between = Counter[int]()
        for name in {what.name for what, *_ in self._messages}:
            mine = [one for one in self._messages if one[0].name == name]
            begun, done, step = (np.array([one[at] for one in mine], np.int64) for at in (1, 2, 3))
            moving = np.minimum(quickest(np.array([one[0].bytes for one in mine]), done - begun), done - begun)
            exposed = done - begun - computing[0].within(begun, done)
            for at, ns in zip(step.tolist(), np.minimum(exposed, done - begun - moving).tolist(), strict=True):
                between[at] += ns
        in_collectives, awaited = Counter[int](), Counter[tuple[int, int]]()
        every = [len(what.ranks) >= ranks for what, *_ in self._rows]
        each = zip(
            calls["step"].tolist(), np.maximum(held, 0).tolist(), matched.last(calls).tolist(), every, strict=True
        )
        for at, ns, last, whole in each:
            in_collectives[at] += ns
            if whole and ns:
                awaited[at, last] += ns
        return in_collectives, between, awaited

    def _pushed(self, ts: NDArray[np.int64], dur: NDArray[np.int64], wait: NDArray[np.int64]) -> NDArray[np.int64]:
        kernels = sorted((self.launched.get(one, end), end) for one, end in self._kernels)
        compute, ends = np.array(kernels, np.int64).reshape(-1, 2).T
        queue, launched = np.array(
            [(queue, self.launched.get(one, at)) for (queue, one), at in zip(self._queued, ts.tolist(), strict=True)],
            np.int64,
        ).reshape(-1, 2).T  # fmt: skip
        order = np.argsort(ts, kind="stable")
        ready = ready_at(compute, ends, ts, launched)
        pushed = np.zeros_like(ts)
        pushed[order] = pushed_by(queue[order], ts[order], dur[order], wait[order], ready[order])
        return pushed

    def groups(self) -> list[GroupPart]:
        """The process groups that it called."""
        return [
            GroupPart(what.group, what.description, what.ranks, len(what.ranks), (), 1, what.bytes)
            for what in {what.group: what for what, *_ in self._rows}.values()
        ]


class _AscendRank(_Rank):
    """The same as HCCL records them: one group under its number, calls counted from 0."""

    def add(self, record: ActivityRecord, what: Collective) -> None:
        super().add(record._replace(sequence=record.sequence - 1), replace(what, group=str(group_number())))


def _times(job: SimJob, rank: int, one: _Rank, matched: Matching, steps: list[dict[str, Any]]) -> RankTimes:
    """Means over the steps, which are all typical: the parts of each as its truth splits it."""
    number = len(steps)
    total, compute, comm, copy, idle = (
        sum(step["tile"][name] for step in steps) // number
        for name in ("total_ns", "compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns")
    )
    held, between, awaited = one.waits(rank, matched, job.ranks)
    most = list(enumerate((step["tile"]["exposed_comm_ns"] for step in steps), job.warmup_steps))
    limits = dict(most)
    waits = [(at, min(held[at] + between[at], ns)) for at, ns in most]
    place = stage_of(job, rank)
    piped = job.stages > 1
    return RankTimes(
        number, total, compute, comm, copy, idle, sum(ns for _, ns in waits) // number,
        sum(min(held[at], ns) for at, ns in most) // number, tuple(waits),
        place.pipe.ranks if piped else (), place.index if piped else None,
        awaited=tuple((at, last, min(ns, limits[at])) for (at, last), ns in awaited.items() if at in limits),
    )  # fmt: skip
