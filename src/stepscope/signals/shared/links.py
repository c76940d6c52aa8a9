"""Whether device work is linked to the calls that launched it; without links, no host change affects it."""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.model.events.copies import Copies
from stepscope.model.events.device_work import DeviceWork
from stepscope.signals.signal import Signals, signal

#: Where most work has no call, a dependency graph of host and device falls apart into two.
_MOST: Final = 0.5


@signal()
def linked(s: Signals) -> bool:
    """Whether most device activities have a known launch; true if there are none. Pages that migrate have none."""
    work, copies = DeviceWork.of(s.trace), Copies.of(s.trace)
    known = ~work.are("sync")
    pages = copies.at[copies.managed]
    known[pages] &= work.launched[pages]
    return bool(np.count_nonzero(work.launched & known) >= _MOST * np.count_nonzero(known))
