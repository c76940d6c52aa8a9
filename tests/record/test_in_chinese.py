"""What processes of a job have noted is told by the launcher, in its language; within the job it is English."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from stepscope.language import speaking, told
from stepscope.record.job.report import ProcessReport
from stepscope.record.noted import as_json, noted, of_json
from stepscope.record.outcome import sentences
from stepscope.record.retold import retold
from stepscope.record.settings import RecordSettings
from stepscope.record.triggers.trigger import MEMORY_JUMP, RANKS_APART, SLOW_STEP, Trigger

SETTINGS = RecordSettings("/out", "/out/reports")
#: English words that are no names: `rank`, `step` and options of commands are the same in Chinese.
WORDS = re.compile(r"(?<![\w/.-])(?!(?:rank|step|stepscope|attach)\b)[a-z]{3,}(?![\w/.(-])")


def chinese(text: str) -> str:
    with speaking("zh"):
        return told(text)


def test_notes_go_from_a_process_to_the_launcher(tmp_path: Path) -> None:
    report = ProcessReport(rank=1, world_size=2, first=10, stop=12, seen=12, source="optimizer")
    report.writes(Path("/out/a.json"))
    report.stop, report.cut = 12, noted("the program ended")
    report.note(
        noted("the recording is cut ({reason})", reason=noted("{free} MiB are free in {folder}", free=1, folder="/o"))
    )
    report.note_error(RuntimeError(noted("Nsight Systems records GPUs, and this process has used none so far")))
    report.note_error(ValueError("what torch says\nand more"))
    report.write(str(tmp_path))
    (path,) = tmp_path.glob("*.json")
    read = ProcessReport.read(path)
    assert read.notes == [
        "the recording is cut (1 MiB are free in /o)",
        "Nsight Systems records GPUs, and this process has used none so far", "what torch says",
    ]  # fmt: skip
    assert [chinese(retold(note)) for note in read.notes] == [
        "采集数据不完整（/o 剩余 1 MiB）", "Nsight Systems 采集 GPU，而该进程至今没有使用 GPU", "what torch says",
    ]  # fmt: skip
    lines = [chinese(line) for line in sentences([read], SETTINGS)]
    assert lines[0].startswith(
        "已采集 rank 1 的step 10 至 11，以及 step 12 的开头，采集在其中中断：程序已结束（step 为优化器的更新）"
    )
    assert lines[1] == f"rank 1（进程 {read.pid}）：采集数据不完整（/o 剩余 1 MiB）"


@pytest.mark.parametrize("notes", [[{}], [{"pattern": "{a}", "values": {}}], [{"pattern": "a", "values": 3}]])
def test_notes_that_are_none_are_said(tmp_path: Path, notes: object) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"pid": 1, "notes": notes}), encoding="utf-8")
    with pytest.raises(ValueError, match="it is no text"):
        ProcessReport.read(path)


def test_a_text_is_the_same_as_json() -> None:
    text = noted("a {b:,} {c}", b=1000, c=noted("d"))
    again = of_json(json.loads(json.dumps(as_json(text))))
    assert (again, again.pattern, again.values) == ("a 1,000 d", "a {b:,} {c}", {"b": 1000, "c": "d"})


@pytest.mark.parametrize(
    "trigger",
    [
        Trigger(SLOW_STEP, 0, 1, 2, 7, 30_000_000, 10_000_000),
        Trigger(MEMORY_JUMP, 0, 1, 2, 7, 2**31, 2**30, "device"),
        Trigger(MEMORY_JUMP, 0, 0, 1, 7, 2**31, 2**30, "process"), Trigger(RANKS_APART, 0, 1, 2, 7, 3, 1, "rank 0"),
        *(Trigger(what, 0) for what in ("steps", "file", "signal", "attach", "program", "something newer")),
    ],
)  # fmt: skip
def test_reasons_are_told(trigger: Trigger) -> None:
    english, shown = trigger.sentence(), chinese(retold(trigger.sentence()))
    assert english.startswith("recorded because ")
    assert english.endswith(" (1970-01-01 00:00:00 UTC)")
    assert shown.startswith("采集原因：")
    assert WORDS.findall(shown) == []


@pytest.mark.parametrize(
    "report",
    [
        ProcessReport(seen=3, source="optimizer"), ProcessReport(lived_ns=10**9), ProcessReport(lived_ns=10**12),
        ProcessReport(files=["/o/a"], first=1, stop=3, seen=3, source="loader", recordings=2, outside_ns=5, inside_ns=6,
                      apart_ns=7, hooks_ns=8, lived_ns=9),
        ProcessReport(files=["/o/a"], first=1, stop=2, seen=3, source="model"),
        ProcessReport(files=["/o/a"], first=1, stop=1, seen=3, source="model", cut="the thread ended"),
        ProcessReport(files=["/o/a"], source="time"), ProcessReport(files=["/o/a"], first=4),
        ProcessReport(snapshots=["/o/m"], seen=30, source="optimizer", notes=["this rank was not asked for"]),
    ],
)  # fmt: skip
def test_outcomes_are_told(report: ProcessReport) -> None:
    for settings in (SETTINGS, RecordSettings("/out", "/out/reports", scheduled=False)):
        with speaking("zh"):
            lines = [told(line) for line in sentences([report], settings)]
        assert [(line, found) for line in lines if (found := WORDS.findall(line))] == []


def test_that_nothing_imported_torch_is_told() -> None:
    (line,) = sentences([], SETTINGS)
    assert chinese(line).startswith("没有采集到任何内容：程序没有导入 torch 并自行结束的进程")
