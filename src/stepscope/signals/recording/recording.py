"""What a recording can't answer, and the share of the step that this leaves open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from stepscope.analyses.shared.recorded_events import names_of, passing, recorded_events
from stepscope.ingest.inputs import source_of
from stepscope.model import runtime_names
from stepscope.model.events.columns import Spans
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.steps import Steps
from stepscope.model.intervals import Intervals
from stepscope.signals.communication.cluster import ranks_missing
from stepscope.signals.communication.communication import calls
from stepscope.signals.host.compiling import compiling_share
from stepscope.signals.host.profiler_cost import ProfilerCost, added_share, added_work
from stepscope.signals.shared.idleness import causes
from stepscope.signals.shared.job import step_ns
from stepscope.signals.shared.program import program
from stepscope.signals.shared.ran_on import ran_on
from stepscope.signals.signal import Signals, signal

#: Observations of health that mean that something was recorded and is gone.
_LOST: Final = (
    "truncated", "input-damaged", "tables-damaged", "events-lost", "events-untimed", "time-missing", "rows-untimed",
    "history-full", "history-lost",
)  # fmt: skip
_HEALTH_SQL: Final = "SELECT count(*) FROM health WHERE code IN (SELECT unnest($codes))"
_IN_USE_SQL: Final = """
SELECT min(ts) AS ts, max(ts + dur) AS stop FROM kernels WHERE kind <> 'sync' HAVING count(*) > 0
"""
_MATRIX_SQL: Final = """
SELECT coalesce(sum(k.dur), 0)::BIGINT FROM kernels k JOIN steps s USING (step)
WHERE k.op_class IN ('gemm', 'attention', 'convolution') AND s.typical
"""
#: A host that is recorded shows in any of these.
_HOST: Final = ("op", "runtime", "launch", "sync", "python")
_HAS_SQL: Final = {
    "shapes": "SELECT count(*) FROM op_inputs WHERE shapes IS NOT NULL",
    "stacks": "SELECT count(*) FROM op_inputs WHERE stack IS NOT NULL",
    "memory": "SELECT count(*) FROM memory",
    "snapshot": "SELECT count(*) FROM segments",
    "allocations": "SELECT count(*) FROM allocator_events WHERE action = 'alloc'",
    "known stacks": "SELECT count(*) FROM call_stacks WHERE place IS NOT NULL",
}
#: Events that show it as well.
_CATEGORIES: Final = {"launches": ("launch",), "operators": ("op",), "stacks": ("python",)}
#: What leaves less of the step open is not worth another recording.
LEAST: Final = 0.03
#: Idle time of which more steps, or lines of code, are to tell more: below this there is little to tell.
_LEAST_IDLE: Final = 0.1
#: Fewer steps can't show what is typical, nor what grows.
FEW_STEPS: Final = 3


@signal()
def gaps(s: Signals) -> Mapping[str, float]:
    """What the recording lacks, with the share of the step that this leaves open; above 1 if numbers are wrong."""
    found = {kind: look(s) for kind, look in _GAPS.items()}
    return {kind: weight for kind, weight in found.items() if weight >= LEAST}


@signal("share")
def overhead_share(s: Signals) -> float:
    """The profiler's own work as a share of the steps; without steps, of the time in which the device was in use."""
    own = passing(names_of(s.trace, ("overhead",)), runtime_names.is_profiler_overhead)
    if not own:
        return 0.0
    steps = Steps.of(s.trace)
    starts, ends = steps.ts[steps.found], steps.stop[steps.found]
    if not starts.size:
        used = s.trace.columns(_IN_USE_SQL)
        starts, ends = used["ts"], used["stop"]
    if not starts.size:
        return 0.0
    spans = Spans(s.trace)
    at = np.flatnonzero(spans.of("overhead") & np.isin(spans.name, own) & (spans.dur > 0))
    took = Intervals.union_of(spans.ts[at], spans.ts[at] + spans.dur[at])
    within = Intervals.union_of(starts, ends)
    return (took & within).total / max(within.total, 1)


@signal()
def profiler(s: Signals) -> str:
    """The reader of the recording: kineto, nsight, ascend or memsnapshot."""
    return s.trace.recordings[s.rank].reader


@signal()
def work_known(s: Signals) -> bool:
    """Whether single device activities are recorded; a rank may hold its profiler's sums only."""
    return _has_device(s)


def _lost(s: Signals) -> float:
    return 2.0 if s.trace.scalar(_HEALTH_SQL, {"codes": list(_LOST)}) else 0.0


@signal()
def calls_known(s: Signals) -> bool:
    """Whether calls that launch device work are recorded, whatever else of the host is."""
    return _has(s, "launches")


