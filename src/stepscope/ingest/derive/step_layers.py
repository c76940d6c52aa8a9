"""Whether what repeats in a recording are a model's layers: they are numbered, and each has a number of its own.

A part of one pass through a model is as periodic as a loop over steps. Ranges and modules tell them apart: each period
of layers is in one of the next number (`blocks.8`, `blocks.9`, ...), each step passes through all of them.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.intervals import Times
from stepscope.store.staging import Staging

#: What numbered parts of models are called, as in `layers.3`, `encoder.layer.3`, `transformer.h.3` or `DecoderLayer_3`.
_NUMBERED: Final = r"(?i)(layers?|blocks?|stages?|resnets|attentions|\bh)[._ \[]+(\d+)"
_NAMES_SQL: Final = f"""
SELECT regexp_replace(name, '{_NUMBERED}', '\1.#') AS kind,
    CAST(regexp_extract(name, '{_NUMBERED}', 2) AS BIGINT) AS number, e.ts
FROM raw_events e JOIN names USING (name_id) JOIN tracks t USING (track)
WHERE t.kind = 'host' AND e.category IN ('annotation', 'module', 'op') AND regexp_matches(name, '{_NUMBERED}')
    AND length(regexp_extract(name, '{_NUMBERED}', 2)) <= 6
ORDER BY kind, e.ts
"""
#: Share of neighbouring periods that must be in neighbouring layers.
_LEAST: Final = 0.8


def are_layers(staging: Staging, starts: Times) -> bool:
    """Whether periods are those of numbered layers, one after the other.

    Args:
        staging: What was read.
        starts: int64[n], when the host began each period, ascending.
    """
    rows = staging.connection.execute(_NAMES_SQL).fetchnumpy()
    kinds, number, ts = rows["kind"].astype(str), rows["number"].astype(np.int64), rows["ts"]
    period = np.searchsorted(starts, ts, side="right") - 1
    return any(_rise(period[mine], number[mine]) for mine in (kinds == kind for kind in np.unique(kinds)))


def _rise(period: NDArray[np.int64], number: NDArray[np.int64]) -> bool:
    """Whether each period has one number, and neighbours the next or the one before (in backward)."""
    seen, first = np.unique(period, return_index=True)
    same = all(np.unique(number[period == one]).size == 1 for one in seen.tolist())
    steps = np.diff(number[first])
    return same and seen.size >= 3 and bool(np.mean(np.abs(steps) == 1) >= _LEAST)
