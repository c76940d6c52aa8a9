"""One time axis for all ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from stepscope.analyses.shared.recorded_events import recorded_events
from stepscope.model.trace import Trace

_EXTENT_SQL: Final = """
SELECT least((SELECT min(ts) FROM counters), (SELECT min(ts) FROM memory)) AS first,
    greatest((SELECT max(ts) FROM counters), (SELECT max(ts) FROM memory)) AS last
"""


@dataclass(frozen=True, slots=True)
class Axis:
    """Where each rank's time 0 lies on the common axis.

    Attributes:
        shift: ns to add to times of each rank.
        first: First recorded moment of each rank, on the common axis.
        last: Last one.
        by: Whether clocks tell (`clock`), or recordings are laid side by side from their starts (`start`).
    """

    shift: dict[int, int]
    first: dict[int, int]
    last: dict[int, int]
    by: Literal["clock", "start"]

    @property
    def whole(self) -> tuple[int, int]:
        """From the first recorded moment of all ranks to the last; at least 1 ns."""
        first = min(self.first.values(), default=0)
        return first, max(*self.last.values(), first + 1) if self.last else first + 1


def axis_of(ranks: Mapping[int, Trace], extents: Mapping[int, tuple[int, int]]) -> Axis:
    """The axis of these ranks, by their traces and extents.

    Clocks tell if each recording has a known origin and all of them overlap in time; recordings that do not are of
    other moments of the job, or of clocks that are not set alike.
    """
    if len(ranks) == 1:
        return _axis(dict.fromkeys(ranks, 0), extents, "clock")
    origins = {rank: trace.recordings[rank].origin_unix_ns for rank, trace in ranks.items()}
    known = {rank: origin for rank, origin in origins.items() if origin is not None}
    if len(known) == len(ranks) and known:
        base = min(known.values())
        shift = {rank: origin - base for rank, origin in known.items()}
        latest_start = max(shift[rank] + first for rank, (first, _) in extents.items())
        if latest_start < min(shift[rank] + last for rank, (_, last) in extents.items()):
            return _axis(shift, extents, "clock")
    return _axis({rank: -first for rank, (first, _) in extents.items()}, extents, "start")


def _axis(shift: dict[int, int], extents: Mapping[int, tuple[int, int]], by: Literal["clock", "start"]) -> Axis:
    first = {rank: start + shift[rank] for rank, (start, _) in extents.items()}
    return Axis(shift, first, {rank: end + shift[rank] for rank, (_, end) in extents.items()}, by)


def extent_of(trace: Trace) -> tuple[int, int]:
    """First and last recorded moment of a rank, in ns since its origin; at least 1 ns apart."""
    events = trace.once(recorded_events)
    [row] = trace.rows(_EXTENT_SQL)
    starts = [*events.first.tolist(), *([] if row["first"] is None else [row["first"]])]
    ends = [*events.last.tolist(), *([] if row["last"] is None else [row["last"]])]
    first = min(starts, default=0)
    return first, max(first + 1, *ends)
