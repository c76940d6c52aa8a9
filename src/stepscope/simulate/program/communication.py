"""Collectives, sends and receives as a process group launches them: on a stream of their own, between two events."""

from __future__ import annotations

from dataclasses import dataclass

from stepscope.simulate.library_kernels import collective_kernel
from stepscope.simulate.pipeline import RankGroup
from stepscope.simulate.program import instructions as ins
from stepscope.simulate.program.builder import LEAVE, Builder
from stepscope.simulate.records import COMM, COMPUTE
from stepscope.simulate.specs import DTYPE_BYTES, Collective, OpSpec, TensorSpec

ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER = "allreduce", "_allgather_base", "_reduce_scatter_base"
SEND, RECEIVE = "send", "recv"
ALL_TO_ALL = "all_to_allv"
_RANGES = {
    ALL_REDUCE: "nccl:all_reduce",
    ALL_GATHER: "nccl:_all_gather_base",
    REDUCE_SCATTER: "nccl:_reduce_scatter_base",
    SEND: "nccl:send",
    RECEIVE: "nccl:recv",
    ALL_TO_ALL: "nccl:all_to_all",
}
_ELEMENTS = {"bf16": "BFloat16", "fp16": "Half", "fp32": "Float"}


@dataclass(slots=True)
class Communicator:
    """A process group; ``events`` counts the events it has recorded in the step, from one that is its own on."""

    b: Builder
    group: RankGroup
    events: int = 0

    def start(self, name: str, elements: int, between: tuple[int, ...] = (), received: int = 0, peer: int = -1) -> int:
        """Launch a collective over a whole tensor of ``elements``, after what is queued for compute.

        All ranks of the group take part, if none are named; ``received`` are the elements that an exchange brings,
        and ``peer`` is the rank at the other end of a send or receive.

        Returns:
            The event that marks its end; pass it to ``wait``.
        """
        b = self.b
        what = self._describe(name, elements, between or self.group.ranks, received, peer)
        before, after = self.events, self.events + 1
        self.events += 2
        shape = (TensorSpec((what.elements_in,), what.dtype),)
        b.out.append(ins.Enter(OpSpec("record_param_comms", "op", shape, extra=_fields(what))))
        b.out.append(ins.Enter(OpSpec(_RANGES[name], "annotation", shape)))
        b.out.append(ins.RecordEvent(before, COMPUTE))
        b.out.append(ins.WaitEvent(before, COMM))
        b.out.append(ins.Collect(b.kernels.collective(what), COMM))
        b.out.append(ins.RecordEvent(after, COMM))
        b.out.extend((LEAVE, LEAVE))
        return after

    def wait(self, event: int) -> None:
        """Let compute wait for a collective."""
        self.b.out.append(ins.WaitEvent(event, COMPUTE))

    def _describe(self, name: str, elements: int, between: tuple[int, ...], received: int, peer: int) -> Collective:
        job, group = self.b.job, self.group
        share = max(1, elements // len(group.ranks))
        return Collective(
            name=name,
            kernel=collective_kernel(self.b.kernels.costs.device, job.dtype, name),
            elements_in=share if name == ALL_GATHER else elements,
            elements_out=share if name == REDUCE_SCATTER else received or elements,
            dtype=job.dtype,
            bytes=max(elements, received) * DTYPE_BYTES[job.dtype],
            group=group.name,
            description=group.description,
            ranks=group.ranks,
            between=between,
            peer=peer,
        )


def _fields(what: Collective) -> dict[str, object]:
    return {
        "Collective name": what.name,
        "In msg nelems": what.elements_in,
        "Out msg nelems": what.elements_out,
        "In split size": "[]",
        "Out split size": "[]",
        "Group size": len(what.ranks),
        "dtype": _ELEMENTS[what.dtype],
        "Process Group Name": what.group,
        "Process Group Description": what.description,
        "Process Group Ranks": str(list(what.ranks)),
        **what.other_end,
        "Global rank start": 0,
        "Global rank stride": 1,
    }
