"""Device queues: each runs its work in order, waits for events, and takes a limited number of launches."""

from __future__ import annotations

from collections import deque

from stepscope.simulate.records import BUSY, DEPENDENCY, LATENCY


class OpenAnnotation:
    """An open annotation: start of its device-side copy on each queue, for work of its host thread."""

    __slots__ = ("first", "thread")

    def __init__(self, thread: int) -> None:
        self.thread = thread
        self.first: dict[int, int] = {}


class SimQueue:
    """One stream.

    Because a stream is first in, first out, the times of an activity are known as soon as it is submitted.

    Attributes:
        free: when the last submitted activity ends.
        ready: no later activity starts before this (waited-for events).
        ends: ends of the latest activities, as many as may be outstanding.
        opening: annotations that still wait for their first activity here.
        last: end of the latest activity launched from each host thread.
    """

    __slots__ = ("ends", "event_latency", "free", "gap", "last", "latency", "opening", "ready")

    def __init__(self, depth: int, gap: int, latency: int, event_latency: int) -> None:
        self.free = 0
        self.ready = 0
        self.ends: deque[int] = deque(maxlen=depth)
        self.gap = gap
        self.latency = latency
        self.event_latency = event_latency
        self.opening: list[OpenAnnotation] = []
        self.last = [0, 0]

    def room(self, now: int) -> int:
        """When the next launch may return: now, or once the oldest outstanding activity has ended."""
        ends = self.ends
        if len(ends) == ends.maxlen and ends[0] > now:
            return ends[0]
        return now

    def start(self, submitted: int) -> tuple[int, int]:
        """Start of an activity submitted now, and what bound it."""
        start, bound = submitted + self.latency, LATENCY
        after = self.free + self.gap
        if after > start:
            start, bound = after, BUSY
        if self.ready > start:
            start, bound = self.ready, DEPENDENCY
        return start, bound

    def add(self, end: int) -> None:
        """Add a submitted activity with its end."""
        self.free = end
        self.ends.append(end)

    def wait(self, event: int) -> None:
        """Let what follows wait for work of another stream that ends at ``event``."""
        ready = event + self.event_latency
        if event > self.free and ready > self.ready:
            self.ready = ready
