from __future__ import annotations

import pytest

from rule_support import drafts, figures
from stepscope.model.errors import MissingInputError
from stepscope.signals.memory import static_graphs
from stepscope.signals.memory.static_graphs import StaticGraph

GIB = 1 << 30


def _given(peak: int) -> dict[object, object]:
    holders = (("Conv2D_7", 3 * GIB), ("MatMul_1", 2 * GIB), ("Add", GIB), ("Mul", 1))
    return {static_graphs.largest_graph: StaticGraph("1", peak, 4 * GIB, holders, 32 * GIB)}


def test_a_graph_that_plans_for_half_of_the_memory_is_told_with_what_it_holds() -> None:
    (draft,) = drafts("MEM020", _given(16 * GIB))
    assert {"16.0 GiB", "50.0 %", "3.00 GiB", "4.00 GiB"} <= set(figures(draft.summary))
    assert "Conv2D_7" in draft.summary
    assert "Mul (" not in draft.summary
    assert draft.rows == ({"table": "static_memory", "where": {"graph": "1"}},)


def test_a_smaller_one_is_left_alone() -> None:
    assert drafts("MEM020", _given(16 * GIB - 1)) == []


def test_without_a_plan_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("MEM020", {})
