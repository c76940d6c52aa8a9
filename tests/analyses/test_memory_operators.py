"""Device memory by the operator that allocated it."""

from __future__ import annotations

import pytest

from stepscope.analyses.memory.memory_operators import memory_operators
from stepscope.model.errors import MissingInputError
from support import Facts


def test_calls_bytes_and_lifetimes() -> None:
    facts = Facts()
    facts.host("op", "aten::conv2d", 0, 100)
    facts.host("op", "aten::empty", 10, 20)
    facts.host("op", "aten::mm", 200, 50)
    track = 0
    for ts, address, size in (
        (15, 1, 512), (220, 2, 4096), (230, 3, 1024), (300, 2, -4096), (310, 1, -512), (400, 1, 256),
    ):  # fmt: skip
        facts.row("raw_memory", ts=ts, device=0, address=address, bytes=size, track=track)
    facts.row("raw_memory", ts=20, device=None, address=9, bytes=99, track=track)
    found = [row[1:] for row in memory_operators(facts.trace()).rows()]
    assert found == [
        (0, "aten::mm", 2, 5120, 4096, 1, 80),
        (0, "aten::empty", 1, 512, 512, 1, 295),
        (0, None, 1, 256, 256, 0, 0),
    ]


def test_without_allocations() -> None:
    facts = Facts()
    facts.host("op", "aten::mm", 0, 10)
    with pytest.raises(MissingInputError, match="no allocations"):
        memory_operators(facts.trace())
