"""Nest host threads: depth, parent, and the enclosing operator and module of every event."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from stepscope.ingest.derive.host.batches import (
    ALLOCATION,
    EVENT,
    FLOW,
    FRAME,
    LAUNCH,
    MODULE,
    OP,
    HostBatch,
    host_stretches,
)
from stepscope.ingest.derive.host.launches import LaunchFinder, first_launches
from stepscope.ingest.derive.host.operators import CHAIN, EXTERNAL, OperatorFinder
from stepscope.ingest.derive.host.surroundings import Surroundings, nullable
from stepscope.ingest.derive.overview import Overview
from stepscope.ingest.derive.steps.found import FoundSteps
from stepscope.ingest.derive.work import RecordedWork
from stepscope.ingest.derive.write import Writing
from stepscope.model.events.lookup import match
from stepscope.model.events.nesting import Nesting, nest
from stepscope.model.events.stretches import Stretch
from stepscope.model.events.tree import nearest
from stepscope.model.intervals import Times
from stepscope.model.process.executors import threads_for
from stepscope.model.sizes import SIZES
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Columns of events that are stored as they are staged.
_STAGED: Final = ("dur", "name_id", "category", "correlation", "external_id")
_NESTED: Final = pa.schema([("id", pa.int64()), ("depth", pa.int32()), ("parent", pa.int64()), ("step", pa.int32())])
_OWNED: Final = pa.schema([("row", pa.int64()), ("owner", pa.int64())])


@dataclass(frozen=True, slots=True)
class Hosts:
    """Results of nesting, beside the events that are written.

    Attributes:
        launches: The launches, as `LaunchFinder.find` returns them.
        chain: Operators that launch device work, with those around them, see `CHAIN`.
        external: Operators with external ids of device work, see `EXTERNAL`.
        work: Device work recorded on host threads: id, depth, parent, step.
        allocations: Rows of `raw_memory` and their enclosing events: row, owner.
        flows: Rows of `raw_flows` and their enclosing events: row, owner.
        per_step: int64[steps], launches and operators that start in each step.
        clipped: Number of events clipped to their parent.
    """

    launches: pa.Table
    chain: pa.Table
    external: pa.Table
    work: pa.Table
    allocations: pa.Table
    flows: pa.Table
    per_step: NDArray[np.int64]
    clipped: int


def nest_hosts(staging: Staging, overview: Overview, steps: FoundSteps, work: RecordedWork, writing: Writing) -> Hosts:
    """Nest and write all events on host tracks; find launches, and the owners of allocations and flow ends.

    Allocations and flow ends are nested as events of duration 0, so that their parent is the event that encloses them.
    """
    launches, operators = LaunchFinder(work), OperatorFinder(work)

    def nest_stretch(stretch: Stretch) -> tuple[Hosts, pa.Table]:
        """Results and events of one stretch."""
        batch = HostBatch.read(staging, stretch)
        around, clipped = _nest(batch, steps)
        found, launching = launches.find(batch, around)
        chains, external = operators.find(batch, around, launching)
        is_work = (match(work.on_host, batch.id) >= 0) & (batch.kind == EVENT)
        begun = around.step[(batch.role == OP) | (batch.role == LAUNCH)]
        part = Hosts(
            found, pa.concat_tables(chains), external, _work(batch, around, is_work, steps),
            _owned(batch, around, ALLOCATION), _owned(batch, around, FLOW),
            np.bincount(begun[begun >= 0], minlength=steps.starts.size), clipped,
        )  # fmt: skip
        return part, _host_events(batch, around, ~is_work, steps)

    parts = []
    threads = sum(number for track, number in overview.by_track.items() if track in overview.hosts)
    # Two stretches fit in memory then, so that two cores can nest them.
    number = threads if threads <= SIZES.whole_columns else 0
    for part, events in _each(nest_stretch, host_stretches(staging, overview), number):
        parts.append(part)
        writing.start_host_events(events)
        del events
    hosts = _joined(parts, steps)
    staging.observe(
        "nesting-repaired",
        "info",
        hosts.clipped,
        "host events outlive the event that encloses them",
        "each is cut at its parent's end when self times are computed",
    )
    return hosts


def _each(
    nest_stretch: Callable[[Stretch], tuple[Hosts, pa.Table]], stretches: Iterator[Stretch], number: int
) -> Iterator[tuple[Hosts, pa.Table]]:
    """Results of each stretch, in order; `number` is that of all events if two stretches fit in memory, else 0."""
    if number >= SIZES.threaded_events:
        with threads_for(number, 2, "nesting") as executor:
            yield from executor.map(nest_stretch, stretches)
    else:
        yield from map(nest_stretch, stretches)


def _joined(parts: list[Hosts], steps: FoundSteps) -> Hosts:
    """Combine the results of all stretches."""
    return Hosts(
        first_launches([part.launches for part in parts]),
        pa.concat_tables([CHAIN.empty_table(), *(part.chain for part in parts)]),
        pa.concat_tables([EXTERNAL.empty_table(), *(part.external for part in parts)]),
        pa.concat_tables([_NESTED.empty_table(), *(part.work for part in parts)]),
        pa.concat_tables([_OWNED.empty_table(), *(part.allocations for part in parts)]),
        pa.concat_tables([_OWNED.empty_table(), *(part.flows for part in parts)]),
        sum((part.per_step for part in parts), np.zeros(steps.starts.size, np.int64)),
        sum(part.clipped for part in parts),
    )


def _nest(batch: HostBatch, steps: FoundSteps) -> tuple[Surroundings, int]:
    """Nest the threads of a batch; also returns the number of events clipped to their parent."""
    found = _nested(batch.track, batch.ts, batch.ts + batch.dur, batch.role == FRAME)
    op, module = (nearest(batch.role == role, found.depth, found.parent) for role in (OP, MODULE))
    return Surroundings(found.depth, found.parent, op, module, steps.at(batch.ts)), found.clipped


def _nested(track: NDArray[np.int32], ts: Times, end: Times, is_frame: NDArray[np.bool_]) -> Nesting:
    """Nest threads; a Python frame ends where an event starts that lies mostly after the frame's end.

    A function that opens a context (`__enter__` of an annotation) returns while the context goes on: the context is
    neither its child nor that of enclosing functions that return as well.
    """
    nesting = nest(ts, end, track)
    if not is_frame.any():
        return nesting
    opened = np.flatnonzero(~is_frame & (end - nesting.end > nesting.end - ts))
    opened = opened[(nesting.parent[opened] >= 0) & is_frame[nesting.parent[opened]]]
    if not opened.size:
        return nesting
    end = end.copy()
    frame, context = nesting.parent[opened], opened
    while frame.size:
        np.minimum.at(end, frame, ts[context])
        frame = nesting.parent[frame]
        going = (frame >= 0) & is_frame[frame]
        going[going] = end[frame[going]] < end[context[going]]
        frame, context = frame[going], context[going]
    return nest(ts, end, track)


def _owned(batch: HostBatch, around: Surroundings, kind: int) -> pa.Table:
    """Enclosing events of the allocations or flow ends of a batch."""
    points = np.flatnonzero(batch.kind == kind)
    owner = around.parent[points]
    return pa.table({"row": batch.id[points], "owner": nullable(batch.id[owner], owner < 0)}, schema=_OWNED)


def _work(batch: HostBatch, around: Surroundings, is_work: NDArray[np.bool_], steps: FoundSteps) -> pa.Table:
    """Enclosing events and steps of the device work of a batch."""
    parent, step = around.parent[is_work], around.step[is_work]
    columns: dict[str, Any] = {"id": batch.id[is_work], "depth": around.depth[is_work]}
    columns |= {"parent": nullable(batch.id[parent], parent < 0)}
    columns |= {"step": steps.column(nullable(step, step < 0))}
    return pa.table(columns, schema=_NESTED)


def _host_events(batch: HostBatch, around: Surroundings, wanted: NDArray[np.bool_], steps: FoundSteps) -> pa.Table:
    """The wanted events in stored form, by thread and time, with their enclosing events."""
    by_time = np.lexsort((batch.ts, batch.track))
    chosen = by_time[(wanted & (batch.kind == EVENT))[by_time]]
    staged = batch.events.select(_STAGED).take(pa.array(batch.event[chosen]))
    parent, step = around.parent[chosen], around.step[chosen]
    columns: dict[str, Any] = {"id": batch.id[chosen], "ts": batch.ts[chosen], "track": batch.track[chosen]}
    columns |= {"depth": around.depth[chosen], "parent": nullable(batch.id[parent], parent < 0)}
    columns |= {"step": steps.column(nullable(step, step < 0))}
    return pa.table(columns | {name: staged[name] for name in _STAGED})
