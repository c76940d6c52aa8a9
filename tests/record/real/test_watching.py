"""A watched job's recording is about the job: what watching does itself is no part of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from record_support import HAS_TORCH, SOURCES
from stepscope.ingest import Options, open_trace
from stepscope.record.ring.reader import read_ring
from stepscope.record.triggers.keeping import recordings_in
from stepscope.reports.build import build_report

pytestmark = pytest.mark.skipif(not HAS_TORCH, reason="needs torch")

#: Steps of about a millisecond, in which what is ours would show.
PROGRAM = """
import torch
from torch.utils.data import DataLoader, TensorDataset
torch.set_num_threads(1)
model = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(4)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for (batch,) in DataLoader(TensorDataset(torch.randn(16 * 1400, 64)), batch_size=16):
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    optimizer.step()
"""


def test_what_watching_does_is_not_diagnosed(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    # Many steps, so that rings are written and files are looked at while the profiler is at work.
    watch = ["record", "--watch", "--slow", "1000", "--steps", "200:700", "--no-report", "-o", "out"]
    done = subprocess.run(
        [sys.executable, "-m", "stepscope", *watch, "--", sys.executable, "program.py"],
        cwd=tmp_path, capture_output=True, text=True, env={"PYTHONPATH": str(SOURCES), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    [folder] = recordings_in(tmp_path / "out")
    [ring] = [read_ring(path) for path in (tmp_path / "out" / ".watch").glob("*.ring")]
    assert (ring.count, ring.recordings) == (1399, 1)
    assert [step.number for step in ring.steps] == list(range(1, 1400))
    [raw] = folder.glob("*.pt.trace.json")
    assert "stepscope/record/ring/writer.py" in raw.read_text(encoding="utf-8")
    with open_trace(folder, Options(cache=False)) as trace:
        report = build_report(trace)
        functions = trace.rows("SELECT DISTINCT name FROM events WHERE name LIKE '%stepscope/%'")
    assert functions == []
    said = [f"{one.title} {one.summary}" for one in report.findings]
    assert not [one for one in said if "stepscope" in one or "pwrite" in one], said
    assert "HST006" not in [one.code for one in report.findings]
