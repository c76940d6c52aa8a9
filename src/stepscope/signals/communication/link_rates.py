"""Transfer rates between ranks: over each recorded link, and within each group of ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.analyses.communication.collective_transfers import transfers
from stepscope.analyses.shared.device_time import device_times
from stepscope.model.intervals import Intervals
from stepscope.signals.shared.job import recorded_steps
from stepscope.signals.signal import Signals, signal

#: Smaller messages take mostly the latency of a link.
_LARGE: Final = 1 << 20
#: So do smaller parts of messages: 18 GB/s, a usual rate, move so much in 15 µs, of which some 2 µs are not moving.
_PART: Final = 1 << 18

_PAIRS_SQL: Final = """
SELECT coalesce(c.ranks[t.src + 1], t.src) AS src, coalesce(c.ranks[t.dst + 1], t.dst) AS dst,
    coalesce(t.link, t.transport, 'unknown') AS link, sum(t.bytes)::BIGINT AS bytes, sum(s.dur)::BIGINT AS ns
FROM comm_tasks t JOIN spans s ON s.id = t.event LEFT JOIN collectives c ON c.event = t.collective
WHERE t.kind IN ('copy', 'reduce', 'send') AND t.bytes >= $least AND s.dur > 0
    AND t.src IS NOT NULL AND t.dst IS NOT NULL AND t.src <> t.dst AND coalesce(t.link, '') <> 'ON_CHIP'
GROUP BY ALL ORDER BY ALL
"""
_CALLS_SQL: Final = """
SELECT k.event, k.ts, k.dur, c.collective, c.bytes, coalesce(c.ranks, [])::VARCHAR AS ranks,
    coalesce(c.world_size, len(c.ranks)) AS world
FROM collectives c JOIN kernels k USING (event)
WHERE c.bytes IS NOT NULL AND c.ranks IS NOT NULL AND k.step IS NOT NULL AND k.dur > 0 ORDER BY k.ts
"""


@dataclass(frozen=True, slots=True)
class Pair:
    """Data moved from one rank to another over a kind of link, per step.

    Attributes:
        src: Rank.
        dst: Rank.
        link: HCCS, ROCE, PCIE, ..., as recorded.
        bytes: Bytes.
        ns: Time of the transfers.
        exposed: The part of the rank's communication behind which nothing is computed, as a fraction.
    """

    src: int
    dst: int
    link: str
    bytes: int
    ns: int
    exposed: float

    @property
    def rate(self) -> float:
        """Bytes per second."""
        return self.bytes * 1e9 / self.ns


@dataclass(frozen=True, slots=True)
class LikeCollectives:
    """Collectives of one kind and size among the same ranks.

    Attributes:
        ranks: The ranks, as recorded.
        collective: Kind.
        bytes: Size of one.
        world: Number of ranks.
        count: How many per step.
        ns: Median time of the transfer.
        exposed: As in `Pair`.
    """

    ranks: str
    collective: str
    bytes: int
    world: int
    count: float
    ns: int
    exposed: float


@signal("fraction")
def exposed_part(s: Signals) -> float:
    """Share of collective time in which nothing is computed."""
    devices = s.trace.once(device_times)
    total = sum(device.comm.total for device in devices)
    hidden = sum((device.comm & device.compute).total for device in devices)
    return (total - hidden) / total if total else 0.0


@signal()
def pairs(s: Signals) -> tuple[Pair, ...]:
    """Data moved between pairs of ranks, per step, where the library recorded its transfers of some size."""
    steps, exposed = s(recorded_steps), s(exposed_part)
    return tuple(
        Pair(row["src"], row["dst"], row["link"], row["bytes"] // steps, max(row["ns"] // steps, 1), exposed)
        for row in s.trace.rows(_PAIRS_SQL, {"least": _PART})
    )


@signal()
def groups(s: Signals) -> tuple[LikeCollectives, ...]:
    """Large collectives by ranks, kind and size."""
    rows = s.trace.columns(_CALLS_SQL)
    large = rows["bytes"] >= _LARGE
    if not large.any():
        return ()
    transfer, _ = s.trace.once(transfers).of(rows["event"], rows["dur"])
    compute = Intervals.empty()
    for device in s.trace.once(device_times):
        compute = compute | device.compute
    hidden = compute.within(rows["ts"], rows["ts"] + rows["dur"])
    keys = list(zip(rows["ranks"].tolist(), rows["collective"].tolist(), rows["bytes"].tolist(), strict=True))
    found = []
    for key in sorted({key for key, big in zip(keys, large.tolist(), strict=True) if big}):
        mine = np.array([key == one for one in keys])
        exposed = 1 - float(hidden[mine].sum()) / float(rows["dur"][mine].sum())
        number, world = int(np.count_nonzero(mine)), int(rows["world"][mine][0])
        found.append(LikeCollectives(*key, world, number / s(recorded_steps), int(np.median(transfer[mine])), exposed))
    return tuple(found)
