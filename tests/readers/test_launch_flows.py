"""Flows of launches are distinguished from other events by their text alone, however a trace writes them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from stepscope.readers.content import from_blocks
from stepscope.readers.kineto.framing import Framer

_LAYOUTS = {"compact": (None, (",", ":")), "spaced": (None, None), "indented": (4, None)}


def _flow(number: int, phase: str, category: str) -> dict[str, object]:
    event: dict[str, object] = {"ph": phase, "id": 10**number, "pid": 7, "tid": number, "ts": 3.5 * 10**number}
    event |= {"cat": category, "name": category}
    return event | {"bp": "e"} if phase == "f" else event


def _told(events: list[dict[str, object]], layout: str) -> Iterator[bool]:
    indent, separators = _LAYOUTS[layout]
    text = json.dumps(events, indent=indent, separators=separators).encode()
    for segments in Framer().segments(from_blocks([text])):
        yield from segments.flow.tolist()


@pytest.mark.parametrize("layout", _LAYOUTS)
@pytest.mark.parametrize("category", ["ac2g", "async_cpu_to_gpu", "async_gpu", "async"])
def test_almost_all_are_told(layout: str, category: str) -> None:
    events = [_flow(number % 9, "sf"[number % 2], category) for number in range(1000)]
    assert sum(_told(events, layout)) > 990


@pytest.mark.parametrize("layout", _LAYOUTS)
def test_nothing_else_is_told(layout: str) -> None:
    flow = _flow(5, "s", "ac2g")
    others = [
        {**flow, "ph": "X"},
        {**flow, "ph": "X", "dur": 5},
        {**flow, "cat": "fwdbwd", "name": "fwdbwd"},
        {**flow, "cat": "ac3g", "name": "ac3g"},
        {**flow, "ph": "i"},
        {**flow, "args": {}},
    ]
    events = [event for number in range(1000) for event in (_flow(number % 9, "s", "ac2g"), others[number % 6])]
    told = list(_told(events, layout))
    assert len(told) == len(events)
    assert sum(told) > 900
    assert not any(is_flow and event in others for event, is_flow in zip(events, told, strict=True))
