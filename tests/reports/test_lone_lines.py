"""One recording of a job of several ranks that tells neither its rank nor their number."""

from __future__ import annotations

from typing import Any

import pytest

from stepscope.model.trace import Trace
from stepscope.reports.ranks.lone_lines import lone_lines
from support import Facts


def recorded(name: str, collective: dict[str, Any] | None = None, **recording: Any) -> Trace:
    facts = Facts()
    op = facts.host("op", name, 0, 20_000)
    if collective is not None:
        facts.row("collectives", event=op, collective="all_reduce", group="0", **collective)
    return facts.trace(reader="kineto", **recording)


@pytest.mark.parametrize("name", ["record_param_comms", "c10d::allreduce_"])
def test_calls_of_collectives_ask_for_a_rank(name: str) -> None:
    (line,) = lone_lines(recorded(name, rank=None, world_size=None))
    assert (line.code, line.severity) == ("ranks-unknown", "info")


def test_described_collectives_do_too_unless_they_are_of_one_rank() -> None:
    assert len(lone_lines(recorded("x", {"world_size": 8}, rank=None, world_size=None))) == 1
    assert len(lone_lines(recorded("x", {}, rank=None, world_size=None))) == 1
    assert lone_lines(recorded("record_param_comms", {"world_size": 1}, rank=None, world_size=None)) == []


@pytest.mark.parametrize("told", [{"rank": 0, "world_size": None}, {"rank": None, "world_size": 8}])
def test_what_is_recorded_is_not_asked_for(told: dict[str, Any]) -> None:
    assert lone_lines(recorded("record_param_comms", **told)) == []


def test_programs_that_call_none_have_no_ranks() -> None:
    assert lone_lines(recorded("aten::mm", rank=None, world_size=None)) == []
