"""Data parallelism: gradients gathered into buckets and all-reduced on the communication stream."""

from __future__ import annotations

from dataclasses import dataclass, field

from stepscope.simulate.program.builder import Builder
from stepscope.simulate.program.communication import ALL_REDUCE, Communicator
from stepscope.simulate.specs import DTYPE_BYTES, TensorSpec

# DDP keeps the first bucket small, so that communication starts early in the backward.
FIRST_BUCKET = 1 << 20


@dataclass(slots=True)
class Reducer:
    """Fills buckets in the order gradients become ready and reduces them.

    Attributes:
        b: where instructions go.
        group: the process group.
        outer: the group in which what the first has reduced is reduced further; None for none.
        filled: elements in the bucket being filled.
        limit: bytes at which that bucket is full.
        waiting: full buckets kept back until the backward is over (no overlap).
        done: end and size of every reduction the compute stream has not waited for yet.
    """

    b: Builder
    group: Communicator
    outer: Communicator | None = None
    filled: int = 0
    limit: int = FIRST_BUCKET
    waiting: list[int] = field(default_factory=list)
    done: list[tuple[int, int]] = field(default_factory=list)

    def ready(self, param: TensorSpec) -> None:
        """Handle a final gradient: copy it into the bucket, and reduce the bucket once it is full."""
        b = self.b
        with b.op("torch::distributed::reducer::mul_out", param), b.op("aten::mul", param, "", param):
            b.launch(b.kernels.elementwise("AUnaryFunctor<T, T, T, at::native::MulFunctor<T>>", param, 2))
        self.filled += param.elements
        if self.filled * DTYPE_BYTES[b.job.dtype] >= min(self.limit, b.job.bucket_bytes):
            self._close()

    def finish(self) -> None:
        """Reduce what is left after the backward, and let the compute stream wait for all of it."""
        if self.filled:
            self._close()
        for elements in self.waiting:
            self._reduce(elements)
        self.waiting.clear()
        for event, elements in self.done:
            self.group.wait(event)
            bucket = TensorSpec((elements,), self.b.job.dtype)
            with self.b.op("torch.distributed.ddp.reducer::copy_bucket_to_grad", bucket):
                self.b.view("aten::view", bucket)
        self.done.clear()

    def _close(self) -> None:
        elements, self.filled = self.filled, 0
        self.limit = self.b.job.bucket_bytes
        if self.b.job.overlap_comm:
            self._reduce(elements)
        else:
            self.waiting.append(elements)

    def _reduce(self, elements: int) -> None:
        event = self.group.start(ALL_REDUCE, elements)
        if self.outer is not None:
            event = self.outer.start(ALL_REDUCE, elements)
        self.done.append((event, elements))
