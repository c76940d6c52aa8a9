"""Faults of the host: slower work between and around operators, or interruptions."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _slow_dispatch(job: SimJob) -> SimJob:
    """Every operator and launch takes far longer, as on power-saving or shared cores, or with a debug build."""
    return replace(job, op_ns=8 * job.op_ns, launch_ns=5 * job.launch_ns)


SLOW_DISPATCH = Fault(
    name="slow-dispatch",
    summary="The host takes far longer to dispatch an operator than the device takes to run it.",
    raises=("host dispatch: op overhead", "host dispatch: runtime call"),
    apply=_slow_dispatch,
)


def _python_overhead(job: SimJob) -> SimJob:
    """Hooks, logging or wrappers around every module."""
    return replace(job, python_ns=8 * job.python_ns)


PYTHON_OVERHEAD = Fault(
    name="python-overhead",
    summary="The code between operators is slow.",
    raises=("host dispatch: python",),
    apply=_python_overhead,
)


def _gc_pauses(job: SimJob) -> SimJob:
    """Collections of several ms, every few hundred operators."""
    return replace(job, gc_interval_ops=150, gc_pause_ns=8_000_000)


GC_PAUSES = Fault(
    name="gc-pauses",
    summary="Python collects garbage in the middle of steps.",
    raises=("host dispatch: gc",),
    apply=_gc_pauses,
)


def _host_pauses(job: SimJob) -> SimJob:
    """Pauses of the host without any recorded reason."""
    return replace(job, pause_interval_ops=120, pause_ns=3_000_000)


HOST_PAUSES = Fault(
    name="host-pauses",
    summary="The process is paused now and then, as by another one on the same core.",
    raises=("host dispatch: python",),
    apply=_host_pauses,
)


def _profiler_overhead(job: SimJob) -> SimJob:
    """A profiler that slows down what it records."""
    return replace(job, buffer_flush_ops=100)


PROFILER_OVERHEAD = Fault(
    name="profiler-overhead",
    summary="The profiler stops the host for new buffers.",
    raises=("profiler overhead",),
    apply=_profiler_overhead,
)

FAULTS = (SLOW_DISPATCH, PYTHON_OVERHEAD, GC_PAUSES, HOST_PAUSES, PROFILER_OVERHEAD)
