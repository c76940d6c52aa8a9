"""What a process of the job tells the launcher."""

from __future__ import annotations

from multiprocessing import Process, process
from pathlib import Path

import pytest

from stepscope.record.job.report import ProcessReport
from stepscope.record.outcome import sentences
from stepscope.record.settings import RecordSettings


def test_a_report_stays_small_however_long_the_job_is_watched(tmp_path: Path) -> None:
    report = ProcessReport(pid=1, host="a", first=4, source="optimizer")
    for number in range(1000):
        report.writes(tmp_path / f"{number}.json")
        report.saved(tmp_path / f"{number}.pickle")
        report.note(f"{number} failed")
        report.note(f"{number} failed")
    assert report.stop == -1
    report.stop = 8
    report.write(str(tmp_path))
    assert (tmp_path / "a_1.json").stat().st_size < 10_000
    [line, *_] = sentences([report], RecordSettings("", ""))
    assert ", the last of 1000 recordings" in line
    assert line.endswith("999.json")
    assert report.notes[0] == "0 failed"
    assert report.notes[-1] == "what else went wrong is left out"


def _worker_loop() -> None:
    """By this name torch's loaders start their workers."""


def test_who_is_missed_by_nobody_leaves_no_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launched = RecordSettings("", str(tmp_path / "launched"))
    waits = RecordSettings("", str(tmp_path / "reports"), control=str(tmp_path))
    reports = [tmp_path / name / "a_1.json" for name in ("launched", "reports")]

    def written(report: ProcessReport) -> list[bool]:
        for settings in (launched, waits):
            report.write_last(settings)
        found = [path.exists() for path in reports]
        for path in reports:
            path.unlink(missing_ok=True)
        return found

    assert written(ProcessReport(pid=1, host="a", seen=9)) == [True, False]
    assert written(ProcessReport(pid=1, host="a", notes=["failed"])) == [True, True]
    monkeypatch.setattr(process, "_current_process", Process(target=_worker_loop))
    assert written(ProcessReport(pid=1, host="a")) == [False, False]
    assert written(ProcessReport(pid=1, host="a", seen=9)) == [True, False]
