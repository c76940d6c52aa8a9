"""A recording is compared with those around it in time only, and the result is that of comparing it with all."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from series import rounds
from stepscope.ingest.whose import accepted
from stepscope.ingest.whose.accepted import AcceptedSpans
from stepscope.ingest.whose.found import FoundRecordings
from stepscope.ingest.whose.names import time_in
from stepscope.ingest.whose.runs import at_once
from stepscope.model.recording import Recording


def recording(start: int | None, length: int = 0, name: str = "trace.json", part: str = "") -> FoundRecordings:
    between = None if start is None else (start, start + length)
    return FoundRecordings(
        Recording(name, "kineto", origin_unix_ns=start, events=length, part=part),
        Path(name), Path("store"), True, lambda: between,
    )  # fmt: skip


def pairwise(group: list[FoundRecordings], one: FoundRecordings, named: bool) -> bool:
    """Whether a recording conflicts with any of a group: the definition."""
    return any(
        one.only_part
        or other.only_part
        or at_once(one, other)
        or not (
            named
            or (one.between() is not None and other.between() is not None)
            or (time_in(one.path) is not None and time_in(other.path) is not None)
        )
        for other in group
    )


@pytest.mark.series
def test_neighbours_decide_as_all_do() -> None:
    chance = random.Random(5)
    for _ in range(rounds(2_000, 100)):
        named = chance.random() < 0.3
        spans, group = AcceptedSpans(named), list[FoundRecordings]()
        for _ in range(chance.randint(1, 25)):
            one = recording(
                None if chance.random() < 0.03 else chance.randrange(60),
                chance.choice([0, 0, 1, 2, 3, 5, 8, 20, 40]),
                chance.choice(["trace.json", "host_1.1694000000123.pt.trace.json"]),
                "pid 8" if chance.random() < 0.02 else "",
            )
            expected = pairwise(group, one, named)
            assert spans.conflict(one) == expected
            if not expected:
                spans.add(one)
                group.append(one)


def test_a_thousand_spans_are_compared_with_their_neighbours_only(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(accepted, "at_once", lambda one, other: calls.append(1) or at_once(one, other))
    spans = AcceptedSpans(named=False)
    order = list(range(1_000))
    random.Random(1).shuffle(order)
    for at in order:
        one = recording(at * 10, 12)
        assert not spans.conflict(one)
        spans.add(one)
    assert len(calls) < 5_000
    assert spans.has(recording(500, 12))
    assert not spans.has(recording(500, 13))
    assert spans.conflict(recording(500, 13))
