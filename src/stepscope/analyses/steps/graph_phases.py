"""Phases of device work whose name says where in the program's graph it belongs.

A framework that runs a whole training step as one graph has no operators on the host and no launch per kernel. Kernels
of MindSpore are named by their place: `Gradients/Default/network/conv1-Conv2d/...` belongs to the backward pass of what
`Default/network/conv1-Conv2d/...` is the forward pass of, `Default/optimizer-Momentum/...` to the update.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.steps.phase_names import BACKWARD, FORWARD, OPTIMIZER
from stepscope.model.events.columns import names_by_id
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.trace import Trace

#: A path of cells, its end the number of an operator in the graph: `Default/cell/Conv2D-op1`.
_PLACED: Final = re.compile(r"^(?P<gradient>Gradients/)?Default/(?P<cells>.+/)\S*-op\d+(_\d+)?$")
#: Cells that reduce gradients and update parameters.
_UPDATE: Final = re.compile(r"(^|/)(optimizer|grad_reducer)-")


def graph_phases(trace: Trace) -> NDArray[np.int64]:
    """The phase of each activity of `DeviceWork`, int64[n], position in `PHASES`; -1 where its name doesn't tell.

    What has no place of its own (collectives, clears) belongs to the phase of what began last before it on its device.
    Ask for it with `Trace.once`.
    """
    work, names = DeviceWork.of(trace), trace.once(names_by_id)
    by_name = np.full(max(names, default=-1) + 2, -1, np.int64)
    used = np.unique(work.name)
    by_name[used] = [_phase(names.get(int(name), "")) for name in used.tolist()]
    found: NDArray[np.int64] = by_name[work.name]
    for device in np.unique(work.device[found >= 0]).tolist():
        mine = np.flatnonzero(work.device == device)
        mine = mine[np.lexsort((work.event[mine], work.ts[mine]))]
        told = found[mine] >= 0
        last = np.maximum.accumulate(np.where(told, np.arange(mine.size), -1))
        found[mine] = np.where(last >= 0, found[mine[last]], -1)
    return found


def _phase(name: str) -> int:
    place = _PLACED.match(name)
    if place is None:
        return -1
    if place["gradient"]:
        return BACKWARD
    return OPTIMIZER if _UPDATE.search(place["cells"]) else FORWARD
