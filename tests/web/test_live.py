"""What was allocated at a moment: small recordings in, allocations out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from readers.memsnapshot.snapshots import MIB, trace_of
from stepscope.analyses.memory.live_allocations import live_allocations
from stepscope.model.errors import MissingInputError
from stepscope.web.app import create_app
from stepscope.web.routes.live import live_at_event
from support import Facts
from web.test_snapshot import CONTENT


def rows(found: dict[str, Any], *names: str) -> list[tuple[Any, ...]]:
    at = [[column["name"] for column in found["columns"]].index(name) for name in names]
    return [tuple(row[i] for i in at) for row in found["rows"]]


def test_after_an_event_of_a_history(tmp_path: Path) -> None:
    with trace_of(tmp_path, CONTENT) as trace:
        found = [live_at_event(trace, 0, seq) for seq in (-1, 0, 1, 2, 4)]
        other = live_at_event(trace, 1, 4)
    assert [(one["count"], one["bytes"] // MIB) for one in found] == [(0, 0), (1, 4), (2, 6), (1, 4), (2, 5)]
    assert rows(found[2], "bytes", "made", "line") == [
        (4 * MIB, 0, "/home/me/train.py(1): keep"), (2 * MIB, 1, "/home/me/train.py(1): pass_by"),
    ]  # fmt: skip
    assert other["rows"] == []


def test_at_a_time_of_a_recording() -> None:
    facts = Facts()
    facts.host("module", "model", 0, 1000)
    inner = facts.host("op", "aten::mm", 100, 200)
    for at, address, size, thread in ((150, 1, 64, "1"), (160, 2, 32, "2"), (400, 1, -64, "1")):
        track = facts.staging.track("host", process="1", thread=thread)
        facts.row("raw_memory", ts=at, device=0, address=address, bytes=size, track=track)
    with facts.trace() as trace:
        found = [live_allocations(trace, 0, ts).rows() for ts in (149, 150, 399, 400)]
        with pytest.raises(MissingInputError):
            live_allocations(trace, 1, 150)
    assert found[0] == []
    assert found[1] == [(0, 64, "aten::mm", "model", None, 150, inner)]
    assert [row[1] for row in found[2]] == [64, 32]
    assert found[3] == [(0, 32, None, None, None, 160, None)]


def test_without_addresses_it_says_that_they_lack() -> None:
    facts = Facts()
    facts.row("raw_memory", ts=150, device=0, bytes=64, track=facts.staging.track("host", process="1", thread="1"))
    with facts.trace() as trace:
        with pytest.raises(MissingInputError, match="addresses"):
            live_allocations(trace, 0, 150)
        # To the page that is an answer, of which no browser complains.
        client = TestClient(create_app(trace, None), base_url="http://localhost")
        answer = client.get("/api/memory/live?rank=0&device=0&ts=150")
    assert answer.status_code == 200
    assert set(answer.json()["unknown"]) == {"message", "hint"}
    assert "addresses" in answer.json()["unknown"]["message"]
