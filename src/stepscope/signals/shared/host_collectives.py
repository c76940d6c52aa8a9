"""Collectives that threads of the host carry out."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.events.columns import names_by_id
from stepscope.signals.signal import Signals, signal

#: Collectives of the CPU backend run on host threads, as ranges of their own or within c10d's operators.
_GLOO_SQL: Final = """
SELECT s.id, s.ts, coalesce(s.dur, 0) AS dur, coalesce(s.step, -1)::INTEGER AS step,
    regexp_matches(n.name, '^gloo:(send|recv)') AS pair
FROM spans s JOIN tracks t USING (track) JOIN names n USING (name_id)
WHERE t.kind = 'host' AND n.name LIKE 'gloo:%' ORDER BY s.ts, s.id
"""
#: Operators in which a thread waits for other ranks: those of c10d, and nodes of the autograd engine, whose hooks do.
#: What computes in such a node is an operator of its own.
_HOLDING: Final = re.compile(r"^(autograd::engine::|c10d::|record_param_comms$)|^[^:]+Backward\d*$")


@dataclass(frozen=True, slots=True)
class OnHost:
    """The n collectives that host threads carry out, in time order.

    Attributes:
        event: int64[n].
        ts: int64[n], ns.
        dur: int64[n], ns.
        step: int64[n], -1 outside every step.
        pair: bool[n], whether one rank sends to another.
    """

    event: NDArray[np.int64]
    ts: NDArray[np.int64]
    dur: NDArray[np.int64]
    step: NDArray[np.int64]
    pair: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))


@signal()
def on_host(s: Signals) -> OnHost:
    """Collectives of the gloo backend, which host threads carry out."""
    rows = s.trace.columns(_GLOO_SQL)
    return OnHost(rows["id"], rows["ts"], rows["dur"], rows["step"].astype(np.int64), rows["pair"])


@signal()
def holding(s: Signals) -> NDArray[np.int64]:
    """Names of operators that hold waits for other ranks where these exchange data through the host; else empty."""
    if not s(on_host).event.size:
        return np.zeros(0, np.int64)
    return np.array([one for one, name in s.trace.once(names_by_id).items() if _HOLDING.search(name)], np.int64)
