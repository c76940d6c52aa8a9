"""What compiled graphs plan to hold, and when that is most."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bench.damage.small_ascend import write_csv, write_text

from readers.conformance import open_fresh
from stepscope.analyses.registry import analyses, table_of
from stepscope.model.errors import MissingInputError

NEVER = "4294967295"


def _rows(folder: Path, *allocations: tuple[str, str, str, str, str]) -> list[dict[str, Any]]:
    """The table of operators with graph, first node, last node and KB."""
    output = write_text(folder / "x_ascend_pt")
    names = ("Op Name", "Graph ID", "Node Index Start", "Node Index End", "Size(KB)")
    if allocations:
        rows = [{"Device_id": "0", "Model Name": "0", **dict(zip(names, one, strict=True))} for one in allocations]
        write_csv(output / "static_op_mem.csv", rows)
    with open_fresh(folder) as trace:
        return table_of(analyses()["static_memory"], trace).records()


def test_the_peak_is_where_a_graph_holds_most(tmp_path: Path) -> None:
    rows = _rows(
        tmp_path,
        ("weights", "1", "0", NEVER, "4"), ("a", "1", "1", "3", "6"), ("b", "1", "3", "5", "8"),
        ("small", "2", "0", "1", "1"), ("TOTAL", "1", "0", "0", "18"),
    )  # fmt: skip
    found = [(r["graph"], r["name"], r["bytes"] // 1024, r["first_node"], r["last_node"], r["at_peak"]) for r in rows]
    assert found == [
        ("1", "b", 8, 3, 5, True), ("1", "a", 6, 1, 3, False), ("1", "weights", 4, 0, None, True),
        ("2", "small", 1, 0, 1, True),
    ]  # fmt: skip
    # What is given back at a node is gone before its operator takes memory.
    assert {row["peak_bytes"] // 1024 for row in rows if row["graph"] == "1"} == {12}
    assert [round(row["share"], 3) for row in rows] == [0.667, 0.0, 0.333, 1.0]


def test_memory_that_is_given_back_where_it_is_taken_counts_there(tmp_path: Path) -> None:
    (row,) = _rows(tmp_path, ("brief", "7", "4", "4", "2"))
    assert (row["at_peak"], row["peak_bytes"]) == (True, 2048)


def test_without_compiled_graphs_there_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError, match="compiled graphs"):
        _rows(tmp_path)
