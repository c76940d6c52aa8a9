"""Detect a device clock ahead of the host's from launches onto an idle device.

Such work starts within microseconds of the call's return. If even the fastest of many launches take much longer, the
device's clock is ahead, whether or not a wait shows it.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from stepscope.model.intervals import Times

#: Idle time of the device before work that counts as launched onto an idle device, in ns.
_IDLE_NS: Final = 20_000
#: So many launches tell. In 40 recordings of NVIDIA, AMD and Ascend the quickest tenth starts 24 µs at most after the
#: call returned, mostly 1 to 5.
_CASES: Final = 20
_QUICK: Final = 0.1
_USUAL_NS: Final = 2_000
_LATE_NS: Final = 50_000


def delays(work: dict[str, Any], calls: dict[str, Any]) -> Times:
    """Time from the return of each launch onto an idle device to the start of its first work, int64[m] in ns.

    Args:
        work: `ts`, `stop` and `correlation` of device work; 0 is none.
        calls: `stop`, `correlation` and `launches` of host calls.
    """
    if not work["ts"].size:
        return np.zeros(0, np.int64)
    order = np.argsort(work["ts"], kind="stable")
    ts, key = work["ts"][order], work["correlation"][order]
    reach = np.maximum.accumulate(work["stop"][order])
    # Whether the device was idle before the first activity is unknown.
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
    """Lower bound of the clock's lead in ns; 0 if there is no evidence for one."""
    if found.size < _CASES:
        return 0
    quick = int(np.quantile(found, _QUICK))
    return quick - _USUAL_NS if quick > _LATE_NS else 0
