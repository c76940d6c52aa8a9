"""Subjects of changes that users may write, and the events that they stand for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from stepscope.analyses.shared.host_waits import blocking_copies
from stepscope.model import runtime_names
from stepscope.model.events.change import EVERY_HOST_EVENT, Events
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.trace import Trace

DEVICE, HOST, BOTH = "device", "host", "device and host"


@dataclass(frozen=True, slots=True)
class Subject:
    """A part of the job that can be made faster or slower.

    Attributes:
        where: Whether its events are on the device, on the host or on both.
        description: What it is; shown to users.
        select: Its events, given what follows the colon, empty if nothing does.
    """

    where: str
    description: str
    select: Callable[[Trace, str], Events]


def _events(trace: Trace, query: str, parameters: dict[str, Any] | None = None) -> Events:
    return np.unique(trace.columns(query, parameters)["event"].astype(np.int64))


def _pattern(trace: Trace, what: str) -> str:
    """The names that a text stands for.

    The exact name if there is one, else the names matching it as a pattern, else those containing it. In patterns only
    `*` and `?` are special: brackets are part of many names.
    """
    plain = what.replace("[", "[[]")
    if not what or any(wildcard in what for wildcard in "*?"):
        return plain or "*"
    return plain if trace.rows("FROM names WHERE name = $what LIMIT 1", {"what": what}) else f"*{plain}*"


def _first(trace: Trace, what: str, *queries: str) -> Events:
    """The events of the first query that finds any: kinds come before names that contain the same text."""
    parameters = {"what": what, "pattern": _pattern(trace, what)}
    for query in queries:
        used = {name: value for name, value in parameters.items() if f"${name}" in query}
        if (events := _events(trace, query, used)).size:
            break
    return events


def _kernels(trace: Trace, what: str) -> Events:
    base = "SELECT event FROM kernels WHERE kind = 'compute' AND "
    return _first(trace, what, f"{base} op_class = $what", f"{base} ($what = '' OR name GLOB $pattern)")


def _comm(trace: Trace, what: str) -> Events:
    base = "SELECT k.event FROM kernels k LEFT JOIN collectives c USING (event) WHERE k.kind = 'comm' AND "
    return _first(trace, what, f"{base} c.collective = $what", f"{base} ($what = '' OR k.name GLOB $pattern)")


def _copies(trace: Trace, what: str) -> Events:
    base = "SELECT k.event FROM kernels k LEFT JOIN copies c USING (event) WHERE k.kind IN ('copy', 'set') AND "
    kinds = f"{base} (c.direction = $what OR k.kind = $what)"
    return _first(trace, what, kinds, f"{base} ($what = '' OR k.name GLOB $pattern)")


def _host(trace: Trace, what: str) -> Events:
    if not what:
        return EVERY_HOST_EVENT
    query = (
        "SELECT s.id AS event FROM spans s JOIN tracks t USING (track) JOIN names n USING (name_id) "
        "WHERE t.kind = 'host' AND s.dur > 0 AND n.name GLOB $pattern"
    )
    return _events(trace, query, {"pattern": _pattern(trace, what)})


def _of_category(*categories: str) -> Callable[[Trace, str], Events]:
    def select(trace: Trace, what: str) -> Events:
        query = (
            "SELECT s.id AS event FROM spans s JOIN tracks t USING (track) JOIN names n USING (name_id) "
            "WHERE t.kind = 'host' AND s.category IN (SELECT unnest($categories)) "
            "AND n.name GLOB $pattern"
        )
        return _events(trace, query, {"pattern": _pattern(trace, what), "categories": list(categories)})

    return select


def _called(test: Callable[[str], bool], *categories: str) -> Callable[[Trace, str], Events]:
    """Events of the categories whose names pass a test."""

    def select(trace: Trace, what: str) -> Events:
        query = (
            "SELECT DISTINCT s.name_id, n.name FROM spans s JOIN names n USING (name_id) "
            "WHERE s.category IN (SELECT unnest($categories)) AND n.name GLOB $pattern"
        )
        names = trace.columns(query, {"pattern": _pattern(trace, what), "categories": list(categories)})
        wanted = [i for i, name in zip(names["name_id"].tolist(), names["name"].tolist(), strict=True) if test(name)]
        query = (
            "SELECT s.id AS event FROM spans s JOIN tracks t USING (track) WHERE t.kind = 'host' "
            "AND s.category IN (SELECT unnest($categories)) AND s.name_id IN (SELECT unnest($names))"
        )
        return _events(trace, query, {"categories": list(categories), "names": wanted})

    return select


SUBJECTS: Final[dict[str, Subject]] = {
    "kernel": Subject(DEVICE, "compute kernels: all, a class (kernel:gemm) or names (kernel:'*softmax*')", _kernels),
    "comm": Subject(DEVICE, "collectives: all, a kind (comm:all_reduce) or names", _comm),
    "copy": Subject(DEVICE, "copies and memsets: all, a direction (copy:HtoD) or names", _copies),
    "op": Subject(BOTH, "operators by name, on the host and what they launch (op:aten::gelu)", _of_category("op")),
    "host": Subject(HOST, "all that the host does, or events by name", _host),
    "launch": Subject(HOST, "calls that launch device work, or some by name", _of_category("launch")),
    "data_wait": Subject(HOST, "the data loader", _of_category("dataloader")),
    "gc": Subject(HOST, "garbage collection", _of_category("gc")),
    "allocation": Subject(
        HOST,
        "calls that get device memory from the driver or give it back",
        _called(runtime_names.is_allocation, "runtime", "sync", "launch"),
    ),
    "profiler": Subject(HOST, "work of the profiler", _called(runtime_names.is_profiler_overhead, "overhead")),
}


def synchronising(trace: Trace, what: str) -> Events:
    """Calls that wait for the device, and those that launch copies which the host waits for."""
    calls = _called(runtime_names.is_synchronisation, "runtime", "sync")(trace, what)
    work, blocking = DeviceWork.of(trace), blocking_copies(trace)
    named = trace.columns("SELECT name_id FROM names WHERE name GLOB $pattern", {"pattern": _pattern(trace, what)})
    return np.union1d(calls, work.launch[blocking[np.isin(work.call_name[blocking], named["name_id"])]])
