"""Number of events per track, category and name, counted once for all that ask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.grouping import Groups
from stepscope.model.categories import CATEGORIES
from stepscope.model.coding import code
from stepscope.model.events.columns import Spans, names_by_id, on_host
from stepscope.model.intervals import Times
from stepscope.model.sizes import SIZES
from stepscope.model.trace import Trace

_SQL: Final = f"""
SELECT g.track, coalesce(t.kind = 'host', false) AS host,
    {code("category", CATEGORIES)} AS category, name_id AS name, number, first, last
FROM (
    SELECT track, category, name_id, count(*) AS number, min(ts) AS first, max(ts + coalesce(dur, 0)) AS last
    FROM spans GROUP BY ALL
) g LEFT JOIN tracks t ON t.track = g.track
"""


@dataclass(frozen=True, slots=True)
class RecordedEvents:
    """The k kinds of events: of one track, category and name each.

    Attributes:
        track: int32[k].
        host: bool[k], whether that is a thread of the host.
        category: int8[k], index into `CATEGORIES`.
        name: int32[k], `name_id`.
        number: int64[k], events.
        first: int64[k], start of the first one.
        last: int64[k], latest end.
    """

    track: NDArray[np.int32]
    host: NDArray[np.bool_]
    category: NDArray[np.int8]
    name: NDArray[np.int32]
    number: NDArray[np.int64]
    first: Times
    last: Times

    @property
    def total(self) -> int:
        """Events in all."""
        return int(self.number.sum())

    def of(self, categories: Sequence[str]) -> NDArray[np.bool_]:
        """Which kinds are of one of the categories, bool[k]."""
        return np.isin(self.category, [CATEGORIES.index(category) for category in categories])

    def on_host(self, categories: Sequence[str]) -> int:
        """How many events of the categories threads of the host have."""
        return int(self.number[self.host & self.of(categories)].sum())

    def names(self, categories: Sequence[str]) -> list[int]:
        """`name_id` of the events of the categories, ascending."""
        found: list[int] = np.unique(self.name[self.of(categories)]).tolist()
        return found


def recorded_events(trace: Trace) -> RecordedEvents:
    """Count the events of a rank; ask for it with `Trace.once`.

    Columns in memory are faster to count than the query is, but those of a large recording must not be in memory at
    once.
    """
    [recording] = trace.recordings.values()
    return queried(trace) if recording.events > SIZES.whole_columns else counted(trace)


def queried(trace: Trace) -> RecordedEvents:
    """The counts by a query, without columns in memory."""
    return RecordedEvents(**trace.columns(_SQL))


def counted(trace: Trace) -> RecordedEvents:
    """The counts from columns in memory."""
    spans = Spans(trace)
    kinds = Groups.by(spans.track, spans.category, spans.name)
    first, last = kinds.least(spans.ts), kinds.most(spans.ts + np.maximum(spans.dur, 0))
    track, at = spans.track[kinds.first], kinds.first
    return RecordedEvents(track, on_host(trace, track), spans.category[at], spans.name[at], kinds.count, first, last)


def names_of(trace: Trace, categories: Sequence[str]) -> list[tuple[int, str]]:
    """`name_id` and name of all events of the categories."""
    names = trace.once(names_by_id)
    return [(name_id, names[name_id]) for name_id in trace.once(recorded_events).names(categories)]


def passing(names: Sequence[tuple[int, str]], test: Callable[[str], bool]) -> list[int]:
    """`name_id` of the names that pass a test."""
    return [name_id for name_id, name in names if test(name)]


def listed(ids: Sequence[int]) -> str:
    """Ids as the right side of SQL's IN; no id is -1."""
    return f"({', '.join(map(str, ids)) or '-1'})"
