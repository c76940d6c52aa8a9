"""Events are counted alike by the query and in memory."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from series import rounds
from stepscope.analyses.shared.recorded_events import RecordedEvents, counted, queried
from support import Facts

EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["op", "runtime", "overhead", "other"]),
        st.sampled_from("abc"),
        st.integers(0, 50),
        st.integers(0, 9) | st.none(),
        st.sampled_from("12"),
    ),
    max_size=12,
)


def rows(found: RecordedEvents) -> list[tuple[int, ...]]:
    columns = (found.track, found.host, found.category, found.name, found.number, found.first, found.last)
    return sorted(zip(*(np.asarray(column).tolist() for column in columns), strict=True))


@settings(max_examples=rounds(25, 4), deadline=None)
@given(EVENTS)
def test_query_and_columns_agree(events: list[tuple[str, str, int, int | None, str]]) -> None:
    f = Facts()
    for category, name, ts, dur, thread in events:
        f.host(category, name, ts, dur, thread=thread)
    f.kernel("k", 20, 5)
    trace = f.trace()
    assert rows(counted(trace)) == rows(queried(trace))


def test_nothing_recorded() -> None:
    assert counted(Facts().trace()).total == 0
