"""Several recordings by batch size or number of ranks."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from stepscope.comparison.summary import SideFacts, SideSummary
from stepscope.comparison.sweep.axis import axis_of, check_axis, numbers_given
from stepscope.comparison.sweep.point import SweepPoint, point_of
from stepscope.comparison.sweep.result import Sweep, sweep_of
from stepscope.model.errors import UserError
from stepscope.reports import terminal
from stepscope.reports.swept.page import outline
from stepscope.reports.swept.workbook import write
from stepscope.reports.swept.written import TEXTS
from support import Facts

MS = 1_000_000


def point(name: str, step_ms: int, *, ranks: int = 1, items: float | None = None, peak: int | None = None,
          comm_ms: int = 0, unit: Any = "step") -> SweepPoint:  # fmt: skip
    """A recording of three steps: 20 ms of compute, communication, and idleness for the rest."""
    facts = SideFacts(f"runs/{name}", "kineto", 0, ranks, (1, 2, 3), unit, 1, "1 × H100", "PyTorch training")
    series = {"step_time": (step_ms * MS,) * 3} | ({} if peak is None else {"peak_memory": (peak << 20,)})
    parts = {"compute": 20 * MS, "exposed_communication": comm_ms * MS, "idle.data_wait": (step_ms - 20 - comm_ms) * MS}
    summary = SideSummary(facts, {"what was run": "PyTorch training"}, frozenset(), series, {})
    return SweepPoint(summary, ranks, items, "images" if items else "", parts)


BATCHES = (point("large", 80, items=32, peak=900), point("small", 40, items=8, peak=300),
           point("middle", 50, items=16, peak=500))  # fmt: skip
RANKS = (point("one", 30), point("four", 40, ranks=4, comm_ms=10), point("two", 36, ranks=2, comm_ms=6))


def shown(sweep: Sweep) -> str:
    out = io.StringIO()
    terminal.write_page(outline(sweep), out, width=88)
    return out.getvalue()


def columns(sweep: Sweep, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in sweep.table("sweep").records()]


def test_the_page() -> None:
    assert (
        shown(sweep_of(BATCHES))
        == """\
3 recordings, by batch size, as recorded
first: PyTorch training, 1 × H100, 3 steps · last: PyTorch training, 1 × H100, 3 steps

Sweep ──────────────────────────────────────────────────────────────────────────────────
 · most per second at 32 images per step: 400 images/s, 2.00 times the first

Throughput and memory ───────────────── efficiency: of linear scaling from the first row
 images per step  images/s  speedup  efficiency  peak memory  reserved  recording
               8       200     1.00       100 %      300 MiB         –  runs/small
              16       320     1.60        80 %      500 MiB         –  runs/middle
              32       400     2.00        50 %      900 MiB         –  runs/large

What a step is made of ────────────────────────── means per step; the parts add up to it
 images per step  step ms  compute  exposed comm  exposed copy   idle  steps
               8    40.00    20.00          0.00          0.00  20.00      3
              16    50.00    20.00          0.00          0.00  30.00      3
              32    80.00    20.00          0.00          0.00  60.00      3
