"""Each collective pays its fixed latency."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _apply(job: SimJob) -> SimJob:
    return replace(job, ranks=max(2, job.ranks), bucket_bytes=64 << 10)


FAULT = Fault(
    name="small-buckets",
    summary="Gradients are reduced in many small collectives.",
    raises=("exposed_comm_ns", "host dispatch: runtime call", "host dispatch: op overhead"),
    apply=_apply,
    ranks=2,
)
