"""Operators that do their work on the host although the job has a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.grouping import texts
from stepscope.analyses.needs import need_device, need_operators
from stepscope.model.intervals import Times
from stepscope.signals.host import operator_ns
from stepscope.signals.job import recorded_steps, step_ns
from stepscope.signals.signal import Signals, signal

#: An operator that launches nothing and takes longer than that works on the host itself; a view takes 1 µs.
_WORKING_NS: Final = 50_000
#: Where the host is slow in everything it must be so many times longer than what calls nothing usually takes.
_TIMES: Final = 10

# Innermost operators, by name; of these the ones whose median call is long, and not due to what they call.
_CALLS_SQL: Final = f"""
WITH leaves AS (
    SELECT s.id, s.track, s.ts, s.dur, s.name_id FROM spans s
    ANTI JOIN (SELECT parent FROM spans WHERE category IN ('op', 'runtime', 'launch', 'sync', 'queue', 'gc')) p
        ON s.id = p.parent
    ANTI JOIN (SELECT op FROM kernels WHERE op IS NOT NULL) k ON s.id = k.op
    WHERE s.category = 'op' AND s.step IS NOT NULL AND s.dur > 0
), slow AS (
    SELECT l.name_id FROM leaves l JOIN names n USING (name_id)
    WHERE regexp_matches(n.name, '^(aten|torchvision|torchaudio|quantized|mkldnn)::')
    GROUP BY 1 HAVING quantile_disc(l.dur, 0.5) >= greatest($usual * {_TIMES}, {_WORKING_NS})
), waits AS (
    SELECT s.track, s.ts, s.ts + s.dur AS stop FROM spans s WHERE s.category = 'dataloader' AND s.dur > 0
)
SELECT l.id, l.ts, l.dur, l.name_id FROM leaves l SEMI JOIN slow USING (name_id)
ASOF LEFT JOIN waits w ON l.track = w.track AND l.ts >= w.ts
WHERE w.stop IS NULL OR l.ts >= w.stop ORDER BY l.ts, l.id
"""


@dataclass(frozen=True, slots=True)
class Calls:
    """Operators in steps, outside the loader, that work on the host; in time order.

    Attributes:
        events: int64[n].
        ts: int64[n].
        dur: int64[n].
        names: Their names, those with most time first.
    """

    events: NDArray[np.int64]
    ts: Times
    dur: Times
    names: tuple[str, ...]


@signal()
def working(s: Signals) -> Calls:
    """Operators of PyTorch that launch nothing on the device and usually take 50 µs or more."""
    need_device(s.trace)
    need_operators(s.trace)
    rows = s.trace.columns(_CALLS_SQL, {"usual": s(operator_ns)})
    names, index = np.unique(rows["name_id"], return_inverse=True)
    total = np.bincount(index, rows["dur"], names.size) if names.size else np.zeros(0)
    longest = names[np.argsort(-total, kind="stable")]
    return Calls(rows["id"], rows["ts"], rows["dur"], tuple(str(name) for name in texts(s.trace, longest)))


@signal("share")
def working_share(s: Signals) -> float:
    """Host time of operators that work on the host, as a share of the mean step."""
    return int(s(working).dur.sum()) / s(recorded_steps) / s(step_ns)
