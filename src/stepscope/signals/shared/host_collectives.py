"""Collectives that threads of the host carry out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.signals.signal import Signals, signal

#: Collectives of the CPU backend run on host threads, as ranges of their own or within c10d's operators.
_GLOO_SQL: Final = """
SELECT s.id, s.ts, coalesce(s.dur, 0) AS dur, coalesce(s.step, -1)::INTEGER AS step
FROM spans s JOIN tracks t USING (track)
WHERE t.kind = 'host' AND s.name_id IN (SELECT name_id FROM names WHERE name LIKE 'gloo:%') ORDER BY s.ts, s.id
"""


@dataclass(frozen=True, slots=True)
class OnHost:
    """The n collectives that host threads carry out, in time order.

    Attributes:
        event: int64[n].
        ts: int64[n], ns.
        dur: int64[n], ns.
        step: int64[n], -1 outside every step.
    """

    event: NDArray[np.int64]
    ts: NDArray[np.int64]
    dur: NDArray[np.int64]
    step: NDArray[np.int64]


@signal()
def on_host(s: Signals) -> OnHost:
    """Collectives of the gloo backend, which host threads carry out."""
    rows = s.trace.columns(_GLOO_SQL)
    return OnHost(rows["id"], rows["ts"], rows["dur"], rows["step"].astype(np.int64))
