"""A thread's events as they are drawn, however they are laid out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest
from numpy.typing import NDArray

from stepscope.web.tiles import reading
from stepscope.web.tiles.entries import TrackEvents
from support import Facts


def _facts() -> Facts:
    facts = Facts()
    for number in range(3):
        start = 1_000 * number
        facts.host("step", f"ProfilerStep#{number}", start, 900)
        facts.host("python", "train.py(3): step", start, 900)
        facts.host("op", "aten::linear", start + 100, 300)
        facts.host("op", "aten::addmm", start + 100, 250)
        facts.host("python", "linear.py(9): forward", start + 120, 100)
        facts.kernel("sgemm", start + 300, 50, launch=(start + 150, 20))
    return facts


def _late() -> Facts:
    """The same, and an event that is recorded after those that start later."""
    facts = _facts()
    facts.host("op", "aten::relu", 1_050, 20)
    return facts


@pytest.mark.parametrize("given", [_facts, _late])
def test_layers_are_the_same_by_either_way(given: Callable[[], Facts], monkeypatch: pytest.MonkeyPatch) -> None:
    trace = given().trace()
    [thread] = trace.rows("SELECT track FROM spans WHERE category = 'step' GROUP BY track")

    def read() -> dict[str, list[NDArray[Any]]]:
        found = reading.layers_of(trace, thread["track"])
        return {name: [getattr(its, one.name) for one in fields(TrackEvents)] for name, its in found.items()}

    quick = read()
    monkeypatch.setattr(reading, "layers", lambda *_: None)
    plain = read()
    assert list(quick) == list(plain) == ["python", "framework", "api"]
    for name, columns in quick.items():
        assert [(one.dtype, one.tolist()) for one in columns] == [(one.dtype, one.tolist()) for one in plain[name]]
    assert max(quick["framework"][-1].tolist()) == 2
