"""From the facts a reader found to the canonical tables: nesting, steps, launches, classes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Final

from stepscope.ingest.derive.amounts import clean_amounts
from stepscope.ingest.derive.clean import clean_times
from stepscope.ingest.derive.collectives import derive_collectives
from stepscope.ingest.derive.devices import mark_used_devices
from stepscope.ingest.derive.flows import resolve_flows
from stepscope.ingest.derive.health import observe
from stepscope.ingest.derive.hosts import nest_hosts
from stepscope.ingest.derive.inputs import share_texts
from stepscope.ingest.derive.kernels import derive_kernels
from stepscope.ingest.derive.name_classes import classify_names
from stepscope.ingest.derive.steps import derive_steps, extend_steps
from stepscope.ingest.derive.work import gather_work
from stepscope.ingest.derive.write import Writing
from stepscope.store.staging import Staging

__all__ = ["derive"]

#: Columns of device activities are in memory as well from then on: some 450 bytes each, 0.5 GB in a trace of 4 GB.
_BESIDE_COLUMNS_MB: Final = 350


def derive(staging: Staging) -> int | None:
    """Derive every canonical table and write the store's files into the staging's folder.

    Returns:
        The origin: the recording's own time that became 0, in ns; None if there is no event.
    """
    share_texts(staging)
    origin, overview = clean_times(staging)
    clean_amounts(staging)
    derive_steps(staging)
    gather_work(staging)
    with Writing(staging) as writing:
        with ThreadPoolExecutor(1, thread_name_prefix="stepscope-classes") as executor:
            classes = executor.submit(classify_names, staging)
            nest_hosts(staging, writing)
        writing.start_derived(*derive_kernels(staging, classes.result()))
        derive_collectives(staging)
        mark_used_devices(staging)
        extend_steps(staging)
        resolve_flows(staging)
        observe(staging)
        writing.start_rest()
    return origin
