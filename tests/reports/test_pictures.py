"""The picture of a plan's pipeline: what is drawn, and what is said where that is another schedule."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from stepscope.planning.layout import Layout, Schedule
from stepscope.reports.planned.pictures import pipeline_picture


def picture(schedule: Schedule, virtual_stages: int = 1) -> tuple[str, list[str]]:
    plan: Any = SimpleNamespace(layout=Layout(pp=2, global_batch=3, schedule=schedule, virtual_stages=virtual_stages))
    head, *rows = pipeline_picture(plan)
    return str(head).partition("3 of 3 micro-batches, ")[2], [row.split()[-1] for row in rows]


def test_one_forward_one_backward() -> None:
    assert picture(Schedule.ONE_F_ONE_B) == ("1F1B", ["FF..BBFBB.BB", ".FBBFBBFBB.."])


def test_gpipe_has_all_forward_passes_first() -> None:
    assert picture(Schedule.GPIPE) == ("GPipe", ["FFF...BBBBBB", ".FFFBBBBBB.."])


@pytest.mark.parametrize(
    ("schedule", "chunks", "said"),
    [
        (Schedule.INTERLEAVED, 2, "drawn as 1F1B: interleaved in 2 chunks, it idles 1/2 as long"),
        (Schedule.ZERO_BUBBLE, 1, "drawn as 1F1B: zero-bubble idles less, since gradients of weights fill gaps"),
        (Schedule.DUAL_PIPE, 1, "drawn as 1F1B: DualPipe idles less, since micro-batches come in from both ends"),
    ],
)
def test_what_is_drawn_otherwise_than_it_runs_is_said_to_be(schedule: Schedule, chunks: int, said: str) -> None:
    assert picture(schedule, chunks) == (said, picture(Schedule.ONE_F_ONE_B)[1])
