"""Make the times of a device's history ascend in its order."""

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
class EntryClock:
    """Times of the entries.

    Attributes:
        ns: Time of each entry in ns, ascending; None if the entries have no times.
        mended: Number of entries without a usable time, or with an earlier one than their predecessor's.
    """

    ns: Int | None
    mended: int


def clock(time_us: Int) -> EntryClock:
    """Times in ns from recorded microseconds, 0 or less where missing.

    The order of entries is certain, since the allocator holds a lock; converting its clock's ticks has an error of some
    microseconds. So an earlier time than a predecessor's is raised to that.
    """
    known = time_us[(time_us > 0) & (time_us < _LATEST_US)]
    if not known.size:
        return EntryClock(None, 0)
    middle = int(np.median(known))
    usable = (time_us > 0) & (time_us < _LATEST_US) & (np.abs(time_us - middle) < _DAY_US)
    filled = np.maximum.accumulate(np.where(usable, time_us, 0))
    filled = np.maximum(filled, int(time_us[usable][0]))
    return EntryClock(filled * 1000, int((filled != time_us).sum()))
