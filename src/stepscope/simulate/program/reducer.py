"""Data parallelism: gradients gathered into buckets and all-reduced on the communication stream."""

from __future__ import annotations

from dataclasses import dataclass, field

from stepscope.simulate.names import all_reduce_name
from stepscope.simulate.program import instructions as ins
from stepscope.simulate.program.builder import LEAVE, Builder
from stepscope.simulate.program.ops import comms_op
from stepscope.simulate.records import COMM, COMPUTE
from stepscope.simulate.specs import Collective, OpSpec, Tensor


@dataclass(slots=True)
class Reducer:
    """Fills buckets in the order gradients become ready and reduces them.

    Attributes:
        b: where instructions go.
        filled: elements in the bucket being filled.
        waiting: full buckets kept back until the backward is over (no overlap).
        events: events recorded so far; each bucket takes two.
    """

    b: Builder
    filled: int = 0
    waiting: list[int] = field(default_factory=list)
    events: int = 0
    done: list[tuple[int, int]] = field(default_factory=list)

    def ready(self, param: Tensor, _slot: int) -> None:
        """A gradient is final: copy it into the bucket; reduce the bucket once it is full."""
        b = self.b
        with b.op("torch::distributed::reducer::mul_out", param), b.op("aten::mul", param, "", param):
            b.launch(b.kernels.elementwise("AUnaryFunctor<T, T, T, at::native::MulFunctor<T>>", param, 2))
        self.filled += param.elements
        if self.filled * _width(b) >= b.job.bucket_bytes:
            self._close()

    def finish(self) -> None:
        """The backward is over: reduce what is left and let the compute stream wait for all of it."""
        if self.filled:
            self._close()
        for elements in self.waiting:
            self._reduce(elements)
        self.waiting.clear()
        for event, elements in self.done:
            self.b.out.append(ins.WaitEvent(event, COMPUTE))
            bucket = Tensor((elements,), self.b.job.dtype)
            with self.b.op("torch.distributed.ddp.reducer::copy_bucket_to_grad", bucket):
                self.b.view("aten::view", bucket)
        self.done.clear()

    def _close(self) -> None:
        elements, self.filled = self.filled, 0
        if self.b.job.overlap_comm:
            self._reduce(elements)
        else:
            self.waiting.append(elements)

    def _reduce(self, elements: int) -> None:
        b = self.b
        job = b.job
        what = Collective(
            name="allreduce",
            kernel=all_reduce_name(b.kernels.costs.device, job.dtype),
            elements=elements,
            dtype=job.dtype,
            bytes=elements * _width(b),
            group="0",
            description="default_pg",
            ranks=tuple(range(job.ranks)),
        )
        kernel = b.kernels.collective(what)
        before, after = self.events, self.events + 1
        self.events += 2
        b.out.append(ins.Enter(comms_op(b, kernel)))
        b.out.append(ins.Enter(OpSpec("nccl:all_reduce", "annotation", (Tensor((elements,), job.dtype),))))
        b.out.append(ins.RecordEvent(before, COMPUTE))
        b.out.append(ins.WaitEvent(before, COMM))
        b.out.append(ins.Collect(kernel, COMM))
        b.out.append(ins.RecordEvent(after, COMM))
        b.out.extend((LEAVE, LEAVE))
        self.done.append((after, elements))


def _width(b: Builder) -> int:
    return Tensor((1,), b.job.dtype).bytes
