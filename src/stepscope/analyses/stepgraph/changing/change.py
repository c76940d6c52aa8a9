"""What might be changed about a job, and what that would make of its steps."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Events = NDArray[np.int64]


#: Stands for all that the host does, recorded or not, as an "event" of `Change.host`.
EVERY_HOST_EVENT: Events = np.array([-1], np.int64)
EVERY_HOST_EVENT.flags.writeable = False


def no_events() -> Events:
    """An empty set of events."""
    return np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Scaled:
    """Events whose time is multiplied.

    Attributes:
        events: int64[n], ids of `events`.
        factor: At least 0; 0 removes their time.
    """

    events: Events
    factor: float


@dataclass(frozen=True, slots=True, eq=False)
class Stretches:
    """Stretches of the host's time that are multiplied, whatever is recorded in them or not.

    Attributes:
        starts: int64[n].
        ends: int64[n].
        factor: At least 0; 0 removes them.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    factor: float


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """A change of a job, in terms of the events of its recording. Changes add up: `a + b` is both.

    Attributes:
        device: Device activities whose duration is multiplied. What a collective loses is time of moving data first;
            of the wait for other ranks it loses only what remains. Factor 0 removes activities; their launches stay.
        host: Host events whose span is multiplied: their own time and that of all they call, on whichever thread it
            is done while theirs waits, but for waits for the device, which follow from the graph. A batch that
            arrives from a loader's workers is paced by the factor of the loader's own events. `EVERY_HOST_EVENT`
            means everything but the pace of workers.
        time: Stretches of the time of the main thread, and of those that it takes turns with, that are multiplied.
        unblocked: Host events that no longer wait for the device: only the call's own time remains. Also collectives
            that no longer wait for other ranks.
        overlapped: Device activities (collectives, copies) that no longer stand in the way of other device work; see
            `overlap`.
    """

    device: tuple[Scaled, ...] = ()
    host: tuple[Scaled, ...] = ()
    time: tuple[Stretches, ...] = ()
    unblocked: Events = field(default_factory=no_events)
    overlapped: Events = field(default_factory=no_events)

    def __add__(self, other: Change) -> Change:
        return Change(
            self.device + other.device,
            self.host + other.host,
            self.time + other.time,
            np.union1d(self.unblocked, other.unblocked),
            np.union1d(self.overlapped, other.overlapped),
        )


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a change makes of the mean step.

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
        """How much more would be done in the same time: base_ns / new_ns - 1."""
        return self.base_ns / self.new_ns - 1 if self.new_ns else 0.0