def _overhead(s: Signals) -> float:
    share = max(s(overhead_share), min(s.maybe(added_share) or 0.0, 1.0))
    return 1.0 + share if share >= _MUCH_OVERHEAD else 0.0


def _device(s: Signals) -> float:
    where = s.maybe(ran_on)
    given = where is not None and where.where in ("lost", "device", "mps")
    return 1.5 if not _has_device(s) and (given or _has(s, "launches")) else 0.0


def _host(s: Signals) -> float:
    if not _has_device(s):
        # Of a rank with sums only, how long its device is idle may be known, but not where.
        idle = sum((s.maybe(causes) or {}).values())
        return idle if idle >= _LEAST_IDLE else 0.0
    by_operators = source_of(s(profiler)).by_operators and not _has(s, "operators")
    silent = by_operators or not s.trace.once(recorded_events).on_host(_HOST)
    return 1.0 if silent else 0.0


def _graphs(s: Signals) -> float:
    return 0.6 if s.trace.scalar(_HEALTH_SQL, {"codes": ["graphs-opaque"]}) else 0.0


def _steps(s: Signals) -> float:
    """Share left open by having one step only: kernels take the same each time, but waits may occur once."""
    if np.count_nonzero(Steps.of(s.trace).whole) >= FEW_STEPS:
        return 0.0
    idle = sum((s.maybe(causes) or {}).values())
    return idle if idle >= _LEAST_IDLE else 0.0


def _ranks(s: Signals) -> float:
    found, length = s.maybe(calls), s.maybe(step_ns)
    if found is None or not length or not s(ranks_missing):
        return 0.0
    # Where the library tells transfer apart, the rank that the others wait for is still unknown.
    open_ns = float((found.exposed - found.exposed_transfer * found.told).sum()) / found.steps
    return open_ns / length


def _level(s: Signals) -> float:
    if not _has_device(s):
        return 0.0
    attributes = s.trace.recordings[s.rank].attributes
    return 0.4 if attributes.get("profiler_level", "Level1") in ("Level0", "Level_none") else 0.0


def _shapes(s: Signals) -> float:
    length = s.maybe(step_ns)
    if _has(s, "shapes") or _asked(s, "record_shapes") or not _has(s, "operators") or not length:
        return 0.0
    steps = max(Steps.of(s.trace).typical_steps.size, 1)
    return int(s.trace.scalar(_MATRIX_SQL) or 0) / steps / length


def _stacks(s: Signals) -> float:
    known = s.maybe(causes)
    if known is None or _has(s, "stacks") or _asked(s, "with_stack") or not _has(s, "operators"):
        return 0.0
    # Their cost shows without them: collecting more of them, or only writing them down, makes it no better.
    if (s.maybe(added_work) or ProfilerCost()).cause in ("stacks", "lines"):
        return 0.0
    late = sum(known.get(cause, 0.0) for cause in ("synchronisation", "host_dispatch", "host_work"))
    # What an observer adds to all operators has no line of code, and that of compiling is known.
    late = max(late - (s.maybe(added_share) or 0.0) - (s.maybe(compiling_share) or 0.0), 0.0)
    return late if late >= _LEAST_IDLE else 0.0


def _memory(s: Signals) -> float:
    known = s.maybe(causes)
    return 0.0 if known is None or _has(s, "memory") or _asked(s, "profile_memory") else known.get("allocation", 0.0)


def _history(s: Signals) -> float:
    if not _has(s, "snapshot"):
        return 0.0
    return 0.0 if _has(s, "allocations") else 0.9


def _holders(s: Signals) -> float:
    return 0.7 if _has(s, "snapshot") and _has(s, "allocations") and not _has(s, "known stacks") else 0.0


def _has(s: Signals, what: str) -> bool:
    if s.trace.once(recorded_events).names(_CATEGORIES.get(what, ())):
        return True
    return what in _HAS_SQL and bool(s.trace.scalar(_HAS_SQL[what]))


def _asked(s: Signals, setting: str) -> bool:
    """Whether the profiler was already asked to record an input, so that advising it would not help."""
    return setting in s(program).recorded


def _has_device(s: Signals) -> bool:
    return bool((~DeviceWork.of(s.trace).are("sync")).any())


#: nsys-ai warns from 10 % on.
_MUCH_OVERHEAD: Final = 0.1
#: In the order in which equally weighty ones are advised.
_GAPS: Final[Mapping[str, Callable[[Signals], float]]] = {
    "lost": _lost,
    "overhead": _overhead,
    "device": _device,
    "host": _host,
    "history": _history,
    "holders": _holders,
    "graphs": _graphs,
    "steps": _steps,
    "ranks": _ranks,
    "level": _level,
    "shapes": _shapes,
    "stacks": _stacks,
    "memory": _memory,
}
KINDS: Final = tuple(_GAPS)
