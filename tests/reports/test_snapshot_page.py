"""What a page says of memory snapshots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from readers.memsnapshot.snapshots import MIB, History, block, segment, snapshot, trace_of
from stepscope.reports.build import ReportOptions, build_report
from stepscope.reports.markdown import text as markdown


def page(folder: Path, content: dict[str, Any]) -> str:
    with trace_of(folder, content) as trace:
        return markdown(build_report(trace, ReportOptions(page=True)))


def live(size: int) -> dict[str, Any]:
    return block(size, "active_allocated")


def test_a_healthy_history_earns_its_mark(tmp_path: Path) -> None:
    history = History().alloc(1 << 30, MIB, "main").free(1 << 30, MIB)
    text = page(tmp_path, snapshot([segment(0, [live(9 * MIB)])], history))
    assert "memory snapshot of 1 device" in text
    assert "history of 3 entries over 2.00 µs" in text
    assert (
        "nothing is wrong with the memory, as far as its history tells: the peak of 10.0 MiB is older than the " in text
    )
    assert "older than the recording (parameters and states, as a rule) 90.0 %, temporaries 10.0 %" in text
    assert "In use over time" in text


def test_nothing_is_said_that_snapshots_are_no_recordings_of(tmp_path: Path) -> None:
    text = page(tmp_path, snapshot([segment(0, [live(MIB)])], History().alloc(0, MIB, "main").free(0, MIB)))
    for word in ("prof.step()", "device activity", "of the step", "per step", "events were read", "Phases"):
        assert word not in text, word


def test_without_a_history_nothing_is_called_healthy_or_a_peak(tmp_path: Path) -> None:
    text = page(
        tmp_path, snapshot([segment(0, [live(MIB), block(MIB)]), segment(1 << 30, [block(4 * MIB)])], History())
    )
    assert "no history" in text
    assert "1.00 MiB of 6.00 MiB reserved are in use; 5.00 MiB are cached" in text
    assert "4.00 MiB of them in empty segments, which emptying the cache would give back" in text
    assert "nothing is wrong with the memory" not in text
    assert "at the peak" not in text


def test_a_failure_is_called_one_and_no_health(tmp_path: Path) -> None:
    history = History().alloc(0, 64 * MIB, "forward").add("oom", None, 32 * MIB, "forward", device_free=MIB)
    with trace_of(tmp_path, snapshot([segment(0, [live(64 * MIB)])], history)) as trace:
        report = build_report(trace, ReportOptions(page=True))
    text = markdown(report)
    assert "Out of memory at me/train.py:1: 32.0 MiB asked for" in text
    assert "nothing is wrong with the memory" not in text
    assert report.diagnosis is not None
    assert not report.diagnosis.healthy
    assert report.diagnosis.shown[0].severity == "high"


@pytest.mark.parametrize(("held", "said"), [(1024, True), (1023, False)])
def test_much_more_held_than_was_ever_in_use_earns_no_mark(tmp_path: Path, held: int, said: bool) -> None:
    history = History().alloc(1 << 40, MIB, "main").free(1 << 40, MIB)
    pool = segment(1 << 40, [block((held - 511) * MIB)])
    text = page(tmp_path, snapshot([segment(0, [live(511 * MIB)]), pool], history))
    assert ("no rule explains why the allocator holds 1.00 GiB where no more than 512 MiB" in text) == said
    assert ("nothing is wrong with the memory" in text) != said


def test_of_several_devices_the_one_that_is_meant_is_named(tmp_path: Path) -> None:
    text = page(tmp_path, snapshot([segment(0, [live(2 * MIB)]), segment(1 << 30, [live(MIB)], device=1)]))
    assert "reserved are in use on device 0; 0 B are cached, none of them in empty segments" in text
