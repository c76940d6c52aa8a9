"""Faults that can be injected into a job: each changes the mechanism, never what is written."""

from __future__ import annotations

from stepscope.model.errors import UserError
from stepscope.model.suggest import choose
from stepscope.simulate.faults import (
    allocator_churn,
    clock_skew,
    exposed_comm,
    few_micro_batches,
    gc_pauses,
    host_pauses,
    item_sync,
    loader_jitter,
    memory_leak,
    no_tensor_cores,
    no_workers,
    pageable_copies,
    profiler_overhead,
    python_overhead,
    slow_dispatch,
    slow_host,
    slow_link,
    slow_loader,
    slow_rank,
    small_buckets,
    small_kernels,
    step_sync,
    sync_every_op,
    uneven_stages,
    unfused_activation,
    unfused_attention,
    unfused_optimizer,
)
from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob

_MODULES = (
    allocator_churn,
    clock_skew,
    exposed_comm,
    few_micro_batches,
    gc_pauses,
    host_pauses,
    item_sync,
    loader_jitter,
    memory_leak,
    no_tensor_cores,
    no_workers,
    pageable_copies,
    profiler_overhead,
    python_overhead,
    slow_dispatch,
    slow_host,
    slow_link,
    slow_loader,
    slow_rank,
    small_buckets,
    small_kernels,
    step_sync,
    sync_every_op,
    uneven_stages,
    unfused_activation,
    unfused_attention,
    unfused_optimizer,
)

FAULTS: dict[str, Fault] = {module.FAULT.name: module.FAULT for module in _MODULES}


def inject(job: SimJob, names: tuple[str, ...]) -> SimJob:
    """The job with faults, applied in the given order.

    Raises:
        UserError: there is no fault of that name.
    """
    for name in names:
        if name not in FAULTS:
            raise UserError(f"no fault is called {name!r}", hint=choose(name, FAULTS))
        job = FAULTS[name].apply(job)
    return job


__all__ = ["FAULTS", "Fault", "inject"]
