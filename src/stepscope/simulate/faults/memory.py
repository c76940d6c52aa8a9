"""Faults of device memory."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _allocator_churn(job: SimJob) -> SimJob:
    """Each step allocates its memory anew, as with ``torch.cuda.empty_cache()`` in the loop."""
    return replace(job, empty_cache=True)


ALLOCATOR_CHURN = Fault(
    name="allocator-churn",
    summary="Cached device memory is given back to the driver after every step.",
    raises=("allocation",),
    apply=_allocator_churn,
)


def _memory_leak(job: SimJob) -> SimJob:
    """Memory grows with each step, as with a list of losses that keep their graphs."""
    return replace(job, leak_bytes=job.leak_bytes + (24 << 20))


MEMORY_LEAK = Fault(
    name="memory-leak",
    summary="Every step keeps some device memory.",
    raises=("allocation",),
    apply=_memory_leak,
)

FAULTS = (ALLOCATOR_CHURN, MEMORY_LEAK)
