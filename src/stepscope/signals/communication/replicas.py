"""Replicas of a model that one process keeps on several devices (`torch.nn.DataParallel`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.needs import need_device
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Intervals, Times
from stepscope.signals.shared.job import recorded_steps, step_ns
from stepscope.signals.shared.ranges import apart
from stepscope.signals.signal import Signals, signal

#: What DataParallel calls to hand out parameters and inputs, and to gather outputs and gradients.
_NAMES_SQL: Final = """
SELECT DISTINCT s.name_id, n.name FROM spans s JOIN names n USING (name_id) JOIN tracks t USING (track)
WHERE t.kind = 'host' AND (n.name IN ('DataParallel.forward', 'Broadcast', 'Scatter', 'Gather', 'BroadcastBackward',
        'ScatterBackward', 'GatherBackward', 'ReduceAddCoalesced')
    OR regexp_matches(n.name, 'nn/parallel/(data_parallel|replicate|scatter_gather|comm|_functions)\\.py')
    OR n.name LIKE 'nn.Module: DataParallel\\_%' ESCAPE '\\')
"""
_MOVING: Final = ("Broadcast", "Scatter", "Gather", "ReduceAddCoalesced")
_EVENTS_SQL: Final = """
SELECT s.id, s.track, s.ts, s.ts + s.dur AS stop FROM spans s
WHERE s.name_id IN (SELECT unnest($names)) AND s.dur > 0 AND s.step IS NOT NULL ORDER BY s.ts, s.ts + s.dur DESC
"""


@dataclass(frozen=True, slots=True)
class Replicas:
    """Work of one process for keeping replicas on several devices.

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
    work = DeviceWork.of(s.trace)
    devices = np.setdiff1d(work.device[work.are("compute")], [-1]).size
    if devices < 2:
        return None
    rows = s.trace.columns(_NAMES_SQL)
    if not rows["name_id"].size:
        return None
    moving = [
        i for i, name in zip(rows["name_id"].tolist(), rows["name"].tolist(), strict=True) if name.startswith(_MOVING)
    ]
    found = s.trace.columns(_EVENTS_SQL, {"names": moving})
    outer = apart(found["ts"], found["stop"])
    found = {name: values[outer] for name, values in found.items()}
    replicating = [np.zeros(0, np.int64)]
    for track in np.unique(found["track"]).tolist():
        mine, those = found["track"] == track, work.launched & (work.thread == track)
        covered = Intervals.union_of(found["ts"][mine], found["stop"][mine])
        replicating.append(work.event[those][covered.at(work.called[those])])
    return Replicas(devices, found["id"], found["stop"] - found["ts"], np.concatenate(replicating))


@signal("share")
def replicating_share(s: Signals) -> float:
    """Host time of scattering and gathering tensors between replicas as a share of the mean step."""
    found = s(replicas)
    return 0.0 if found is None else int(found.dur.sum()) / s(recorded_steps) / s(step_ns)
