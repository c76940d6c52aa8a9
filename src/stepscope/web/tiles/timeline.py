"""The timeline of an open trace: its tracks on one time axis, and their tiles."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

import numpy as np

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.trace import Trace
from stepscope.reports.text import visible
from stepscope.web.tiles import encode, listing
from stepscope.web.tiles.clock import Axis, axis_of, extent_of
from stepscope.web.tiles.entries import lane_edges
from stepscope.web.tiles.kept import Kept
from stepscope.web.tiles.lines import CounterLine, line_of
from stepscope.web.tiles.names import ShortNames
from stepscope.web.tiles.parents import Parents
from stepscope.web.tiles.pyramid import COARSEST, Pyramid
from stepscope.web.tiles.reading import events_of, layers_of
from stepscope.web.tiles.saved import Saved
from stepscope.web.tiles.shares import Shares, shares_of
from stepscope.web.tiles.track import KINDS, SHARES, TimelineTrack

#: Buckets of a tile, as a power of two: a screen is two to four tiles wide.
TILE_BITS: Final = 10
#: What tracks may take in memory; an event takes some 90 bytes.
_LIMIT: Final = 1536 << 20
#: Tracks of one request.
_MOST_TRACKS: Final = 256
_BUSY_SQL: Final = "SELECT min(ts) AS first, max(ts + dur) AS last FROM kernels WHERE kind <> 'sync'"


@dataclass(frozen=True, slots=True)
class Drawn:
    """Where something is in the timeline: a track's index, a lane, and a range in ns on the common axis."""

    track: int
    lane: int
    start: int
    end: int


