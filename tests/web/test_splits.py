"""The views of the page's *Differences*."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import cast

from stepscope.comparison.catalogue import COMPARISON_TABLES
from stepscope.comparison.findings import FINDINGS
from stepscope.comparison.parts.tables import STEP_PARTS, STEP_PHASES
from stepscope.comparison.result import Comparison
from stepscope.comparison.sweep.tables import SWEEP, SWEEP_PARTS
from stepscope.jobs.tables import JOB_PAIR_TABLES
from stepscope.model.table import Table
from stepscope.web.compared.splits import SPLITS, shown_splits


def test_every_table_of_comparisons_is_in_one_view() -> None:
    viewed = Counter(name for _, _, names in SPLITS for name in names)
    of_pairs = [one.name for one in (*COMPARISON_TABLES, *JOB_PAIR_TABLES) if one not in (SWEEP, SWEEP_PARTS)]
    assert viewed == dict.fromkeys(of_pairs, 1)


def test_views_and_tables_without_rows_are_left_out() -> None:
    values = {"string": "x", "bool": False}
    row = [values.get(column.type, 0) for column in STEP_PARTS.columns]
    tables = {
        STEP_PARTS.name: Table.from_rows(STEP_PARTS, [row]),
        STEP_PHASES.name: Table.empty(STEP_PHASES),
        FINDINGS.name: Table.empty(FINDINGS),
    }
    found = shown_splits(cast(Comparison, SimpleNamespace(tables=tables)))
    assert [(one["id"], one["tables"]) for one in found] == [("phases", ["step_parts"])]
