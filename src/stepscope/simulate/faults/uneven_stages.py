"""The longest stage of a pipeline makes all others wait."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault, piped
from stepscope.simulate.job import SimJob


def _apply(job: SimJob) -> SimJob:
    job = piped(job)
    last = job.last_stage_layers or job.layers // job.stages
    return replace(job, last_stage_layers=min(2 * last, job.layers - job.stages + 1))


FAULT = Fault(
    name="uneven-stages",
    summary="The last stage of the pipeline has more layers than the others.",
    raises=("exposed_comm_ns",),
    apply=_apply,
    ranks=2,
)
