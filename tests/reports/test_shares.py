"""On every real recording: a price is the share of the typical step that it is shown as, and no more than the step."""

from __future__ import annotations

import json

import pytest

from series import series
from stepscope.reports.build import ReportOptions, build_report
from support import recorded_trace, shared_traces


def recordings() -> list[str]:
    """Those that have labels; none where the folder is absent."""
    folder = shared_traces()
    if folder is None:
        return []
    labels = [json.loads((folder / f"labels-{kind}.json").read_text()) for kind in ("kineto", "other")]
    return [label["path"] for part in labels for label in part]


@pytest.mark.parametrize("path", series(recordings(), 5))
def test_a_price_is_the_share_that_it_is_shown_as(path: str) -> None:
    with recorded_trace(path) as trace:
        report = build_report(trace, ReportOptions(page=True, strict=False))
    assert report.diagnosis is not None
    means: dict[int, int] = {}
    for rank in report.sources:
        rows = {row["step"]: row["total_ns"] for row in report.tables["step_budget"].records()
                if row["rank"] == rank and row["typical"]}  # fmt: skip
        lengths = [*rows.values()]  # requests that overlap count, even without time of their own
        if any(lengths):
            means[rank] = sum(lengths) // len(lengths)
    if means:
        assert report.diagnosis.step_ns == max(means.values())
    for finding in report.findings:
        if finding.cost_ns is None or finding.share is None:
            continue
        assert 0 <= finding.share <= 1
        front = means.get(finding.evidence.ranks[0], report.diagnosis.step_ns)
        assert front is not None
        assert finding.share == pytest.approx(finding.cost_ns / front)
