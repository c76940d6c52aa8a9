"""Kernels that only convert tensors to another memory layout for one operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.analyses.shared.needs import need_device
from stepscope.model.events.columns import names_by_id
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.kernel_names.function import changes_layout
from stepscope.signals.shared.job import step_share
from stepscope.signals.shared.operations import Ids
from stepscope.signals.signal import Signals, signal

_KERNELS_SQL: Final = """
SELECT event, dur, name, CASE WHEN launch IS NOT NULL AND launch NOT IN (
        SELECT launch FROM kernels WHERE launch IS NOT NULL AND kind <> 'sync' AND name NOT IN (SELECT unnest($names))
    ) THEN launch ELSE -1 END AS launch
FROM kernels WHERE kind = 'compute' AND name IN (SELECT unnest($names)) ORDER BY event
"""
_CONVOLUTION_SQL: Final = "SELECT count(*) FROM kernels WHERE op_class = 'convolution'"


@dataclass(frozen=True, slots=True, eq=False)
class Layouts:
    """The n kernels that only change a layout.

    Attributes:
        event: int64[n].
        dur: int64[n].
        launches: int64[m], calls that launched nothing else.
        name: Of the one with the most time; empty if there is none.
        of_step: Their time as a share of the recorded steps.
        convolutions: Whether the job has convolutions.
    """

    event: Ids
    dur: Ids
    launches: Ids
    name: str
    of_step: float
    convolutions: bool


@signal()
def conversions(s: Signals) -> Layouts:
    """Kernels that only convert tensors to another memory layout for one operator."""
    need_device(s.trace)
    work, known = DeviceWork.of(s.trace), s.trace.once(names_by_id)
    computing = (known[name_id] for name_id in np.flatnonzero(np.bincount(work.name[work.are("compute")])).tolist())
    names = [name for name in computing if changes_layout(name)]
    if not names:
        nothing = np.zeros(0, np.int64)
        return Layouts(nothing, nothing, nothing, "", 0.0, False)
    rows = s.trace.columns(_KERNELS_SQL, {"names": names})
    total = {name: int(rows["dur"][rows["name"] == name].sum()) for name in names}
    return Layouts(
        rows["event"],
        rows["dur"],
        rows["launch"][rows["launch"] >= 0],
        max(names, key=lambda name: (total[name], name)),
        step_share(s, rows["dur"].sum()),
        bool(s.trace.scalar(_CONVOLUTION_SQL)),
    )
