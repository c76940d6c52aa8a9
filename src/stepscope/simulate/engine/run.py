"""Runs all ranks of a job together: each as far as its next collective, then the collective for all."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import lru_cache
from typing import Any

from stepscope.simulate.engine.rank import Rank, Request
from stepscope.simulate.job import SimJob
from stepscope.simulate.program.step import StepProgram, compile_step
from stepscope.simulate.records import Record

# Records a rank gathers before they are handed on.
BATCH = 8192


class Simulation:
    """A job being simulated; ``batches`` yields every rank's records, ``truth`` is complete afterwards."""

    def __init__(self, job: SimJob) -> None:
        self.job = job
        self.ranks = [Rank(job, index) for index in range(job.ranks)]

    def batches(self) -> Iterator[tuple[int, list[Record]]]:
        """Records of each rank in the order the host made them, in pieces of bounded size."""
        programs = lru_cache(maxsize=None)(self._program)
        running = [rank.run(programs) for rank in self.ranks]
        answers: list[int | None] = [None] * len(running)
        while True:
            requests: list[Request] = []
            for rank, steps in zip(self.ranks, running, strict=True):
                request: Request = None
                done = False
                while request is None and not done:
                    request, done = _advance(steps, answers[rank.index])
                    answers[rank.index] = None
                    if done or len(rank.buffer) >= BATCH:
                        records = rank.drain()
                        if records:
                            yield rank.index, records
                requests.append(request)
            if all(request is None for request in requests):
                return
            end = max(r[1] for r in requests if r) + max(r[0].duration_ns for r in requests if r)
            answers = [end] * len(running)

    def _program(self, variant: int) -> StepProgram:
        cycle = self.job.sequence_cycle
        return compile_step(self.job, max(1, self.job.sequence * (cycle - variant) // cycle))

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


def _advance(steps: Generator[Request, int | None, None], answer: int | None) -> tuple[Request, bool]:
    try:
        return (next(steps) if answer is None else steps.send(answer)), False
    except StopIteration:
        return None, True
