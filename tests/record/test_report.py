"""What a process of the job tells the launcher."""

from __future__ import annotations

from pathlib import Path

from stepscope.record.job.report import ProcessReport
from stepscope.record.outcome import sentences
from stepscope.record.settings import RecordSettings


def test_a_report_stays_small_however_long_the_job_is_watched(tmp_path: Path) -> None:
    report = ProcessReport(pid=1, host="a", first=4, stop=8, source="optimizer")
    for number in range(1000):
        report.writes(tmp_path / f"{number}.json")
        report.saved(tmp_path / f"{number}.pickle")
        report.note(f"{number} failed")
        report.note(f"{number} failed")
    report.write(str(tmp_path))
    assert (tmp_path / "a_1.json").stat().st_size < 10_000
    [line, *_] = sentences([report], RecordSettings("", ""))
    assert ", the last of 1000 recordings" in line
    assert line.endswith("999.json")
    assert report.notes[0] == "0 failed"
    assert report.notes[-1] == "what else went wrong is left out"
