"""How operators reach an Ascend device: compilation, task queue, workspaces."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.needs import need_calls
from stepscope.model.events.columns import Spans, named
from stepscope.signals.ascend.ascend import need_ascend
from stepscope.signals.shared.job import step_ns
from stepscope.signals.shared.ranges import inside
from stepscope.signals.signal import Signals, signal

_CALLS_SQL: Final = """
SELECT s.id, coalesce(s.dur, 0) AS dur FROM spans s
WHERE s.name_id IN (SELECT name_id FROM names WHERE {where}) AND s.step IN (SELECT step FROM steps WHERE typical)
ORDER BY s.ts, s.id
"""
_OPTIMIZERS_SQL: Final = """
SELECT s.id, s.track, s.ts, s.ts + coalesce(s.dur, 0) AS stop, n.name, s.category = 'annotation' AS annotated
FROM spans s JOIN names n USING (name_id)
WHERE n.name LIKE 'Optimizer.step#%' AND s.step IN (SELECT step FROM steps WHERE typical) ORDER BY s.track, s.ts
"""
_LAUNCHED_SQL: Final = """
SELECT o.track, o.ts, k.dur FROM kernels k JOIN spans o ON o.id = k.op WHERE o.track IN (SELECT unnest($tracks))
"""
_STEPS_SQL: Final = "SELECT count(*) FROM steps WHERE typical"
_NAMED_SQL: Final = "SELECT count(*) FROM names WHERE {where}"
_COMPILES: Final = "regexp_full_match(name, '(AscendCL@)?aclopCompileAndExecute(V2)?')"
_LIBRARY: Final = "name LIKE 'aclnn%' AND name NOT LIKE '%GetWorkspaceSize'"
_WORKSPACE: Final = "name LIKE 'aclnn%GetWorkspaceSize'"
_QUEUE: Final = "name = 'Enqueue' OR name LIKE 'Enqueue@%' OR name LIKE 'Dequeue@%'"
#: `clip_grad_norm_` calls the first for each gradient, and older releases the second.
_CLIPPED: Final = "name IN ('aten::linalg_vector_norm', 'aten::norm')"
#: What such a loop calls besides, and what these operators consist of.
_BESIDE: Final = re.compile(r"^(?:aten::)?(?:linalg_vector_norm|norm|detach_?|alias|view|reshape|to|_to_copy|copy_)$")
#: So many norms with nothing else between them are a loop: normalisations and optimizers use what they compute at once.
_LOOP: Final = 8
_NORMS: Final = "name IN ('SyncBatchNormFunction', 'SyncBatchNorm') OR name LIKE '%SyncBatchNormalization%'"


@dataclass(frozen=True, slots=True)
class HostCalls:
    """Calls of one kind in complete steps.

    Attributes:
        event: int64[n].
        dur: int64[n].
        steps: Number of complete steps.
    """

    event: NDArray[np.int64]
    dur: NDArray[np.int64]
    steps: int

    @property
    def per_step(self) -> float:
        """Number of calls per step."""
        return self.event.size / self.steps

    @property
    def ns_per_step(self) -> int:
        """Time of the calls per step, ns."""
        return int(self.dur.sum()) // self.steps


@dataclass(frozen=True, slots=True)
class Optimizer:
    """The steps of an optimizer.

    Attributes:
        name: Its class.
        range_name: What the recording calls its step.
        annotated: Whether its steps are annotations; some profilers record them as operators.
        events: int64[n], its steps.
        host_ns: Their time on the host, per step of the job.
        device_ns: Time of the kernels of operators in them, per step of the job.
    """

    name: str
    range_name: str
    events: NDArray[np.int64]
    host_ns: int
    device_ns: int
    annotated: bool = True


@signal()
def compiles(s: Signals) -> HostCalls:
    """Calls that look up an operator, compile it if needed, and execute it."""
    return _calls(s, _COMPILES)


@signal("ns")
def library_call_ns(s: Signals) -> int | None:
    """Median duration of calls that execute a compiled library operator; null if there are none."""
    dur = _calls(s, _LIBRARY).dur
    return int(np.sort(dur)[(dur.size - 1) // 2]) if dur.size else None


@signal("share")
def workspace_share(s: Signals) -> float:
    """Time spent computing workspace sizes as a share of the mean step, which a cache would save."""
    return _calls(s, _WORKSPACE).ns_per_step / s(step_ns)


@signal()
def queued(s: Signals) -> bool:
    """Whether operators go through the framework's queue to a second thread."""
    _need_calls(s)
    return bool(s.trace.scalar(_NAMED_SQL.format(where=_QUEUE)))


@signal()
def synced_norms(s: Signals) -> HostCalls:
    """Batch normalisations over all ranks."""
    return _calls(s, _NORMS)


@signal()
def waits(s: Signals) -> HostCalls:
    """Calls that wait for the device."""
    return _calls(s, "name LIKE '%Synchronize%'")


@signal()
def clipped_norms(s: Signals) -> HostCalls:
    """Operators that compute the norm of one tensor each, in a loop, as clipping does where nothing fuses it."""
    found, spans = _calls(s, _CLIPPED), Spans(s.trace)
    norms = spans.rows(found.event)
    others = np.flatnonzero(spans.of("op") & ~named(s.trace, _BESIDE.search))
    kept = np.zeros(norms.size, np.bool_)
    for track in np.unique(spans.track[norms]).tolist():
        mine = np.flatnonzero(spans.track[norms] == track)
        start = spans.ts[norms[mine]]
        end = np.maximum.accumulate(start + found.dur[mine])
        outer = np.append(True, start[1:] >= end[:-1])
        mine, start, end = mine[outer], start[outer], end[outer]
        between = np.sort(spans.ts[others[spans.track[others] == track]])
        apart = np.searchsorted(between, start[1:]) > np.searchsorted(between, end[:-1])
        loop = np.append(0, np.cumsum(apart))
        kept[mine[np.bincount(loop)[loop] >= _LOOP]] = True
    return HostCalls(found.event[kept], found.dur[kept], found.steps)


@signal()
def optimizer(s: Signals) -> Optimizer | None:
    """The optimizer whose steps take most host time; null if none is recorded."""
    _need_calls(s)
    ranges = s.trace.columns(_OPTIMIZERS_SQL)
    if not ranges["ts"].size:
        return None
    names, index = np.unique(ranges["name"].astype(str), return_inverse=True)
    longest = int(np.bincount(index, weights=ranges["stop"] - ranges["ts"]).argmax())
    mine = {name: values[index == longest] for name, values in ranges.items()}
    launched = s.trace.columns(_LAUNCHED_SQL, {"tracks": np.unique(mine["track"]).tolist()})
    steps = int(s.trace.scalar(_STEPS_SQL) or 1)
    return Optimizer(
        str(names[longest]).split("#")[-1].removesuffix(".step"), str(names[longest]), mine["id"],
        int((mine["stop"] - mine["ts"]).sum()) // steps, int(launched["dur"][inside(launched, mine)].sum()) // steps,
        bool(mine["annotated"][0]),
    )  # fmt: skip


def _calls(s: Signals, where: str) -> HostCalls:
    _need_calls(s)
    rows = s.trace.columns(_CALLS_SQL.format(where=where))
    return HostCalls(rows["id"], rows["dur"], int(s.trace.scalar(_STEPS_SQL) or 1))


def _need_calls(s: Signals) -> None:
    need_ascend(s)
    need_calls(s.trace)
