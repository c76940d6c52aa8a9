"""What the first line says of a server's passes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from stepscope.analyses.serving.serving import SERVING
from stepscope.analyses.steps.throughput import THROUGHPUT
from stepscope.model.program import Program
from stepscope.model.table import Table
from stepscope.reports.contents import Contents
from stepscope.reports.sections.head import _passes, _read

MS = 1_000_000
#: What else a row of `serving` has, unknown but for occupancy, launches and graphs.
REST = (*(None,) * 5, 1.0, *(None,) * 4, 1, 0, *(None,) * 5)


def contents(tables: dict[str, Any], program: str | None = None, ranks: int = 0) -> Contents:
    """What a first line is made of: tables, and what rank 0 of some ranks ran."""
    sources: Any = dict.fromkeys(range(ranks))
    return Contents(sources, (), (), tables, programs={0: Program(program)} if program else {})


def said(*passes: tuple[int, str, int, int, int]) -> str:
    """Of passes given by start on the host, phase, requests, tokens and time on the device, in ms."""
    rows = [
        (0, ts * MS, phase, requests, tokens, MS, device * MS, tokens / (device * 1e-3), *REST)
        for ts, phase, requests, tokens, device in passes
    ]
    return _passes(contents({"serving": Table.from_rows(SERVING, rows)}))


@pytest.mark.parametrize(
    ("apart", "expected"),
    [
        (4, "decode of 64 requests (5 times), 16,000 tokens/s, 4.00 ms per token"),  # 1 ms lies between two
        (1, "decode of 64 requests (5 times), 21,333 tokens/s, 3.00 ms per token"),  # the host runs ahead
    ],
)
def test_several_passes_are_told_by_the_time_from_one_to_the_next(apart: int, expected: str) -> None:
    assert said(*((apart * number, "decode", 64, 64, 3) for number in range(5))) == expected


def test_passes_of_another_kind_are_counted() -> None:
    text = said((0, "decode", 8, 8, 2), (9, "prefill", 1, 4096, 20), (40, "decode", 8, 8, 2))
    assert text == "prefill of 4,096 tokens, 204,800 tokens/s and 2 other passes"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("annotation", "decode of 64 requests (2 times), 12,800 tokens/s, 5.00 ms per token"),  # the first is a warm-up
        ("profiler", "decode of 64 requests (2 times), 21,333 tokens/s, 3.00 ms per token"),
    ],
)
def test_where_passes_are_the_steps_their_length_is_the_step_s(source: str, expected: str) -> None:
    rows = [(0, ts * MS, "decode", 64, 64, MS, 3 * MS, 0.0, *REST) for ts in (0, 9)]
    steps = [
        {"rank": 0, "device": 0, "step": step, "total_ns": ms * MS, "partial": False, "typical": step > 0,
         "source": source}
        for step, ms in enumerate((9, 5))
    ]  # fmt: skip
    tables = {"serving": Table.from_rows(SERVING, rows), "step_budget": SimpleNamespace(records=lambda: steps)}
    assert _passes(contents(tables)) == expected


def test_what_a_step_reads_is_told_with_its_rate() -> None:
    rows = [(0, "images", "10 x 3 x 224 x 224", 10.0)]
    steps = [{"rank": 0, "device": 0, "step": step, "total_ns": 20 * MS, "typical": True} for step in range(3)]
    tables = {
        "throughput": Table.from_rows(THROUGHPUT, rows), "step_budget": SimpleNamespace(records=lambda: steps)
    }  # fmt: skip
    assert _read(contents(tables, "training", 1)) == "10 images per step, 500 images/s"
    assert _read(contents(tables, "training", 2)) == "10 images per step, 500 images/s per rank"
    assert _read(contents(tables, "diffusion", 1)) == ""
    assert _read(contents({})) == ""
