"""Counts of a recording's events by track and category, so that queries for absent kinds can be skipped."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Final

from stepscope.store.staging import Staging

#: Category code and track are grouped as one number, which DuckDB does without hashing.
_EVENTS_SQL: Final = """
SELECT track, category::VARCHAR, number, first, last, least, most FROM (
    SELECT track, category, count(*) AS number, min(ts) AS first, max(ts) AS last, min(dur) AS least, max(dur) AS most
    FROM raw_events GROUP BY track, category
)
"""
_TRACKS_SQL: Final = "SELECT track, kind, device, stream FROM tracks"


@dataclass(frozen=True, slots=True)
class EventGroup:
    """The events of one category on one track.

    Attributes:
        track: Row of `tracks`.
        category: As in `events`.
        number: Number of events.
        first: The first start, in ns on the recording's clock.
        last: The last start in ns.
        least: The shortest duration in ns; None if none is recorded.
        most: The longest duration in ns; None likewise.
    """

    track: int
    category: str
    number: int
    first: int
    last: int
    least: int | None
    most: int | None


@dataclass(frozen=True, slots=True)
class Track:
    """A row of `tracks`."""

    number: int
    kind: str
    device: int | None
    stream: str | None


@dataclass(frozen=True)
class Overview:
    """The events of a recording by track and category, and its tracks by number."""

    groups: list[EventGroup]
    tracks: list[Track]

    @classmethod
    def read(cls, staging: Staging) -> Overview:
        """Count the events staged so far."""
        groups = [EventGroup(*row) for row in staging.connection.execute(_EVENTS_SQL).fetchall()]
        tracks = staging.connection.execute(_TRACKS_SQL).fetchall()
        return cls(groups, [Track(*row) for row in sorted(tracks, key=itemgetter(0))])

    @cached_property
    def total(self) -> int:
        """Number of all events."""
        return sum(group.number for group in self.groups)

    @cached_property
    def by_track(self) -> dict[int, int]:
        """Number of events by track."""
        found: dict[int, int] = {}
        for group in self.groups:
            found[group.track] = found.get(group.track, 0) + group.number
        return found

    @cached_property
    def hosts(self) -> frozenset[int]:
        """The tracks that are host threads."""
        return frozenset(track.number for track in self.tracks if track.kind == "host")

    def has(self, *categories: str) -> bool:
        """Whether there are events of one of these categories."""
        return any(group.category in categories for group in self.groups)

    def on_host(self, *categories: str) -> bool:
        """Whether there are events of one of these categories on host threads."""
        return any(group.category in categories and group.track in self.hosts for group in self.groups)
