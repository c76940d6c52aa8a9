"""A Chrome trace of something that is no job gets no mark of health and no advice about training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from readers.conformance import open_fresh
from readers.kineto_text import document, op
from stepscope.reports import markdown
from stepscope.reports.build import build_report

OTHER = [{"ph": "X", "cat": "http", "name": f"GET /{n % 7}", "pid": 1, "tid": 1, "ts": n * 1000, "dur": 700}
         for n in range(200)]  # fmt: skip
WORDS = ("✓", "no problem found", "PyTorch", "torch", "activities=", "prof.step", "record_shapes")


def page(path: Path) -> tuple[str, set[str]]:
    with open_fresh(path) as trace:
        report = build_report(trace)
        return markdown.text(report), {line.code for line in report.health}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(OTHER),
        json.dumps({"traceEvents": OTHER, "displayTimeUnit": "ms"}),
        # Other writers copy the format with its version.
        json.dumps({"schemaVersion": 1, "traceEvents": OTHER, "displayTimeUnit": "ns"}),
    ],
)
def test_no_claim_and_no_advice(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    said, codes = page(tmp_path / "a.json")
    assert [word for word in WORDS if word in said] == []
    assert "not-a-profile" in codes
    assert "no-device" not in codes


@pytest.mark.parametrize("text", [document(op("aten::mm", cat="other things")), json.dumps([json.loads(op())])])
def test_what_a_profiler_of_jobs_wrote_stays_one(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    said, codes = page(tmp_path / "a.json")
    assert "PyTorch" in said
    assert "not-a-profile" not in codes
    assert "no-device" in codes
