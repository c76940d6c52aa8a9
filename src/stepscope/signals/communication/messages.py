"""Small collectives: their number, and the time that their data would take in fewer, larger ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.model.bus import bus_factor
from stepscope.model.errors import MissingInputError
from stepscope.signals.communication.communication import P2P, CollectiveCalls, calls, in_backward
from stepscope.signals.communication.links import link
from stepscope.signals.signal import Signals, signal

#: What merged messages would hold: the default size of a bucket of DistributedDataParallel.
BUCKET: Final = 25 << 20
_OPS_SQL: Final = """
SELECT DISTINCT op FROM kernels WHERE event IN (SELECT unnest($events)) AND op IS NOT NULL ORDER BY op
"""


@dataclass(frozen=True, slots=True)
class Messages:
    """Collectives too small for the link's speed to matter.

    Attributes:
        calls: Which.
        ops: Operators on the host that issue them.
        time_factor: What their data would take in messages of `BUCKET` bytes, as a share of what it takes.
        count_factor: As many messages, as a share of theirs.
    """

    calls: CollectiveCalls
    ops: NDArray[np.int64]
    time_factor: float
    count_factor: float

    @property
    def per_step(self) -> float:
        """Number of messages per step."""
        return self.calls.event.size / self.calls.steps

    @property
    def ns_per_step(self) -> int:
        """Time of the messages per step, ns."""
        return int(self.calls.transfer.sum()) // self.calls.steps


@signal()
def gradients(s: Signals) -> Messages:
    """Small reductions of gradients, and gathers of sharded parameters."""
    return _messages(s, _of_gradients(s))


@signal()
def others(s: Signals) -> Messages:
    """Small collectives of other kinds: of activations, of metrics, of counts."""
    # A send takes long because the other side is not there yet, and has nothing to be merged with.
    return _messages(s, ~_of_gradients(s) & ~np.isin(s(calls).name, P2P))


def _of_gradients(s: Signals) -> NDArray[np.bool_]:
    name = s(calls).name
    sharded = (name == "reduce_scatter") | (name == "all_gather") & bool((name == "reduce_scatter").any())
    chosen: NDArray[np.bool_] = sharded | (name == "all_reduce") & s(in_backward)
    return chosen


def _messages(s: Signals, kind: NDArray[np.bool_]) -> Messages:
    """Collectives of a kind and known size of which moving the data takes less than half of the time."""
    every = s(calls).where(kind)
    # A size of 0 is none: what an exchange of nothing takes is a barrier's wait.
    if kind.any() and (every.bytes <= 0).all():
        raise MissingInputError(
            "the sizes of collectives are not recorded",
            hint="record with record_shapes=True and a PyTorch of 2.3 or later, which notes sizes of messages",
        )
    moving = _moving(every, s(link).usual)
    small = (every.bytes > 0) & (every.bytes < BUCKET) & (2 * moving < every.transfer)
    found, moving = every.where(small), moving[small]
    taken = float(found.transfer.sum())
    if not taken:
        return Messages(found, np.zeros(0, np.int64), 1.0, 1.0)
    latency = float(np.quantile(found.transfer, 0.1))
    count = found.steps * np.ceil(found.bytes.sum() / found.steps / BUCKET)
    ops = s.trace.columns(_OPS_SQL, {"events": found.event.tolist()})["op"]
    factor = min((float(moving.sum()) + count * latency) / taken, 1.0)
    return Messages(found, ops, factor, min(float(count) / found.event.size, 1.0))


def _moving(found: CollectiveCalls, rate: float) -> NDArray[np.float64]:
    """Time in which a usual link moves each call's data, ns."""
    pairs = list(zip(found.name.tolist(), found.world.tolist(), strict=True))
    factors = {pair: bus_factor(*pair) or 1.0 for pair in set(pairs)}
    return np.maximum(found.bytes, 0) * np.array([factors[pair] for pair in pairs], np.float64) * 1e9 / rate
