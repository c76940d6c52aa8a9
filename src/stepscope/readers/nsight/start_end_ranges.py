"""Place start/end ranges on their thread where they nest with its calls, else on a track beside it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stepscope.model.intervals import Times
from stepscope.readers.nsight.loader import ExportLoader

_THREADS: Final = """
SELECT DISTINCT own.global_tid, own.track FROM nsight_range_tracks own
JOIN nsight_range_tracks beside ON beside.global_tid = own.global_tid AND beside.is_start_end
WHERE NOT own.is_start_end ORDER BY 2
"""
_OTHERS: Final = "SELECT ts, ts + coalesce(dur, 0) AS stop FROM raw_events WHERE track = ?"
_RANGES: Final = """
SELECT e.id, e.ts, e.ts + coalesce(e.dur, 0) AS stop, n.stays
FROM raw_events e JOIN nsight_nvtx n USING (id)
WHERE e.track = (SELECT track FROM nsight_range_tracks WHERE global_tid = $thread AND is_start_end) ORDER BY e.id
"""


def attach_ranges(loader: ExportLoader) -> None:
    """Move ranges to their thread if they start and end there and overlap no call of it in part.

    On the thread they enclose its launches. A range that overlaps a call in part would clip that call, so it stays on
    the track beside the thread. All other host events must have been staged.
    """
    connection = loader.staging.connection
    for global_tid, track in connection.execute(_THREADS).fetchall():
        ranges = connection.execute(_RANGES, {"thread": global_tid}).fetchnumpy()
        others = connection.execute(_OTHERS, [track]).fetchnumpy()
        fits = _nests(ranges, others) & np.asarray(ranges["stays"], np.bool_)
        connection.register("attached", pa.table({"id": pa.array(ranges["id"][fits], pa.int64())}))
        connection.execute(f"UPDATE raw_events SET track = {track} WHERE id IN (SELECT id FROM attached)")
        connection.unregister("attached")


def _nests(ranges: dict[str, NDArray[Any]], others: dict[str, NDArray[Any]]) -> NDArray[np.bool_]:
    """Whether each range overlaps no other interval in part, bool[n]."""
    starts: Times = np.concatenate((ranges["ts"], others["ts"]))
    stops: Times = np.concatenate((ranges["stop"], others["stop"]))
    by_start, by_stop = np.argsort(starts), np.argsort(stops)
    begun, ended = starts[by_start], stops[by_stop]
    latest, earliest = stops[by_start], starts[by_stop]
    low, high = ranges["ts"], ranges["stop"]
    # An interval starting strictly inside must not end after the range, one ending strictly inside not start before it.
    inner = np.searchsorted(begun, low, side="right"), np.searchsorted(begun, high, side="left")
    outer = np.searchsorted(ended, low, side="right"), np.searchsorted(ended, high, side="left")
    fits = np.ones(low.size, np.bool_)
    for index in range(low.size):
        within = latest[inner[0][index] : inner[1][index]]
        around = earliest[outer[0][index] : outer[1][index]]
        fits[index] = within.max(initial=low[index]) <= high[index] and around.min(initial=high[index]) >= low[index]
    return fits
