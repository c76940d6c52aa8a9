"""Times of a device's history, made to ascend in its order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Int = NDArray[np.int64]

#: Entries further than this from the middle of the history have a wrong time: no history lasts a day.
_DAY_US = 24 * 3600 * 10**6
#: Times from the year 2112 on are damaged.
_LATEST_US = 1 << 52


@dataclass(frozen=True, slots=True)
class Clock:
    """Times of the entries.

    Attributes:
        ns: Time of each entry in ns, ascending; None if the entries have no times.
        mended: How many entries had no usable time, or an earlier one than their predecessor.
    """

    ns: Int | None
    mended: int


def clock(time_us: Int) -> Clock:
    """Times in ns from recorded microseconds, 0 or less where missing.

    Order is certain, since the allocator works under a lock; its clock's ticks are converted with an error of some
    microseconds. So an entry is at least as late as those before it.
    """
    known = time_us[(time_us > 0) & (time_us < _LATEST_US)]
    if not known.size:
        return Clock(None, 0)
    middle = int(np.median(known))
    usable = (time_us > 0) & (time_us < _LATEST_US) & (np.abs(time_us - middle) < _DAY_US)
    filled = np.maximum.accumulate(np.where(usable, time_us, 0))
    filled = np.maximum(filled, int(time_us[usable][0]))
    return Clock(filled * 1000, int((filled != time_us).sum()))
