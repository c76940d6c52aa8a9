"""From `stepscope record` to the named cause: real programs with one planted fault each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from record_support import HAS_TORCH, record
from stepscope.ingest import Options, open_trace
from stepscope.reports.build import build_report

pytestmark = pytest.mark.skipif(not HAS_TORCH, reason="needs torch")

CAUSES = {
    "no-workers": ("DAT001", "the main process loads it itself"),
    "slow-loader": ("DAT001", "the workers don't keep up"),
    "logging": ("HST006", "logging/__init__.py"),
    "garbage-collection": ("HST005", ""),
    "optimizer-loop": ("HST008", "update one tensor each"),
    "storage-wait": ("SYS002", "FileIO.read"),
}


@pytest.mark.parametrize("fault", CAUSES)
def test_the_fault_is_the_first_finding(fault: str, tmp_path: Path) -> None:
    recorded = record(tmp_path, "faulty.py", fault)
    assert recorded.status == 0, recorded.errors
    with open_trace(recorded.folder, Options(cache=False)) as trace:
        findings = build_report(trace).findings
    code, said = CAUSES[fault]
    assert [one.code for one in findings][:1] == [code]
    assert said in findings[0].summary
    share = re.search(r"finding steps took ([\d.]+) % of the run", recorded.errors)
    assert share is not None
    assert float(share[1]) < 1
