"""Faults that can be injected into a job: each changes the mechanism, never what is written."""

from __future__ import annotations

from stepscope.simulate.job import SimJob


def inject(job: SimJob, names: tuple[str, ...]) -> SimJob:
    """The job with faults."""
    del names
    return job
