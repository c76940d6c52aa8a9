"""Traces that are cut down to some steps: rows of `spans` keep their order, whatever is left."""

from __future__ import annotations

import pytest

from stepscope.analyses.shared.narrow import Filter, narrowed, one_of
from stepscope.analyses.shared.typical import typical_part
from stepscope.model.trace import Trace
from support import Facts


def loop() -> Trace:
    """Twelve steps on six threads; the first is a warm-up, and the seventh an outlier."""
    f = Facts()
    at = 0
    for i in range(12):
        length = {0: 5_000, 6: 4_000}.get(i, 1_000)
        f.step(i, at, length)
        for thread in range(6):
            f.host("op", "aten::mm", at + 10, length - 20, thread=str(thread + 1))
        f.kernel("k", at + 100, length - 200, launch=(at + 50, 5))
        at += length
    return f.trace()


@pytest.mark.parametrize("cut", [typical_part, lambda trace: narrowed(trace, Filter(steps=(0, 2, 4, 6, 8, 10)))])
def test_no_join_changes_the_order_of_events(cut: object) -> None:
    trace = cut(loop())  # type: ignore[operator]
    [[_, plan]] = [(row["explain_key"], row["explain_value"]) for row in trace.rows("EXPLAIN SELECT ts FROM spans")]
    assert "join" not in plan.lower()


def test_typical_steps_are_what_is_left() -> None:
    part = typical_part(loop())
    assert part.rows("SELECT DISTINCT step FROM spans WHERE step IS NOT NULL ORDER BY 1") == [
        {"step": i} for i in (1, 2, 3, 4, 5, 7, 8, 9, 10, 11)
    ]


@pytest.mark.parametrize(
    ("numbers", "condition"),
    [
        ((), "(false)"),
        ((3,), "(step BETWEEN 3 AND 3)"),
        ((5, 1, 2, 3, 9), "(step BETWEEN 1 AND 3 OR step BETWEEN 5 AND 5 OR step BETWEEN 9 AND 9)"),
    ],
)
def test_numbers_are_listed_as_ranges(numbers: tuple[int, ...], condition: str) -> None:
    assert one_of("step", numbers) == condition


def test_work_that_was_launched_between_steps_and_runs_in_one_is_left() -> None:
    f = Facts()
    for i in range(6):
        f.step(i, 1_000 * i, 500)
        f.kernel("k", 1_000 * i + 100, 300, launch=(1_000 * i + 50, 5))
    # Launched outside of all steps: one runs in a step, one between two.
    f.kernel("copied", 2_450, 40, launch=(1_900, 5), stream="9")
    f.kernel("between", 2_700, 100, launch=(2_600, 5), stream="9")
    part = typical_part(f.trace())
    for table in ("kernels", "events SEMI JOIN activities a ON a.event = id"):
        names = {row["name"] for row in part.rows(f"SELECT DISTINCT name FROM {table}")}
        assert names == {"k", "copied"}
