"""Whether the device's clock is ahead of the host's, told by work that nothing was in the way of.

A launch onto an idle device starts within microseconds of the call's return. Where even the quickest of many take much
longer, no wait that ends too early has to be recorded to know that the clock is ahead.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from stepscope.model.intervals import Times

#: The device was idle for so long before what it did for a launch.
_IDLE_NS: Final = 20_000
#: So many launches tell. In 40 recordings of NVIDIA, AMD and Ascend the quickest tenth begins 24 µs at most after the
#: call returned, mostly 1 to 5.
_CASES: Final = 20
_QUICK: Final = 0.1
_USUAL_NS: Final = 2_000
_LATE_NS: Final = 50_000


def delays(work: dict[str, Any], calls: dict[str, Any]) -> Times:
    """From the return of each launch onto an idle device to the first work it launched, int64[m], in ns.

    Args:
        work: `ts`, `stop` and `correlation` of device work; 0 is none.
        calls: `stop`, `correlation` and `launches` of host calls.
    """
    if not work["ts"].size:
        return np.zeros(0, np.int64)
    order = np.argsort(work["ts"], kind="stable")
    ts, key = work["ts"][order], work["correlation"][order]
    reach = np.maximum.accumulate(work["stop"][order])
    # What came before the first is not recorded.
    alone = np.append(False, ts[1:] - reach[:-1] >= _IDLE_NS)
    _, first = np.unique(key, return_index=True)
    alone &= np.isin(np.arange(ts.size), first) & (key > 0)
    launching = np.flatnonzero(calls["launches"])
    launching = launching[np.argsort(calls["correlation"][launching], kind="stable")]
    known = calls["correlation"][launching]
    if not known.size:
        return np.zeros(0, np.int64)
    at = np.minimum(np.searchsorted(known, key, side="right") - 1, known.size - 1)
    alone &= (at >= 0) & (known[at] == key)
    found: Times = ts[alone] - calls["stop"][launching[at[alone]]]
    return found


def ahead(found: Times) -> int:
    """By how much the clock is ahead at least, in ns; 0 if it need not be."""
    if found.size < _CASES:
        return 0
    quick = int(np.quantile(found, _QUICK))
    return quick - _USUAL_NS if quick > _LATE_NS else 0
