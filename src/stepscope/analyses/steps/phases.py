"""Time of each step by phase of the program: on the host, on the devices, and idle."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.device_time import step_windows
from stepscope.analyses.steps.graph_phases import graph_phases
from stepscope.analyses.steps.phase_marks import Marks, phase_marks
from stepscope.analyses.steps.phase_names import BACKWARD, OPTIMIZER, PHASES, PREPROCESSING, RECOMPUTATION, REST
from stepscope.model.events.columns import Spans
from stepscope.model.events.copies import DIRECTIONS, Copies
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.events.steps import Steps
from stepscope.model.intervals import Intervals, Times
from stepscope.model.partition import partition
from stepscope.model.schema import Column, TableSchema, ns, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

TABLE: Final = TableSchema(
    "phases",
    "The phases of each step. On each device, `host_ns` adds up to the step on the host, `device_ns` and `idle_ns` "
    "together to the step on the device (`total_ns` of `step_budget`), exactly. Without device activity the latter two "
    "are null. Rows of nothing but zeros are left out.",
    (
        RANK,
        Column("device", "int32", "Device index; null if not recorded.", "", True),
        Column("step", "int32", "Step, as in `steps`."),
        text("phase", "data_loading, preprocessing (and copying inputs), forward, backward, optimizer (also zeroing, "
             "scaling and clipping gradients), recomputation (of activations that were not kept), saving (the "
             "model), postprocessing; of servers prefill, decode, mixed (both in one batch), sampling; of diffusion "
             "denoise; rest."),
        ns("host_ns", "What the main thread did, or waited for another thread to do."),
        ns("device_ns", "The device was busy with work that was launched in the phase; what runs beside earlier work "
           "does not count again.", nullable=True),
        ns("idle_ns", "The device did nothing while the host was in the phase.", nullable=True),
    ),
)  # fmt: skip


def phases(trace: Trace) -> Table:
    """Split each step.

    Raises:
        MissingInputError: Neither operators, nor ranges with names of phases, nor kernels with places are recorded.
    """
    marks, steps, windows = trace.once(phase_marks), Steps.of(trace), trace.once(step_windows)
    lo, hi = _range(trace)
    starts, ends, labels = partition(marks.layers, lo, hi + 1)
    on_host = [Intervals.union_of(starts[labels == i], ends[labels == i]) for i in range(len(PHASES))]
    host = np.stack([layer.within(steps.ts, steps.stop) for layer in on_host])
    order = {step: i for i, step in enumerate(steps.step.tolist())}
    rows: list[tuple[Any, ...]] = []
    devices = _devices(trace, marks, (starts, labels))
    for device, by_phase in devices:
        busy = idle = None
        if by_phase:
            busy = np.stack([intervals.within(windows.starts, windows.ends) for intervals in by_phase])
            free = Intervals.union_of(windows.starts, windows.ends) - Intervals.union_of_all(by_phase)
            idle = np.stack([(layer & free).within(windows.starts, windows.ends) for layer in on_host])
        for at, step in enumerate(windows.step.tolist()):
            for phase, name in enumerate(PHASES):
                values = (
                    int(host[phase, order[step]]),
                    None if busy is None else int(busy[phase, at]),
                    None if idle is None else int(idle[phase, at]),
                )
                if any(values):
                    rows.append((trace.ranks[0], device, step, name, *values))
    return Table.from_rows(TABLE, rows)


def _devices(
    trace: Trace, marks: Marks, line: tuple[Times, NDArray[np.int64]]
) -> list[tuple[int | None, list[Intervals]]]:
    """When each device worked for each phase.

    Where activities overlap, compute counts before collectives, and these before copies, as in `step_budget`; among
    equals the one that started first counts.

    Without device activity, one unknown device.
    """
    work = DeviceWork.of(trace)
    phase = _phases_of_work(trace, marks, line)
    found: list[tuple[int | None, list[Intervals]]] = []
    ran, compute, comm = ~work.are("sync"), work.are("compute"), work.are("comm")
    for device in np.unique(work.device[ran]).tolist():
        mine = ran & (work.device == device)
        by_phase = [Intervals.empty()] * len(PHASES)
        for kind in (compute, comm, ~(compute | comm)):
            taken = Intervals.union_of_all(by_phase)
            new = _by_phase(work, phase, np.flatnonzero(mine & kind))
            by_phase = [old | (one - taken) for old, one in zip(by_phase, new, strict=True)]
        found.append((None if device < 0 else device, by_phase))
    return found or [(None, [])]


def _by_phase(work: DeviceWork, phase: NDArray[np.int64], at: NDArray[np.int64]) -> list[Intervals]:
    """When these activities ran, by phase; time covered by several belongs to the one that started first."""
    at = at[np.lexsort((work.event[at], work.ts[at]))]
    end = work.ts[at] + work.dur[at]
    before = np.append(np.iinfo(np.int64).min, np.maximum.accumulate(end)[:-1])[: at.size]
    start = np.maximum(work.ts[at], before)
    return [Intervals.union_of(start[mine], end[mine]) for mine in (phase[at] == i for i in range(len(PHASES)))]


def phase_of_work(trace: Trace) -> NDArray[np.int64]:
    """The phase of each activity of `DeviceWork`, int64[n], position in `PHASES`; ask for it with `Trace.once`.

    Raises:
        MissingInputError: As for `phases`.
    """
    marks = trace.once(phase_marks)
    lo, hi = _range(trace)
    starts, _, labels = partition(marks.layers, lo, hi + 1)
    return _phases_of_work(trace, marks, (starts, labels))


def _range(trace: Trace) -> tuple[int, int]:
    """From the start of the first step to the end of the last, on host and devices."""
    steps, windows = Steps.of(trace), trace.once(step_windows)
    lo = min(steps.ts.min(initial=0), windows.starts.min(initial=0))
    return int(lo), int(max(steps.stop.max(initial=0), windows.ends.max(initial=0)))


def _phases_of_work(trace: Trace, marks: Marks, line: tuple[Times, NDArray[np.int64]]) -> NDArray[np.int64]:
    """The phase in which each activity was launched: where its operator began, else its launch; else the rest.

    Work of a graph that is launched as a whole has the phase that its name tells.
    """
    work, spans = DeviceWork.of(trace), Spans(trace)
    starts, labels = line
    rows = spans.rows(work.op)
    known = rows >= 0
    when = np.where(known, spans.ts[rows], np.where(work.launched, work.called, -1))
    thread = np.where(known, spans.track[rows], np.where(work.launched, work.thread, -1))
    at = np.clip(np.searchsorted(starts, when, side="right") - 1, 0, max(starts.size - 1, 0))
    told = known | work.launched
    phase = np.where(told, labels[at] if starts.size else REST, REST)
    inside = np.isin(thread, marks.backward) & told
    phase = np.where(inside, np.where(marks.layers[RECOMPUTATION].at(when), RECOMPUTATION, BACKWARD), phase)
    placed = trace.once(graph_phases)
    phase = np.where((phase == REST) & (placed >= 0), placed, phase)
    # Ranges of users often hold the update too; its kernels are recognised by their names.
    phase[work.is_class("optimizer") & np.isin(phase, (BACKWARD, REST))] = OPTIMIZER
    copies = Copies.of(trace)
    inputs = np.zeros(phase.size, np.bool_)
    inputs[copies.at[copies.direction == DIRECTIONS.index("HtoD")]] = True
    # Copies of inputs on a thread of their own, while the main thread does something unnamed.
    phase[inputs & told & (phase == REST)] = PREPROCESSING
    return phase


ANALYSES = (Analysis(TABLE, phases),)
