"""Derive the canonical tables from staged facts: nesting, steps, launches, kernel classes."""

from __future__ import annotations

from typing import Final

from stepscope.ingest.derive.amounts import clean_amounts
from stepscope.ingest.derive.checks import observe
from stepscope.ingest.derive.checks.derived import Derived
from stepscope.ingest.derive.clean import clean_times
from stepscope.ingest.derive.clock.align import align_devices
from stepscope.ingest.derive.collectives import derive_collectives
from stepscope.ingest.derive.devices import mark_used_devices
from stepscope.ingest.derive.host.launches import counted
from stepscope.ingest.derive.host.threads import nest_hosts
from stepscope.ingest.derive.inputs import share_texts
from stepscope.ingest.derive.kernels import derive_kernels
from stepscope.ingest.derive.names.classes import classify_names
from stepscope.ingest.derive.names.long import cut_long_names
from stepscope.ingest.derive.steps.found import FoundSteps
from stepscope.ingest.derive.work import RecordedWork
from stepscope.ingest.derive.write import Writing
from stepscope.model.process.executors import threads_for
from stepscope.model.process.footprint import give_back
from stepscope.store.staging import Staging

__all__ = ["derive"]

#: Memory limit of the staging area while device activities are derived: columns of these and of their launches take
#: another 450 bytes per activity.
_BESIDE_COLUMNS_MB: Final = 150


def derive(staging: Staging) -> int | None:
    """Derive every canonical table and write the store's files into the staging's folder.

    Returns:
        The origin: the recording's own time that became 0, in ns; None without events.
    """
    staging.write_tracks()
    staging.count_rows()
    cut_long_names(staging)
    share_texts(staging)
    origin, overview = clean_times(staging)
    if origin is not None:
        origin, overview = align_devices(staging, overview, origin)
    clean_amounts(staging)
    work = RecordedWork.read(staging, overview)
    steps = FoundSteps.find(staging, overview, work)
    with Writing(staging, overview.total) as writing:
        writing.start_staged()
        with threads_for(overview.total, 1, "classes") as executor:
            classes = executor.submit(classify_names, staging, work)
            hosts = nest_hosts(staging, overview, steps, work, writing)
        if not work.is_small:
            writing.wait()
            staging.limit_memory(_BESIDE_COLUMNS_MB)
            give_back()
        activities, stored, events = derive_kernels(staging, overview, steps, work, hosts, classes.result())
        writing.start_activities(stored)
        writing.start_device_events(overview, work, events, hosts.work, steps.places())
        writing.start_memory(hosts.allocations)
        writing.start_flows(activities, hosts.flows)
        steps, chain, launches = steps.complete(hosts.per_step), hosts.chain, counted(staging, hosts.launches)
        # Hundreds of MB in a long recording.
        del work, hosts, stored, events
        writing.start_steps(steps.table(activities))
        derive_collectives(staging, overview, activities, chain)
        mark_used_devices(staging, activities)
        observe(Derived(staging, overview, activities, launches, steps))
        writing.start_rest()
    return origin
