"""Sharded parameters: each block gathers its own before it runs, and reduce-scatters its gradients after."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from stepscope.simulate.program.builder import Builder
from stepscope.simulate.program.communication import ALL_GATHER, REDUCE_SCATTER, Communicator
from stepscope.simulate.specs import TensorSpec


@dataclass(slots=True)
class Sharder:
    """Gathers and scatters blocks of one size; ``pending`` are reductions compute has not waited for yet."""

    b: Builder
    group: Communicator
    pending: list[int] = field(default_factory=list)

    @contextmanager
    def unit(self, elements: int) -> Iterator[None]:
        """A block with this many parameters around what is emitted inside, forward and backward."""
        b = self.b
        gathered: list[int] = []

        def scatter() -> None:
            with b.annotation("FSDP::post_backward_reduce"):
                self.pending.append(self.group.start(REDUCE_SCATTER, elements))
            b.free(gathered.pop())

        def gather() -> None:
            gathered.append(self._gather(elements, "FSDP::pre_backward"))

        b.hook(scatter)
        slot = self._gather(elements, "FSDP::pre_forward")
        yield
        b.free(slot)
        b.hook(gather)

    def finish(self) -> None:
        """Let the optimizer wait for every reduction after the backward."""
        for event in self.pending:
            self.group.wait(event)
        self.pending.clear()

    def _gather(self, elements: int, name: str) -> int:
        with self.b.annotation(name):
            slot = self.b.empty(TensorSpec((elements,), self.b.job.dtype))
            event = self.group.start(ALL_GATHER, elements)
        self.group.wait(event)
        return slot