"""
    )


def test_by_ranks_each_rank_counts() -> None:
    sweep = sweep_of(RANKS)
    assert columns(sweep, "at", "throughput", "items", "efficiency", "exposed_comm_ns") == [
        (1, pytest.approx(1 / 0.030), "batches", 1, 0),
        (2, pytest.approx(2 / 0.036), "batches", pytest.approx(30 / 36), 6 * MS),
        (4, pytest.approx(4 / 0.040), "batches", pytest.approx(30 / 40), 10 * MS),
    ]
    for source, step in columns(sweep, "source", "step_ns"):
        assert sum(row["ns"] for row in sweep.table("sweep_parts").records() if row["source"] == source) == step


def test_a_batch_that_is_split_over_ranks_scales_by_what_each_reads() -> None:
    sweep = sweep_of([point("one", 40, items=32), point("two", 25, ranks=2, items=16)])
    assert columns(sweep, "at", "throughput", "efficiency") == [
        (1, pytest.approx(800), 1), (2, pytest.approx(1280), pytest.approx(0.8)),
    ]  # fmt: skip


def test_series_are_ready_to_be_plotted() -> None:
    document = json.loads(TEXTS["json"](sweep_of(BATCHES)))
    series = {one["name"]: one for one in document["series"]}
    assert (document["schema"], document["axis"]["label"]) == ("stepscope.sweep/1", "images per step")
    assert series["throughput"] == {"name": "throughput", "unit": "images/s", "x": [8, 16, 32], "y": [200, 320, 400]}
    assert series["peak_bytes"]["y"] == [300 << 20, 500 << 20, 900 << 20]
    assert "peak_reserved_bytes" not in series


@pytest.mark.parametrize(
    ("points", "at", "by", "axis"),
    [
        (BATCHES, (), None, ("batch", False)),
        (RANKS, (), None, ("ranks", False)),
        (RANKS, (1, 4, 2), None, ("ranks", True)),
        (RANKS, (8, 32, 16), None, ("batch", True)),
        (RANKS, (8, 32, 16), "ranks", ("ranks", True)),
        (RANKS[:1] * 3, (), None, ("input", False)),
        (BATCHES[:1] * 3, (), "batch", ("batch", False)),
        ((BATCHES[0], RANKS[0]), (), None, ("input", False)),
    ],
)
def test_what_recordings_are_ordered_by(points: Any, at: Any, by: Any, axis: Any) -> None:
    found = axis_of(points, at, by)
    assert (found.name, found.given) == axis


def test_batches_that_are_given_are_samples_and_contradictions_are_said() -> None:
    assert columns(sweep_of(RANKS[:1] * 2, (8, 16)), "items", "speedup", "efficiency") == [
        ("samples", 1, 1), ("samples", pytest.approx(2), pytest.approx(1)),
    ]  # fmt: skip
    assert "another batch than --at" in shown(sweep_of(BATCHES, (32, 8, 99)))
    assert "another batch than --at" not in shown(sweep_of(BATCHES, (4, 1, 2)))


def test_a_recording_without_steps_has_no_throughput() -> None:
    sweep = sweep_of([point("whole", 40, unit="window"), RANKS[1]])
    assert columns(sweep, "at", "step_ns", "compute_ns", "throughput", "speedup", "efficiency") == [
        (1, None, None, None, None, None), (4, 40 * MS, 20 * MS, pytest.approx(100), None, None),
    ]  # fmt: skip


def test_what_can_not_be_is_refused() -> None:
    for text in ("", "8,", "8,x", "0,1", "-1", "8;16"):
        with pytest.raises(UserError, match="no list of batch sizes or ranks"):
            numbers_given(text)
    assert numbers_given("8, 16,32") == (8, 16, 32)
    with pytest.raises(UserError, match="2 numbers were given for 3 inputs"):
        check_axis(3, (1, 2), None)
    with pytest.raises(UserError, match="can't be ordered by 'rank'"):
        check_axis(3, (), "rank")
    with pytest.raises(UserError, match="do not tell their batch sizes"):
        axis_of(RANKS, (), "batch")
    with pytest.raises(UserError, match="no table called 'kernels'"):
        sweep_of(RANKS).table("kernels")


def test_files(tmp_path: Path) -> None:
    sweep = sweep_of(RANKS)
    rows = list(csv.DictReader(io.StringIO(TEXTS["csv"](sweep))))
    assert [(row["at"], row["step_ns"], row["peak_bytes"]) for row in rows] == [
        ("1.0", "30000000", ""), ("2.0", "36000000", ""), ("4.0", "40000000", ""),
    ]  # fmt: skip
    assert "## Throughput and memory" in TEXTS["markdown"](sweep)
    assert "runs/four" in TEXTS["html"](sweep)
    openpyxl = pytest.importorskip("openpyxl")
    write(sweep, tmp_path / "sweep.xlsx")
    book = openpyxl.load_workbook(tmp_path / "sweep.xlsx")
    assert book.sheetnames == ["Summary", "sweep", "sweep_parts"]
    assert [cell.value for cell in book["sweep"]["B"]] == ["source", "runs/one", "runs/two", "runs/four"]


def test_a_point_of_a_trace() -> None:
    facts = Facts()
    facts.step(0, 0, 1000)
    facts.kernel("sgemm", 100, 300, launch=(10, 10))
    facts.kernel("ncclDevKernel_AllReduce", 300, 300, launch=(20, 10))
    trace = facts.trace()
    found = point_of(trace)
    assert sum(found.parts.values()) == found.step_ns
    assert (found.parts["compute"], found.parts["exposed_communication"], found.items) == (300, 200, None)
    with pytest.raises(UserError, match="has no rank 7"):
        point_of(trace, 7)
