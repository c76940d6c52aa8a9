"""One rank compared with others: waiting in collectives, speed of device and host, amount of work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.device_time import device_times
from stepscope.analyses.shared.job_size import job_size
from stepscope.analyses.shared.needs import has_device
from stepscope.analyses.stepgraph import StepGraph
from stepscope.model.errors import MissingInputError
from stepscope.model.events.change import Change, Scaled
from stepscope.model.events.columns import Spans, named, names_by_id
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.grids import Grids
from stepscope.model.events.steps import Steps
from stepscope.model.intervals import Intervals, Times
from stepscope.model.runtime_names import SCALAR_READ
from stepscope.signals.communication.communication import calls
from stepscope.signals.communication.process_groups import world_size
from stepscope.signals.communication.waiting import Collectives, waits_in
from stepscope.signals.shared.job import step_ns
from stepscope.signals.signal import Signals, signal

#: Waits below this share of the step are not worth a prediction of what the step would be without them.
_WORTH: Final = 0.005
#: A collective that starts so soon after the one before it in its queue has waited for that.
_QUEUED_NS: Final = 20_000

_CALLS_SQL: Final = """
SELECT k.event, k.ts, k.dur, k.step::BIGINT AS step, coalesce(c.world_size, len(c.ranks), -1)::INTEGER AS world,
    k.track, coalesce(l.ts, k.ts) AS launched
FROM collectives c JOIN kernels k USING (event) LEFT JOIN spans l ON l.id = k.launch
WHERE c.collective NOT IN ('send', 'recv', 'send_recv') AND k.dur > 0
    AND k.step IN (SELECT step FROM steps WHERE typical)
ORDER BY k.ts
"""
_LAUNCHED_SQL: Final = """
SELECT l.ts AS launched, k.ts + k.dur AS "end" FROM kernels k JOIN spans l ON l.id = k.launch
WHERE k.kind = 'compute' ORDER BY l.ts
"""
#: Of a rank of sums collectives are no device activities; what of them was exposed is recognised by their step.
_SUMMED_SQL: Final = """
SELECT c.event, s.ts, s.dur, s.step::BIGINT AS step, coalesce(c.world_size, len(c.ranks), -1)::INTEGER AS world,
    (s.dur * p.exposed)::BIGINT AS exposed
FROM collectives c JOIN spans s ON s.id = c.event JOIN (
    SELECT t.step, max(r.value) FILTER (WHERE r.metric = 'Communication(Not Overlapped)')
        / nullif(max(r.value) FILTER (WHERE r.metric = 'Communication'), 0) AS exposed
    FROM steps t JOIN recorded r ON t.number = try_cast(r.step AS BIGINT) OR t.number IS NULL AND r.step IS NULL
    WHERE r.source = 'steps' AND t.typical GROUP BY 1
) p ON p.step = s.step
WHERE c.collective NOT IN ('send', 'recv', 'send_recv') AND s.dur > 0 AND p.exposed BETWEEN 0 AND 1
ORDER BY s.ts
"""
_STEP_WORK_SQL: Final = """
SELECT coalesce(sum(flops), 0) AS flops, coalesce(sum(list_aggregate(grid, 'product')), 0)::DOUBLE AS blocks
FROM steps LEFT JOIN kernels k ON k.step = steps.step AND k.kind = 'compute'
WHERE typical GROUP BY steps.step, steps.ts ORDER BY steps.ts
"""

#: Stages of a pipeline exchange what others wait for anyway.
_EXCHANGED_SQL: Final = "SELECT count(*) FROM collectives WHERE collective IN ('send', 'recv', 'send_recv')"


@dataclass(frozen=True, slots=True)
class Kernel:
    """Compute kernels of one name, per step."""

    number: float
    ns: float
    blocks: float


@dataclass(frozen=True, slots=True)
class StepLoad:
    """What the rank's device has to compute in each complete step: float64[steps] each, 0 where not recorded."""

    flops: NDArray[np.float64]
    blocks: NDArray[np.float64]

    @property
    def amount(self) -> NDArray[np.float64]:
        """FLOPs where they are known, else blocks."""
        return self.flops if self.flops.any() else self.blocks


