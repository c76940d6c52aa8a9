"""The input pipeline: how long the job waits for batches, and what shows how they are loaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.errors import MissingInputError
from stepscope.signals.job import step_ns
from stepscope.signals.signal import Signals, signal

_WAITS_SQL: Final = """
SELECT s.id, s.ts, coalesce(s.dur, 0) AS dur, n.name
FROM spans s JOIN tracks t USING (track) JOIN names n USING (name_id)
WHERE t.kind = 'host' AND s.category = 'dataloader' ORDER BY s.ts, s.id
"""


@dataclass(frozen=True, slots=True)
class Waits:
    """Calls in which the job takes a batch from its loader, in time order.

    Attributes:
        events: int64[n], their events.
        ts: int64[n], begins.
        dur: int64[n], durations.
        names: As recorded.
    """

    events: NDArray[np.int64]
    ts: NDArray[np.int64]
    dur: NDArray[np.int64]
    names: tuple[str, ...]


@signal()
def waits(s: Signals) -> Waits:
    """Calls in which the job takes a batch from its loader."""
    rows = s.trace.sql(_WAITS_SQL)
    if not rows.num_rows:
        raise MissingInputError(
            "the recording shows no data loader",
            hint="profile the loop over a torch DataLoader, not only its body",
        )
    columns = (rows[name].to_numpy() for name in ("id", "ts", "dur"))
    return Waits(*columns, tuple(rows["name"].to_pylist()))


@signal("ns")
def wait_ns(s: Signals) -> int:
    """Mean wait for a batch, per step."""
    found = s(waits)
    steps = int(s.trace.scalar("SELECT count(*) FROM steps") or 1)
    return int(found.dur.sum()) // steps


@signal("share")
def wait_share(s: Signals) -> float:
    """Mean wait for a batch as a share of the mean step."""
    return s(wait_ns) / s(step_ns)


@signal()
def in_process(s: Signals) -> bool | None:
    """Whether the main process loads the batches itself (no workers); null if the recording does not tell."""
    return next((True for name in s(waits).names if "SingleProcess" in name), None) or next(
        (False for name in s(waits).names if "MultiProcessing" in name), None
    )
