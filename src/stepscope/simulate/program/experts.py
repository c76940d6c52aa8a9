"""Experts in place of a block's MLP: tokens are sent to the ranks of their experts, and come back (all-to-all)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from stepscope.simulate.job import SimJob
from stepscope.simulate.program import models
from stepscope.simulate.program.builder import Builder
from stepscope.simulate.program.communication import ALL_TO_ALL, Communicator
from stepscope.simulate.specs import TensorSpec


def tokens_of(job: SimJob, rank: int, tokens: int) -> int:
    """Tokens that the experts of a rank get in a step in which every rank has ``tokens``; none is lost."""
    if job.busy_rank < 0:
        return tokens
    if rank == job.busy_rank:
        return int(tokens * job.busy_factor)
    return max(1, int(tokens * (job.ranks - job.busy_factor) / (job.ranks - 1)))


@dataclass(slots=True)
class Experts:
    """The experts of a rank."""

    b: Builder
    group: Communicator
    rank: int

    def feed_forward(self, x: TensorSpec) -> None:
        """Emit the experts of a block, forward; their parameters are no other rank's, and not reduced."""
        b, known = self.b, len(self.b.tape)
        tokens = x.elements // b.job.hidden
        here = tokens_of(b.job, self.rank, tokens)
        self._exchange(tokens, here)
        models.feed_forward(b, TensorSpec((here, b.job.hidden), x.dtype))
        self._exchange(here, tokens)
        b.tape[known:] = [replace(node, params=()) for node in b.tape[known:]]

    def _exchange(self, given: int, taken: int) -> None:
        b, hidden = self.b, self.b.job.hidden
        sent, received = (TensorSpec((number, hidden), b.job.dtype) for number in (given, taken))
        with b.differentiable("_AllToAll", sent) as number:
            slot = b.empty(received)
            self._move(sent, received)
        b.record(("_AllToAllBackward", number), (received,), lambda: self._move(received, sent), saved=(slot,))

    def _move(self, sent: TensorSpec, received: TensorSpec) -> None:
        self.group.wait(self.group.start(ALL_TO_ALL, sent.elements, received=received.elements))
