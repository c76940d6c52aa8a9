"""Run all ranks of a job together: each up to its next collective, then the collective for all."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import lru_cache, partial
from typing import Any

from stepscope.simulate.engine.rank import Rank, Request
from stepscope.simulate.job import SimJob
from stepscope.simulate.program.step import StepProgram, alike, compile_step
from stepscope.simulate.records import Record
from stepscope.simulate.specs import KernelSpec

# Records a rank gathers before they are handed on.
BATCH = 8192


class Simulation:
    """A job being simulated; ``batches`` yields every rank's records, ``truth`` is complete afterwards."""

    def __init__(self, job: SimJob) -> None:
        self.job = job
        self.ranks = [Rank(job, index) for index in range(job.ranks)]

    def batches(self) -> Iterator[tuple[int, list[Record]]]:
        """Records of each rank in the order the host made them, in batches of bounded size."""
        programs = lru_cache(maxsize=None)(self._program)
        running = [rank.run(partial(programs, alike(self.job, rank.index))) for rank in self.ranks]
        answers: list[int | None] = [None] * len(running)
        waiting: list[Request] = [None] * len(running)
        finished = [False] * len(running)
        while True:
            for rank, steps in zip(self.ranks, running, strict=True):
                at = rank.index
                while waiting[at] is None and not finished[at]:
                    waiting[at], finished[at] = _advance(steps, answers[at])
                    answers[at] = None
                    if finished[at] or len(rank.buffer) >= BATCH:
                        records = rank.drain()
                        if records:
                            yield at, records
            if all(finished):
                return
            self._settle(waiting, answers)

    @staticmethod
    def _settle(waiting: list[Request], answers: list[int | None]) -> None:
        """Set the end of each collective at which all its ranks have arrived; these ranks continue."""
        settled = False
        for between in {_between(request) for request in waiting if request is not None}:
            requests = [waiting[rank] for rank in between]
            arrived = [request for request in requests if request is not None and _between(request) == between]
            if len(arrived) == len(between):
                end = max(start for _, start in arrived) + max(kernel.duration_ns for kernel, _ in arrived)
                for rank in between:
                    waiting[rank], answers[rank], settled = None, end, True
        if not settled:
            raise RuntimeError("ranks wait for each other in different collectives")

    def _program(self, rank: int, variant: int) -> StepProgram:
        cycle = self.job.sequence_cycle
        return compile_step(self.job, max(1, self.job.sequence * (cycle - variant) // cycle), rank)

    def truth(self) -> list[dict[str, Any]]:
        """The truth of every rank."""
        return [
            {
                "rank": rank.index,
                "clock_offset_ns": clock_offset(self.job, rank.index),
                "peak_allocated": rank.allocator.peak_allocated,
                "peak_requested": rank.allocator.peak_requested,
                "peak_reserved": rank.allocator.peak_reserved,
                "segment_calls": rank.allocator.calls,
                "allocated_at_end": rank.allocator.allocated,
                "requested_at_end": rank.allocator.requested,
                "reserved_at_end": rank.allocator.reserved,
                "recorded_from": rank.recorded_from,
                "recorded_to": rank.now,
                **rank.truth.document(),
            }
            for rank in self.ranks
        ]


def clock_offset(job: SimJob, rank: int) -> int:
    """By how much the clock of a rank's host is ahead of the true time, in ns."""
    return rank // job.ranks_per_host * job.clock_offset_ns


def _between(request: tuple[KernelSpec, int]) -> tuple[int, ...]:
    what = request[0].collective
    return what.between if what is not None else ()


def _advance(steps: Generator[Request, int | None, None], answer: int | None) -> tuple[Request, bool]:
    try:
        return (next(steps) if answer is None else steps.send(answer)), False
    except StopIteration:
        return None, True
