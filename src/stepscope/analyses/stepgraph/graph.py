"""The dependency graph of a job's steps, and predictions of their length under changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.analyses.stepgraph.building.build import Built, build
from stepscope.analyses.stepgraph.building.spans import read_spans
from stepscope.analyses.stepgraph.changing.effects import Effects
from stepscope.analyses.stepgraph.changing.purposes import purposes
from stepscope.analyses.stepgraph.changing.removed import removed_ns
from stepscope.analyses.stepgraph.replay import Timing, replay
from stepscope.analyses.stepgraph.windows import devices_ns, recorded_ns, total_ns
from stepscope.model.events.change import Change
from stepscope.model.intervals import Intervals, Times
from stepscope.model.trace import Trace

#: Devices that are busy for this much of the time pace the steps, whatever the host does meanwhile.
_BUSY: Final = 0.9


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
        devices_ns: What the step would save if the devices alone paced it, where the graph can't tell whether they do;
            None where it can.
        residual: By how much the unchanged replay misses the recorded time of these steps, as a fraction of it; None
            where no host is recorded, since gaps that have no other reason are then kept as they are.
    """

    base_ns: int
    new_ns: int
    saved_ns: int
    removed_ns: int
    steps: tuple[int, ...]
    residual: float | None
    devices_ns: int | None = None

    @property
    def gain_ceiling(self) -> float:
        """Upper bound of the speed-up: base_ns / new_ns - 1."""
        return self.base_ns / self.new_ns - 1 if self.new_ns else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class StepGraph:
    """Dependencies within the steps of one rank; docs/whatif.md describes the model.

    Attributes:
        built: The graph and what it was made of.
        effects: Where events are found in it.
        base_ns: Sum of the counted steps in the unchanged replay.
        apart: Whether most device work has no call that launched it, though the host is recorded: waits of the host
            can't be distinguished from its own work.
        busy: Whether the devices are busy nearly all the time. If so they alone show, of a graph that is apart, what a
            change of theirs saves; else nobody knows whether they or the host pace the steps.
    """

    built: Built
    effects: Effects
    base_ns: int
    apart: bool = False
    busy: bool = False

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
        ends = replay(self.built.graph, timing)
        total = max(total_ns(self.built, ends, timing.took), apart_ns(self.effects, change, timing))
        of_devices = None
        if self.apart:
            unchanged, changed = (devices_ns(self.built, one) for one in (self.built.graph.nodes.end, ends))
            of_devices = unchanged - changed
        if of_devices is not None and self.busy:
            total, of_devices = min(total, self.base_ns - of_devices), None
        if timing.arrivals.most == 1:
            # Nothing takes longer, and whatever can begin sooner may as well begin when it did.
            total = min(total, self.base_ns)
        recorded = recorded_ns(self.built, self.effects.took)
        number = len(self.built.selection.counted)
        gone = min(removed_ns(self.effects, change, timing), self.base_ns)
        base, new, removed = (ns // number for ns in (self.base_ns, total, gone))
        told = self.built.threads.main >= 0
        off = abs(self.base_ns - recorded) / max(recorded, 1) if told else None
        alone = None if of_devices is None else of_devices // number
        return Prediction(base, new, base - new, removed, self.built.selection.counted, off, alone)

    def replay(self, change: Change) -> Times:
        """End of each node under a change, int64[nodes]."""
        return replay(self.built.graph, self.effects.of(change))


def apart_ns(effects: Effects, change: Change, timing: Timing) -> int:
    """Lower bound on the total length, ns: overlapped activities of a queue still run one after the other."""
    built = effects.built
    aside = effects.activities(change.overlapped)
    aside = aside[np.isin(built.activities.step[aside], built.selection.counted)]
    if not aside.size:
        return 0
    return int(np.bincount(built.activities.track[aside], timing.took[built.device[aside]]).max())


def _of(trace: Trace) -> StepGraph:
    built = build(trace)
    found = purposes(trace, built.selection, built.activities)
    effects = Effects.on(built, read_spans(trace, built.selection), found)
    unchanged = replay(built.graph, effects.of(Change()))
    base = total_ns(built, unchanged, effects.took)
    return StepGraph(built, effects, base, _apart(built), _busy(built, base))


def _apart(built: Built) -> bool:
    launch = built.activities.launch
    return built.threads.main >= 0 and 2 * np.count_nonzero(launch >= 0) < launch.size


def _busy(built: Built, base: int) -> bool:
    work = built.activities
    counted = np.isin(work.step, built.selection.counted)
    return Intervals.union_of(work.ts[counted], work.end[counted]).total >= _BUSY * base
