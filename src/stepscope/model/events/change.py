"""Changes of a job in terms of recorded events: what a remedy does to them, and what the step graph replays."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stepscope.model.intervals import distinct

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
        time: Stretches of the time of the main thread, of those that it takes turns with, and of those that feed other
            queues as it does at the same time, that are multiplied.
        unblocked: Host events that no longer wait for the device: only the call's own time remains. Also collectives
            that no longer wait for other ranks; one that is scaled as well takes that part of its recorded length.
        overlapped: Device activities (collectives, copies) that overlap fully with other device work; see
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
            distinct(np.append(self.unblocked, other.unblocked)),
            distinct(np.append(self.overlapped, other.overlapped)),
        )


def scaled_each(events: Events, factors: NDArray[np.float64], parts: int = 100) -> tuple[Scaled, ...]:
    """Scale each of n events by its own factor, rounded to 1/`parts`; events that stay as they are are left out.

    Each distinct factor is one `Scaled`, so that a graph is asked about a hundred of them rather than of each event.
    """
    rounded = np.rint(np.clip(factors, 0.0, None) * parts).astype(np.int64)
    return tuple(Scaled(events[rounded == step], step / parts) for step in np.unique(rounded).tolist() if step != parts)
