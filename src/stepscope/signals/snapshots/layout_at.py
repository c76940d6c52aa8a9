"""Free ranges of a snapshot's segments when the allocator held most."""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.analyses.snapshots.memory_snapshot_layout import FreeLayout, layout
from stepscope.analyses.snapshots.memory_snapshot_levels import snapshot_levels
from stepscope.signals.signal import Signals, signal
from stepscope.signals.snapshots.peak_makeup import makeup

_GROWS_SQL: Final = """
SELECT seq FROM allocator_events WHERE device = $device AND action IN ('segment_alloc', 'segment_map') ORDER BY seq
"""


@signal()
def fullest_layout(s: Signals) -> FreeLayout:
    """Free ranges just after the allocator took the memory with which it held most.

    Without such an allocation in the history, at the peak of memory in use; without a history, at the snapshot.
    """
    device = s(makeup).device
    levels = next(one for one in snapshot_levels(s.trace) if one.device == device)
    grown = s.trace.columns(_GROWS_SQL, {"device": device})["seq"].astype(np.int64)
    # The entry at position p leads to row p + 1; the request itself comes next.
    rows = np.minimum(grown + 2, levels.ts.size - 1)
    if not rows.size:
        return layout(s.trace, levels, levels.peak)
    return layout(s.trace, levels, int(rows[levels.reserved[rows].argmax()]))