@signal()
def collectives(s: Signals) -> Collectives:
    """Collectives of the rank, with the time that it waits for other ranks in each."""
    rows = s.trace.columns(_CALLS_SQL)
    summed = not rows["event"].size and not s.trace.once(has_device)
    if summed:
        rows = s.trace.columns(_SUMMED_SQL)
    if not rows["event"].size:
        raise MissingInputError(
            "no step of the recording has collectives on a device",
            hint="record some whole steps of a job of several ranks, with its devices",
        )
    return waits_in(s, rows, lambda wait: np.minimum(wait, rows["exposed"]) if summed else _unhidden(s, rows, wait))


def _unhidden(s: Signals, rows: Mapping[str, NDArray[np.int64]], wait: Times) -> Times:
    busy = [device.compute for device in s.trace.once(device_times)]
    pushed = pushed_by(rows["track"], rows["ts"], rows["dur"], wait, _ready(s, rows["ts"], rows["launched"]))
    return unhidden(busy, rows["ts"], rows["dur"], wait, pushed)


def _ready(s: Signals, ts: Times, launched: Times) -> Times:
    work = s.trace.columns(_LAUNCHED_SQL)
    return ready_at(work["launched"], work["end"], ts, launched)


def ready_at(compute: Times, ends: Times, ts: Times, launched: Times) -> Times:
    """When collectives could have started: after their launch, and after the compute that was launched before them.

    Args:
        compute: int64[m], when compute kernels were launched, ascending.
        ends: int64[m], when they ended.
        ts: int64[n], starts of collectives.
        launched: int64[n], when they were launched.
    """
    latest = np.maximum.accumulate(np.append(np.iinfo(np.int64).min, ends))
    computed = latest[np.searchsorted(compute, launched)]
    # What computes beyond their start is nothing that they need.
    ready: Times = np.maximum(launched, np.where(computed <= ts, computed, launched))
    return ready


def unhidden(compute: Iterable[Intervals], ts: Times, dur: Times, wait: Times, pushed: Times) -> Times:
    """The part of waits that compute does not hide, whether they come first or make what follows late.

    Args:
        compute: When each device computed.
        ts: int64[n], starts of collectives.
        dur: int64[n], their durations.
        wait: int64[n], the part of each that is waiting.
        pushed: int64[n], how much earlier each would have started, had those before it in its queue not waited.
    """
    first, late = wait.copy(), wait.copy()
    for busy in compute:
        first -= busy.within(ts, ts + wait)
        # What is exposed now, less what of the transfer would be exposed without any waiting.
        late += busy.within(ts - pushed, ts - pushed + dur - wait) - busy.within(ts, ts + dur)
    found: Times = np.maximum(first, late)
    return found


def pushed_by(track: NDArray[np.int64], ts: Times, dur: Times, wait: Times, ready: Times) -> Times:
    """How much earlier collectives would have started, had those before them in their queue not waited: int64[n].

    One that starts as soon as the one before it ends was held up by it, at most since it was ready.

    Args:
        track: int64[n], queue of each.
        ts: int64[n], starts, ascending.
        dur: int64[n].
        wait: int64[n], the part of each that is waiting.
        ready: int64[n], when each could have started.
    """
    found = np.zeros_like(ts)
    last: dict[int, tuple[int, int]] = {}
    each = zip(track.tolist(), ts.tolist(), dur.tolist(), wait.tolist(), ready.tolist(), strict=True)
    for i, (queue, start, length, waited, since) in enumerate(each):
        end, late = last.get(queue, (start, 0))
        by = min(late, max(start - since, 0)) if start - end <= _QUEUED_NS else 0
        found[i] = by
        last[queue] = start + length, by + waited
    return found