class Timeline:
    """The timeline of a trace of one or more ranks; several threads may ask at a time.

    Args:
        trace: Stays open as long as it is asked.
    """

    def __init__(self, trace: Trace) -> None:
        self.ranks = {rank: trace.rank(rank) for rank in trace.ranks}
        self._names = {rank: ShortNames(one) for rank, one in self.ranks.items()}
        self._kept = Kept(_LIMIT)
        self._saved = {rank: Saved(trace.folders.get(rank)) for rank in self.ranks}
        #: Time by cause takes longest; tracks that are made meanwhile leave it a core.
        self._cores = threading.BoundedSemaphore(max(1, (os.cpu_count() or 1) - 1))
        self._reading: defaultdict[tuple[int, int], threading.Lock] = defaultdict(threading.Lock)

    @cached_property
    def axis(self) -> Axis:
        """The common time axis."""
        return axis_of(self.ranks, {rank: extent for rank, (_, extent) in self._listed.items()})

    @cached_property
    def tracks(self) -> list[TimelineTrack]:
        """All tracks, rank by rank; an index of a track is a position in this list."""
        return [track for tracks, _ in self._listed.values() for track in tracks]

    @cached_property
    def _listed(self) -> dict[int, tuple[list[TimelineTrack], tuple[int, int]]]:
        """The tracks of each rank, and its first and last moment."""
        found = {}
        for rank, trace in self.ranks.items():
            if (known := listing.from_arrays(rank, self._saved[rank].load("listing", rank))) is None:
                part = trace.for_thread()
                known = listing.tracks_of(part), extent_of(part)
                self._saved[rank].save(listing.to_arrays(*known), "listing", rank)
            found[rank] = known
        return found

    def trace_of(self, rank: int) -> Trace:
        """The trace of a rank, for the thread that asks.

        Raises:
            UserError: There is no such rank.
        """
        if rank not in self.ranks:
            raise UserError(said("the recording has no rank {rank}", rank=rank))
        return self.ranks[rank].for_thread()

    def to_json(self) -> dict[str, Any]:
        """What a page needs before it asks for tiles. Times are ns on the common axis."""
        axis = self.axis
        ranks = [
            {
                "rank": rank,
                "host": visible(one.recordings[rank].host or ""),
                "shift": axis.shift[rank],
                "first": axis.first[rank],
                "last": axis.last[rank],
            }
            for rank, one in self.ranks.items()
        ]
        first, last = axis.whole
        tracks = [track.to_json(index) for index, track in enumerate(self.tracks)]
        whole = {"first": first, "last": last, "busy": self._busy, "aligned": axis.by, "tile_bits": TILE_BITS}
        return {**whole, "ranks": ranks, "tracks": tracks, "kinds": KINDS, "shares": SHARES}

    @cached_property
    def _busy(self) -> tuple[int, int] | None:
        """From the first to the last work of any device; None where none is recorded."""
        found = []
        for rank, trace in self.ranks.items():
            [row] = trace.for_thread().rows(_BUSY_SQL)
            if row["first"] is not None:
                found.append((row["first"] + self.axis.shift[rank], row["last"] + self.axis.shift[rank]))
        return (min(first for first, _ in found), max(last for _, last in found)) if found else None

    def pyramid(self, index: int) -> Pyramid:
        """The events of a track at all levels.

        Raises:
            UserError: There is no such track, or it has no events.
        """
        track = self._track(index)
        if track.form != "events":
            raise UserError(said("track {index} is drawn as {form}, not as events", index=index, form=track.form))

        return self._kept.value(index, lambda: self._pyramid(track))

    def keeps(self, index: int) -> bool:
        """Whether a track was computed before and is kept beside its store, so that its tiles take no time to make."""
        track = self._track(index)
        if track.form == "line":
            return False
        key = ("time", track.device) if track.form == "shares" else self._key(track)
        return self._saved[track.rank].has(*key)

    def _pyramid(self, track: TimelineTrack) -> Pyramid:
        # Layers of a thread are made together; whoever wants another one meanwhile waits and finds it.
        with self._reading[track.rank, track.track if track.source == "thread" else id(track)]:
            key, saved = self._key(track), self._saved[track.rank]
            if (arrays := saved.load(*key)) is not None:
                return Pyramid.from_arrays(arrays)
            with self._cores:
                return self._made(track)

    def _made(self, track: TimelineTrack) -> Pyramid:
        saved, key = self._saved[track.rank], self._key(track)
        trace, shift = self.ranks[track.rank].for_thread(), self.axis.shift[track.rank]
        layers = layers_of(trace, track.track) if track.source == "thread" else {track.part: events_of(trace, track)}
        mine = None
        for part in list(layers):
            events = layers.pop(part)
            made = Pyramid.of(replace(events, ts=events.ts + shift) if shift else events)
            saved.save(made.to_arrays(), *self._key(replace(track, part=part)))
            mine = made if part == track.part else mine
        assert mine is not None
        arrays = saved.load(*key)
        return mine if arrays is None else Pyramid.from_arrays(arrays)

    def _key(self, track: TimelineTrack) -> tuple[object, ...]:
        """What a track is saved under: what it is made from, and where its rank lies on the axis."""
        return track.source, track.track, track.device, track.part, self.axis.shift[track.rank]

    def tiles(self, level: int, tile: int, tracks: Sequence[int]) -> bytes:
        """Blocks of some tracks (`encode.py`) for tile number `tile`, whose buckets are `2 ** level` ns wide.

        Raises:
            UserError: There is no such level or track, or there are too many of them.
        """
        if not 0 <= level <= COARSEST or abs(tile) >= 1 << 62 - level - TILE_BITS:
            raise UserError(said("tiles have levels 0 to {coarsest}, not {level}", coarsest=COARSEST, level=level))
        if len(tracks) > _MOST_TRACKS:
            raise UserError(
                said(
                    "a request may name {most_tracks} tracks, not {count}", most_tracks=_MOST_TRACKS, count=len(tracks)
                )
            )
        return b"".join(self._tile(level, tile, index) for index in tracks)

    def _tile(self, level: int, tile: int, index: int) -> bytes:
        track = self._track(index)
        width = level + TILE_BITS
        lo, hi = tile << width, (tile + 1) << width
        header = {"track": index, "level": level, "tile": tile}
        if track.form == "events":
            pyramid = self.pyramid(index)
            names = self._step_names(track) if track.source == "steps" else self._names[track.rank]
            return encode.of_events(header, lo, pyramid.entries(lo, hi, level), pyramid.events, names)
        shift = self.axis.shift[track.rank]
        if track.form == "line":
            sampled = self._kept.value(index, lambda: self._line(track)).within(lo, hi, level)
            return encode.of_line(header, lo, sampled)
        shares = self.shares(index)
        return encode.of_shares(header, lo, shares.buckets(lo - shift, level, 1 << TILE_BITS))

    def shares(self, index: int) -> Shares:
        """What the device of a track did; times since the rank's origin.

        Raises:
            UserError: There is no such track, or it is none of a device's time.
        """
        track = self._track(index)
        if track.form != "shares":
            raise UserError(said("track {index} is not of a device's time", index=index))
        return self._kept.value(index, lambda: self._shares(track))

    def _shares(self, track: TimelineTrack) -> Shares:
        saved = self._saved[track.rank]
        if (arrays := saved.load("time", track.device)) is not None:
            return Shares.from_arrays(arrays)
        made = shares_of(self.ranks[track.rank].for_thread(), track.device)
        saved.save(made.to_arrays(), "time", track.device)
        return made

    def _line(self, track: TimelineTrack) -> CounterLine:
        line = line_of(self.ranks[track.rank].for_thread(), track)
        return replace(line, ts=line.ts + self.axis.shift[track.rank])

    def around(self, rank: int, event: int) -> list[int]:
        """Ids of what is around an event of a thread, from the nearest to the outermost."""
        return self._kept.value(("parents", rank), lambda: self._parents(rank)).around(event)

    def _parents(self, rank: int) -> Parents:
        saved = self._saved[rank]
        if (arrays := saved.load("parents")) is None:
            made = Parents.read(self.ranks[rank].for_thread())
            saved.save(made.to_arrays(), "parents")
            return made
        return Parents(arrays["of"])

    def _step_names(self, track: TimelineTrack) -> list[str]:
        rows = self.ranks[track.rank].rows("SELECT name FROM steps WHERE source <> 'whole'")
        return [visible(row["name"]) for row in rows]

    def _track(self, index: int) -> TimelineTrack:
        if not 0 <= index < len(self.tracks):
            raise UserError(
                said("there is no track {index}; the timeline has {count}", index=index, count=len(self.tracks))
            )
        return self.tracks[index]

    def track_of(self, rank: int, thread: int, category: str) -> int | None:
        """Index of the track that an event is drawn in first, by its thread or queue and category."""
        for index, track in enumerate(self.tracks):
            if track.rank == rank and track.track == thread and track.holds(category):
                return index
        return None

    def place(self, index: int, event: int, ts: int) -> Drawn | None:
        """Where an event is, given its track and its start on the common axis; None if it is not there."""
        events = self.pyramid(index).events
        for lane, (since, end) in enumerate(pairwise(lane_edges(events.lane, events.lanes).tolist())):
            at = since + int(np.searchsorted(events.ts[since:end], ts))
            while at < end and events.ts[at] == ts:
                if events.id[at] == event:
                    return Drawn(index, lane, ts, ts + int(events.dur[at]))
                at += 1
        return None
