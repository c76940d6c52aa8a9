"""Scores, scaling, softmax and product as operators of their own: the scores travel through memory."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _apply(job: SimJob) -> SimJob:
    return replace(job, attention="math")


FAULT = Fault(
    name="unfused-attention",
    summary="Attention is written out as matrix products and a softmax.",
    raises=("compute_ns",),
    apply=_apply,
)
