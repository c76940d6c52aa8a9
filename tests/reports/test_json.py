from __future__ import annotations

import json
import math
from typing import Any

import pytest

from report_support import HOSTILE, KERNELS, sample_report
from stepscope.model.table import Table
from stepscope.reports import json as report_json
from stepscope.reports.report import Report

#: What docs/report.md promises: type by key, a list of one for lists of such.
REPORT = {
    "schema": str,
    "source": [
        {
            "source": str,
            "reader": str,
            "rank": int,
            "world_size": (int, type(None)),
            "host": (str, type(None)),
            "origin_unix_ns": (int, type(None)),
            "events": int,
            "attributes": dict,
            "part": str,
            "parts": [str],
        }
    ],
    "recordings": [{"source": str, "reader": str, "run": str, "rank": int, "span": int, "analysed": bool}],
    "selection": {"steps": [int], "ranks": [int], "tables": [str]},
    "health": [
        {"code": str, "severity": str, "message": str, "effect": str, "count": int, "rank": (int, type(None))},
    ],
    "ranks": [
        {"rank": int, "device": (int, type(None)), "name": (str, type(None)), "world_size": (int, type(None))},
    ],
    "programs": [
        {
            "rank": int, "says": str, "kind": str, "framework": str, "platform": str, "language": str, "offload": str,
            "libraries": [str], "network": str, "compiled": (bool, type(None)), "graphs": bool, "parallel": [str],
            "loader": bool, "executable": str, "recorder": str, "recorded": [str], "evidence": dict,
        }
    ],
    "tables": dict,
    "findings": [
        {
            "code": str, "name": str, "family": str, "severity": str, "title": str, "summary": str,
            "cost_ns": (int, type(None)), "gain_ceiling": (float, type(None)), "confidence": float,
            "alone_ns": (int, type(None)), "taken_ns": (int, type(None)), "placed_as_ns": (int, type(None)),
            "inspect": str, "share": (float, type(None)), "recorded_share": (float, type(None)), "fate": str,
            "late": [int], "waiting": bool, "notes": [str], "together": [str],
            "together_ns": (int, type(None)),
            "evidence": {"ranks": [int], "steps": [int], "ranges": [list], "events": [int], "rows": [dict],
                         "numbers": dict},
            "actions": [{"text": str, "before": str, "after": str, "page": str}],
            "symptoms": [str], "shown": bool, "page": str,
        }
    ],
    "diagnosis": {
        "step_ns": (int, type(None)), "healthy": bool, "accounts": dict, "rules_asked": int, "rules_not_asked": [dict],
    },
}  # fmt: skip
TABLE = {
    "description": str,
    "computed": bool,
    "columns": [{"name": str, "type": str, "unit": str, "description": str}],
    "rows": [list],
    "missing": [
        {"message": str, "hint": str, "needs": (str, type(None)), "applies": bool, "failed": bool, "ranks": [int]}
    ],
}
MISSING = {
    "message": "nothing was copied", "hint": "record a job that copies", "needs": None, "applies": True,
    "failed": False, "ranks": [0],
}  # fmt: skip


def check(value: Any, shape: Any, where: str = "report") -> None:
    """Fail where a value does not have the shape."""
    if isinstance(shape, dict):
        assert isinstance(value, dict), where
        assert set(value) == set(shape), where
        for key, inner in shape.items():
            check(value[key], inner, f"{where}.{key}")
    elif isinstance(shape, list):
        assert isinstance(value, list), where
        for item in value:
            check(item, shape[0], f"{where}[]")
    else:
        assert isinstance(value, shape), where


def test_the_document_has_the_documented_shape() -> None:
    document = json.loads("".join(report_json.lines(sample_report())))
    check(document, REPORT)
    assert document["schema"] == "stepscope.report/1"
    for name, table in document["tables"].items():
        check(table, TABLE, name)
        assert all(len(row) == len(table["columns"]) for row in table["rows"])
    assert document["tables"]["step_budget"]["rows"][2] == [
        0,
        0,
        None,
        18_500_000,
        12_000_000,
        2_000_000,
        500_000,
        4_000_000,
        None,
        None,
    ]
    assert document["tables"]["copies"] | {"columns": []} == {
        "description": "The copies.", "computed": False, "columns": [], "rows": [], "missing": [MISSING],
    }  # fmt: skip


def test_text_and_values_are_the_same_document() -> None:
    report = sample_report()
    assert json.loads("".join(report_json.lines(report))) == json.loads(json.dumps(report.to_json()))


@pytest.mark.parametrize("name", HOSTILE)
def test_names_survive_exactly_and_as_ascii(name: str) -> None:
    text = "".join(report_json.lines(sample_report((name, "add"))))
    assert text.isascii()
    assert not any(ord(c) < 32 and c != "\n" for c in text)
    assert json.loads(text)["tables"]["kernels"]["rows"][0][0] == name


def test_numbers_that_json_does_not_know_become_null() -> None:
    row = ("a", 1, 1, 1, 1, 1, 1, math.inf, 0)
    report = Report({}, (), (), {"kernels": Table.from_rows(KERNELS, [row])})
    text = "".join(report_json.lines(report))
    assert json.loads(text)["tables"]["kernels"]["rows"][0][7] is None
