"""The dependency graph of a job's steps, and predictions of their length under changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analyses.stepgraph.building.build import Built, build
from stepscope.analyses.stepgraph.building.points import END, START
from stepscope.analyses.stepgraph.building.spans import read_spans
from stepscope.analyses.stepgraph.changing.effects import Effects
from stepscope.analyses.stepgraph.changing.purposes import purposes
from stepscope.analyses.stepgraph.changing.removed import removed_ns
from stepscope.analyses.stepgraph.plan import Plan, plan
from stepscope.analyses.stepgraph.replay import Timing, replay
from stepscope.model.events.change import Change
from stepscope.model.intervals import Times
from stepscope.model.trace import Trace


@dataclass(frozen=True, slots=True)
class Prediction:
    """The predicted effect of a change on the mean step.

    Attributes:
        base_ns: Mean step as the graph replays it without any change.
        new_ns: Mean step with the change.
        saved_ns: base_ns - new_ns; negative where the change costs time.
        removed_ns: Time per step that the change itself takes away, hidden or not. A step can save more than that
            only where other ranks, which are taken to change too, come to their collectives sooner.
        steps: Which steps the mean is of, as in `steps`.
        residual: By how much the unchanged replay misses the recorded time of these steps, as a fraction of it; None
            where no host is recorded, since gaps that have no other reason are then kept as they are.
    """

    base_ns: int
    new_ns: int
    saved_ns: int
    removed_ns: int
    steps: tuple[int, ...]
    residual: float | None

    @property
    def gain_ceiling(self) -> float:
        """Upper bound of the speed-up: base_ns / new_ns - 1."""
        return self.base_ns / self.new_ns - 1 if self.new_ns else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class StepGraph:
    """Dependencies within the steps of one rank; docs/whatif.md describes the model.

    Attributes:
        built: The graph and what it was made of.
        plan: How it is replayed.
        effects: Where events are found in it.
        base_ns: Sum of the counted steps in the unchanged replay.
    """

    built: Built
    plan: Plan
    effects: Effects
    base_ns: int

    @classmethod
    def of(cls, trace: Trace) -> StepGraph:
        """The graph of a trace of one rank, built on first use.

        Raises:
            MissingInputError: The recording has neither device work nor host steps.
        """
        return trace.once(_of)

    def predict(self, change: Change) -> Prediction:
        """Predict the mean step under a change. Events outside the chosen steps are ignored."""
        timing = self.effects.of(change)
        total = max(total_ns(self.built, self._replayed(timing), timing.took), apart_ns(self.effects, change, timing))
        if timing.most == 1:
            # Nothing takes longer, and whatever can begin sooner may as well begin when it did.
            total = min(total, self.base_ns)
        recorded = recorded_ns(self.built, self.effects.took)
        number = len(self.built.selection.counted)
        gone = min(removed_ns(self.effects, change, timing), self.base_ns)
        base, new, removed = (ns // number for ns in (self.base_ns, total, gone))
        told = self.built.threads.main >= 0
        off = abs(self.base_ns - recorded) / max(recorded, 1) if told else None
        return Prediction(base, new, base - new, removed, self.built.selection.counted, off)

    def replay(self, change: Change) -> Times:
        """End of each node under a change, int64[nodes]."""
        return self._replayed(self.effects.of(change))

    def _replayed(self, timing: Timing) -> Times:
        return replay(int(self.built.graph.nodes.end[0]), self.plan, timing)


def total_ns(built: Built, ends: Times, took: Times) -> int:
    """Sum of the windows of the counted steps in ns, given the ends and durations of all nodes.

    A recording without steps counts as one step, as long as the devices were in use: the time before and after belongs
    to no step.
    """
    if built.selection.whole and built.device.size:
        return int(ends[built.device].max() - (ends - took)[built.device].min())
    starts, stops = windows(built, ends)
    return int((stops - starts)[built.selection.lead :].sum())


def apart_ns(effects: Effects, change: Change, timing: Timing) -> int:
    """Lower bound on the total length, ns: overlapped activities of a queue still run one after the other."""
    built = effects.built
    aside = effects.activities(change.overlapped)
    aside = aside[np.isin(built.activities.step[aside], built.selection.counted)]
    if not aside.size:
        return 0
    return int(np.bincount(built.activities.track[aside], timing.took[built.device[aside]]).max())


def recorded_ns(built: Built, took: Times) -> int:
    """Total recorded time of the counted steps, ns."""
    if built.selection.whole and built.device.size:
        return total_ns(built, built.graph.nodes.end, took)
    return built.selection.recorded_ns


def windows(built: Built, ends: Times) -> tuple[Times, Times]:
    """Start and end of the time that each step owns, by the same rule as in `step_budget`; int64[steps] each."""
    start, end = _marks(built, ends, START), _marks(built, ends, END)
    last = _last_activity(built, ends)
    if start is None or end is None:
        return _windows_of_devices(built, last)
    stops = np.maximum(end, last)
    # Work of before the recording may be in the way of several steps.
    starts = np.maximum(start, built.selection.floor)
    starts[1:] = np.maximum(starts[1:], np.maximum.accumulate(stops)[:-1])
    return starts, np.maximum(stops, starts)


def _windows_of_devices(built: Built, last: Times) -> tuple[Times, Times]:
    """Where no thread is recorded, a step ends as long after its last activity as it did, and so the next one starts.

    A step without activities goes on from where the step before it did.
    """
    selection = built.selection
    recorded, now = (
        np.maximum.accumulate(np.maximum(ends, selection.starts[0]))
        for ends in (_last_activity(built, built.graph.nodes.end), last)
    )
    stops = np.maximum.accumulate(np.maximum(selection.ends, recorded))
    starts = np.maximum(selection.starts, selection.floor)
    starts[1:] = np.maximum(starts[1:], stops[:-1])
    moved = now - recorded
    start = np.concatenate((starts[:1], starts[1:] + moved[:-1]))
    return start, np.maximum(stops + moved, start)


def _last_activity(built: Built, ends: Times) -> Times:
    """End of each step's last activity, int64[steps]; the smallest int64 if it has none."""
    steps = built.selection.step
    last = np.full(steps.size, np.iinfo(np.int64).min)
    known = np.flatnonzero(np.isin(built.activities.step, steps))
    order = np.argsort(steps, kind="stable")
    mine = order[np.searchsorted(steps, built.activities.step[known], sorter=order)]
    np.maximum.at(last, mine, ends[built.device[known]])
    return last


def _marks(built: Built, ends: Times, kind: int) -> Times | None:
    """Start or end of each step on the host; None if no thread is recorded."""
    points = np.flatnonzero(built.points.kind == kind)
    if not points.size:
        return None
    ordered = points[np.argsort(built.points.at[points], kind="stable")]
    marks: Times = ends[built.host[ordered]]
    return marks


def _of(trace: Trace) -> StepGraph:
    built = build(trace)
    found = purposes(trace, built.selection, built.activities)
    effects = Effects.on(built, read_spans(trace, built.selection), found)
    layout = plan(built.graph)
    unchanged = replay(int(built.graph.nodes.end[0]), layout, effects.of(Change()))
    return StepGraph(built, layout, effects, total_ns(built, unchanged, effects.took))
