"""When and why the caching allocator gave its cache back, from a memory snapshot's history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from stepscope.model.errors import MissingInputError
from stepscope.signals.shared.job import platform, step_ns
from stepscope.signals.signal import Signals, signal

_SPAN_SQL: Final = "SELECT max(ts) - min(ts) FROM allocator_events"
#: Paths of Windows, where no memory can be mapped in chunks; before PyTorch 2.1 no snapshot says what is mapped.
_UNMAPPED_SQL: Final = """
SELECT (SELECT count(*) FROM call_frames WHERE regexp_matches(text, '^[A-Za-z]:/'))
    + (SELECT count(*) FROM segments HAVING count(*) > 0 AND count(expandable) = 0)
"""
_MAPPED_SQL: Final = "SELECT count(*) FROM segments WHERE expandable"
_KIND_SQL: Final = """
SELECT CASE WHEN bool_or(regexp_matches(text, 'torch_npu|c10_npu')) THEN 'PYTORCH_NPU_ALLOC_CONF'
    WHEN bool_or(regexp_matches(text, 'c10::hip|hip::HIP')) THEN 'PYTORCH_HIP_ALLOC_CONF'
    ELSE 'PYTORCH_CUDA_ALLOC_CONF' END
FROM call_frames
"""
_UNMAPS_SQL: Final = """
SELECT count(*) FILTER (action = 'segment_unmap') > count(*) FILTER (action = 'segment_free') FROM allocator_events
"""
#: Calls that take a segment and give it back, or map one that can grow and unmap it, by the allocator's variable.
_DRIVER: Final = {
    ("PYTORCH_CUDA_ALLOC_CONF", False): ("cudaMalloc", "cudaFree"),
    ("PYTORCH_CUDA_ALLOC_CONF", True): ("cuMemMap", "cuMemUnmap"),
    ("PYTORCH_HIP_ALLOC_CONF", False): ("hipMalloc", "hipFree"),
    ("PYTORCH_HIP_ALLOC_CONF", True): ("hipMemMap", "hipMemUnmap"),
    ("PYTORCH_NPU_ALLOC_CONF", False): ("aclrtMalloc", "aclrtFree"),
    ("PYTORCH_NPU_ALLOC_CONF", True): ("aclrtMapMem", "aclrtUnmapMem"),
}
#: The time of a call that takes a segment is part of what passes since the entry before it.
_TAKING_SQL: Final = """
SELECT coalesce(sum(passed), 0) FROM (
    SELECT action, ts - lag(ts) OVER (PARTITION BY device ORDER BY seq) AS passed FROM allocator_events
) WHERE action IN ('segment_alloc', 'segment_map')
"""
_UNTIMED_SQL: Final = "SELECT count(*) FROM health WHERE code = 'no-times'"


@dataclass(frozen=True, slots=True)
class Emptying:
    """A line of the program that empties the allocator's cache.

    Attributes:
        place: The line as `file(line): function`.
        times: How often it gave segments back.
        segments: Segments given back in all.
        bytes: Their bytes.
        taken: Segments that were taken from the device afterwards, before the next time.
        retaken_times: After how many of the times any were taken.
        free_ns: Time that giving them back took; None if the history has no times.
    """

    place: str
    times: int
    segments: int
    bytes: int
    taken: int
    retaken_times: int
    free_ns: int | None


@signal("ns")
def history_ns(s: Signals) -> int:
    """Length of the history of a memory snapshot."""
    found = s.trace.scalar(_SPAN_SQL)
    if not found or s.trace.scalar(_UNTIMED_SQL):
        raise MissingInputError.of("history")
    return int(found)


@signal("ns")
def most_taking_ns(s: Signals) -> int:
    """The most that taking segments from the device took in the history of a memory snapshot."""
    s(history_ns)
    return int(s.trace.scalar(_TAKING_SQL))


@signal()
def variable(s: Signals) -> str:
    """The environment variable that configures the allocator of the recording's platform."""
    return "PYTORCH_NPU_ALLOC_CONF" if s.maybe(platform) == "npu" else str(s.trace.scalar(_KIND_SQL))


@signal()
def driver_names(s: Signals) -> tuple[str, str]:
    """What the history's segments are taken and given back by: `cudaMalloc` and `cudaFree`, or their like."""
    mapped = bool(s.trace.scalar(_UNMAPS_SQL))
    return _DRIVER[s(variable), mapped]


@signal()
def expandable(s: Signals) -> str:
    """Whether segments can grow: on, off, or unsupported by the platform or version."""
    settings = s.trace.recordings[s.rank].attributes
    if settings.get("allocator.expandable_segments") is True or s.trace.scalar(_MAPPED_SQL):
        return "on"
    return "unsupported" if s.trace.scalar(_UNMAPPED_SQL) else "off"


def cost_ns(s: Signals, spent_ns: int) -> int | None:
    """Price per step of something that took a given time of the history; None without times or steps.

    Steps may not fill the history: its share of the history is taken for its share of the steps.
    """
    history, length = s.maybe(history_ns), s.maybe(step_ns)
    return None if history is None or length is None else min(spent_ns * length // history, length)


@signal()
def flushes(s: Signals) -> tuple[Mapping[str, Any], ...]:
    """Rows of `cache_flushes`: each return of segments to the device, with its cause."""
    return tuple(s.table("cache_flushes").records())


@signal()
def emptyings(s: Signals) -> tuple[Emptying, ...]:
    """The lines of the program that empty the allocator's cache, the most often first."""
    timed = s.maybe(history_ns) is not None
    by_place: dict[str, list[Mapping[str, Any]]] = {}
    for row in s(flushes):
        if row["cause"] == "empty_cache":
            by_place.setdefault(row["place"], []).append(row)
    found = [_emptying(place, rows, timed) for place, rows in by_place.items()]
    return tuple(sorted(found, key=lambda one: (-one.times, one.place)))


def _emptying(place: str, rows: list[Mapping[str, Any]], timed: bool) -> Emptying:
    segments = sum(row["segments"] for row in rows)
    # The time of the last segment of each run shows in no entry: it takes as long as the others on average.
    shown = segments - len(rows)
    spent = sum(row["dur"] for row in rows)
    return Emptying(
        place, len(rows), segments, sum(row["bytes"] for row in rows), sum(row["taken_after"] for row in rows),
        sum(row["taken_after"] > 0 for row in rows),
        (spent * segments // shown if shown else 0) if timed else None,
    )  # fmt: skip