@signal("ns")
def waited_ns(s: Signals) -> int:
    """Time per step in which the rank waits for others in collectives and computes nothing."""
    found = s(collectives)
    return int(found.exposed[found.known].sum()) // found.steps


@signal("share")
def waited_share(s: Signals) -> float:
    """Exposed waiting for other ranks as a share of the mean step."""
    return s(waited_ns) / s(step_ns)


@signal("ns")
def unseen_ns(s: Signals) -> int:
    """Part of the exposed waiting in which all ranks at hand wait in the same collectives, for a rank not at hand."""
    found = s(collectives)
    return int(found.unseen[found.known].sum()) // found.steps


@signal("share")
def unseen_share(s: Signals) -> float:
    """Waiting for ranks that are not at hand as a share of the mean step."""
    return s(unseen_ns) / s(step_ns)


@signal()
def ranks_missing(s: Signals) -> bool:
    """Whether the job has ranks whose recordings are not at hand.

    Where the number of ranks is not recorded, a single rank can't be all of them, nor can ranks that all wait in the
    same collectives.
    """
    size = s.trace.job.once(job_size)
    world = s(world_size) or int(s(calls).world.max())
    if world < 1 and size.least == size.ranks > 1:
        return s(unseen_share) > _WORTH
    return world != 1 and size.ranks < max(world, size.least, 2)


@signal("ns")
def gain_ns(s: Signals) -> int:
    """Time that the rank's mean step would save if no other rank arrived later.

    All that it waits, where operators are recorded and nothing in which the host could wait for the device, unless
    stages of a pipeline exchange data: what the host waits then is taken for work of its own, which nothing shortens.
    """
    if s(waited_share) < _WORTH:
        return 0
    if not s.trace.once(has_device):
        return s(waited_ns)  # the profiler's sums hold nothing else that could overlap
    found = s(collectives)
    event, left = found.event[found.known], np.rint(100 * found.left[found.known]).astype(np.int64)
    moved = tuple(Scaled(event[left == part], part / 100) for part in np.unique(left).tolist())
    saved = max(StepGraph.of(s.whole.trace).predict(Change(unblocked=event, device=moved)).saved_ns, 0)
    return max(saved, s(waited_ns)) if _never_waits(s) else saved


def _never_waits(s: Signals) -> bool:
    """Whether operators are recorded and no waits of the host: level 0 of torch_npu leaves out all calls of CANN."""
    spans = Spans(s.trace)
    if (
        not spans.of("op").any()
        or spans.of("runtime", "sync").any()
        or named(s.trace, lambda name: name == SCALAR_READ).any()
    ):
        return False
    return not s.trace.scalar(_EXCHANGED_SQL)


@signal()
def kernels(s: Signals) -> Mapping[str, Kernel]:
    """The rank's compute kernels by name, per complete step."""
    complete = Steps.of(s.trace).typical_steps
    steps, names, work = max(complete.size, 1), s.trace.once(names_by_id), DeviceWork.of(s.trace)
    at = np.flatnonzero(work.are("compute") & np.isin(work.step, complete))
    name = work.name[at]
    number, ns, blocks = (np.bincount(name, column) for column in (None, work.dur[at], Grids.of(s.trace).blocks[at]))
    return {
        names[one]: Kernel(int(number[one]) / steps, int(ns[one]) / steps, int(blocks[one]) / steps)
        for one in np.flatnonzero(number).tolist()
    }


@signal()
def work(s: Signals) -> StepLoad:
    """FLOPs and blocks that the rank's device computes in each complete step."""
    rows = s.trace.columns(_STEP_WORK_SQL)
    return StepLoad(rows["flops"].astype(np.float64), rows["blocks"].astype(np.float64))


@signal()
def host_name(s: Signals) -> str | None:
    """The host that the rank runs on; null if not recorded."""
    return s.trace.recordings[s.rank].host
