"""Replicas of the model that one process keeps on several devices, as `torch.nn.DataParallel` does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.needs import need_device
from stepscope.model.intervals import Intervals, Times
from stepscope.signals.job import recorded_steps, step_ns
from stepscope.signals.signal import Signals, signal

#: What DataParallel calls to hand out parameters and inputs, and to gather outputs and gradients.
_NAMES_SQL: Final = """
SELECT DISTINCT s.name_id, n.name FROM spans s JOIN names n USING (name_id) JOIN tracks t USING (track)
WHERE t.kind = 'host' AND (n.name IN ('DataParallel.forward', 'Broadcast', 'Scatter', 'Gather', 'BroadcastBackward',
        'ScatterBackward', 'GatherBackward', 'ReduceAddCoalesced')
    OR regexp_matches(n.name, 'nn/parallel/(data_parallel|replicate|scatter_gather|comm|_functions)\\.py')
    OR n.name LIKE 'nn.Module: DataParallel\\_%' ESCAPE '\\')
"""
_DEVICES_SQL: Final = "SELECT count(DISTINCT device) FROM kernels WHERE kind = 'compute'"
_MOVING: Final = ("Broadcast", "Scatter", "Gather", "ReduceAddCoalesced")
_EVENTS_SQL: Final = """
SELECT s.id, s.track, s.ts, s.ts + s.dur AS stop FROM spans s
WHERE s.name_id IN (SELECT unnest($names)) AND s.dur > 0 AND s.step IS NOT NULL ORDER BY s.ts, s.ts + s.dur DESC
"""
_LAUNCHED_SQL: Final = """
SELECT k.event, h.track, h.ts FROM kernels k JOIN spans h ON h.id = k.launch WHERE h.track IN (SELECT unnest($tracks))
"""


@dataclass(frozen=True, slots=True)
class Replicas:
    """What one process does to keep replicas on several devices.

    Attributes:
        devices: Devices that it computes on; at least 2.
        events: int64[n], outermost events that hand out or gather tensors.
        dur: int64[n].
        work: int64[m], device activities that these launched.
    """

    devices: int
    events: NDArray[np.int64]
    dur: Times
    work: NDArray[np.int64]


@signal()
def replicas(s: Signals) -> Replicas | None:
    """Replicas of DataParallel; None if the job has none."""
    need_device(s.trace)
    rows = s.trace.columns(_NAMES_SQL)
    devices = int(s.trace.scalar(_DEVICES_SQL) or 0)
    if not rows["name_id"].size or devices < 2:
        return None
    moving = [
        i for i, name in zip(rows["name_id"].tolist(), rows["name"].tolist(), strict=True) if name.startswith(_MOVING)
    ]
    found = s.trace.columns(_EVENTS_SQL, {"names": moving})
    reach = np.maximum.accumulate(found["stop"]) if found["stop"].size else found["stop"]
    outer = found["ts"] >= np.append(np.iinfo(np.int64).min, reach[:-1])[: reach.size]
    found = {name: values[outer] for name, values in found.items()}
    launched = s.trace.columns(_LAUNCHED_SQL, {"tracks": np.unique(found["track"]).tolist()})
    work = [np.zeros(0, np.int64)]
    for track in np.unique(found["track"]).tolist():
        mine, those = found["track"] == track, launched["track"] == track
        covered = Intervals.union_of(found["ts"][mine], found["stop"][mine])
        work.append(launched["event"][those][covered.at(launched["ts"][those])])
    return Replicas(devices, found["id"], found["stop"] - found["ts"], np.concatenate(work))


@signal("share")
def replicating_share(s: Signals) -> float:
    """Host time of handing out and gathering tensors between replicas as a share of the mean step."""
    found = s(replicas)
    return 0.0 if found is None else int(found.dur.sum()) / s(recorded_steps) / s(step_ns)
