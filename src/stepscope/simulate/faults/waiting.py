"""Faults that keep the host waiting for the device."""

from __future__ import annotations

from dataclasses import replace

from stepscope.simulate.faults.fault import Fault
from stepscope.simulate.job import SimJob


def _item_sync(job: SimJob) -> SimJob:
    """Two ``.item()`` calls per layer make the host wait for the device each time."""
    return replace(job, items_per_step=job.items_per_step + 2 * job.layers)


ITEM_SYNC = Fault(
    name="item-sync",
    summary="The model reads numbers from the device in the middle of the step.",
    raises=("synchronisation",),
    apply=_item_sync,
)


def _step_sync(job: SimJob) -> SimJob:
    """The host waits for the device at each step's end, as a timer around the step does."""
    return replace(job, sync_each_step=True)


STEP_SYNC = Fault(
    name="step-sync",
    summary="The device is synchronised at the end of every step.",
    raises=("synchronisation",),
    apply=_step_sync,
)


def _sync_every_op(job: SimJob) -> SimJob:
    """The host waits after every operator, as with CUDA_LAUNCH_BLOCKING=1."""
    return replace(job, sync_every_op=True)


SYNC_EVERY_OP = Fault(
    name="sync-every-op",
    summary="The host waits for the device after every kernel it launches.",
    raises=("synchronisation",),
    apply=_sync_every_op,
)


def _pageable_copies(job: SimJob) -> SimJob:
    """Copies go through a staging buffer and block the host until they are done."""
    return replace(job, pinned=False)


PAGEABLE_COPIES = Fault(
    name="pageable-copies",
    summary="Batches are copied from memory that is not page-locked.",
    raises=("synchronisation", "exposed_copy_ns"),
    apply=_pageable_copies,
)

FAULTS = (ITEM_SYNC, STEP_SYNC, SYNC_EVERY_OP, PAGEABLE_COPIES)
