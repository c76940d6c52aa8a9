"""Runtime calls that keep the host waiting for the device, told by name and by how they ended."""

from __future__ import annotations

from collections.abc import Callable

from stepscope.analyses.recorded_events import names_of, passing
from stepscope.model.runtime_names import is_blocking_copy, is_synchronisation
from stepscope.model.trace import Trace

#: Copies during which the host waited: to or from pageable memory, or by a call that always waits. Small pageable
#: copies to the device return at once, which the call's end tells.
BLOCKING_COPIES_SQL = """
SELECT k.event, k.launch FROM activities k LEFT JOIN copies c ON c.event = k.event
WHERE k.kind = 'copy' AND k.launch_ts + coalesce(k.launch_dur, 0) >= k.ts + k.dur
    AND ('pageable' IN (c.src_kind, c.dst_kind) OR k.launch_name_id IN (SELECT unnest($blocking)))
"""


def blocking_names(trace: Trace) -> list[int]:
    """`name_id` of the calls that copy and return only when the copy is done."""
    return _name_ids(trace, is_blocking_copy)


def synchronising_names(trace: Trace) -> list[int]:
    """`name_id` of the calls that wait for the device."""
    return _name_ids(trace, is_synchronisation)


def called_names(trace: Trace) -> list[tuple[int, str]]:
    """`name_id` and name of all calls of the runtime; ask for it with `Trace.once`."""
    return names_of(trace, ("runtime", "sync", "launch"))


def _name_ids(trace: Trace, test: Callable[[str], bool]) -> list[int]:
    return passing(trace.once(called_names), test)
