"""Which steps of a watched process are recorded, and by whom it may be asked."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from stepscope.record.job.report import ProcessReport
from stepscope.record.job.watch import control, watched
from stepscope.record.job.watch.control import ControlEntry, waiting_settings
from stepscope.record.job.watch.watched import WatchedWindows
from stepscope.record.settings import RecordSettings
from stepscope.record.triggers.request import RecordingRequest
from stepscope.record.triggers.trigger import Trigger


@pytest.fixture(autouse=True)
def looks_at_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched, "_BETWEEN_LOOKS_NS", 0)


def settings(folder: Path, **more: object) -> RecordSettings:
    made = RecordSettings(str(folder), str(folder / "reports"), scheduled=False, warmup=1, control=str(folder / "c"))
    return replace(made, **more)  # type: ignore[arg-type]


def waiting(folder: Path, **more: object) -> WatchedWindows:
    return WatchedWindows(settings(folder, **more), None, ProcessReport())


def recorded(windows: WatchedWindows, steps: range, length_ns: int = 100) -> list[int]:
    """First steps of recordings, each of which takes until its last step."""
    found: list[int] = []
    for number in steps:
        if found and number < windows.stop and windows.reason():
            continue
        if windows.reason():
            windows.over()
        windows.look(number, length_ns)
        if windows.reason() and number >= windows.first - 1:
            found.append(windows.first)
    return found


def test_a_program_that_waits_records_as_often_as_a_file_asks(tmp_path: Path) -> None:
    file = tmp_path / "now"
    windows = waiting(tmp_path, requests=(str(file),))
    firsts = []
    for turn in range(3):
        file.touch()
        os.utime(file, ns=(turn + 1, turn + 1))
        firsts += recorded(windows, range(100 * turn, 100 * turn + 50))
    assert firsts == [1, 101, 201]


def test_recordings_in_one_folder_are_bounded_but_for_those_that_attach_asks_for(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir(mode=0o700)
    windows = waiting(tmp_path, scheduled=True, every=10, first=10, stop=14)
    assert recorded(windows, range(1000)) == list(range(10, 210, 10))
    RecordingRequest(str(tmp_path / "a"), Trigger("attach", time.time_ns())).write(
        tmp_path / "c" / f"{os.getpid()}.ask"
    )
    assert recorded(windows, range(1000, 1050)) == [1001]


def test_planned_steps_are_recorded_after_a_slow_step_and_within_its_pause(tmp_path: Path) -> None:
    windows = WatchedWindows(
        settings(tmp_path, scheduled=True, first=60, stop=64, slow=2.0, keep=9), None, ProcessReport()
    )
    before = recorded(windows, range(30))
    slow = recorded(windows, range(30, 31), 900)
    assert (before, slow, recorded(windows, range(31, 90))) == ([], [31], [60])
    overlapped = WatchedWindows(
        settings(tmp_path / "b", scheduled=True, first=32, stop=36, slow=2.0, keep=9), None, ProcessReport()
    )
    recorded(overlapped, range(30))
    assert [*recorded(overlapped, range(30, 31), 900), *recorded(overlapped, range(31, 90))] == [31, 36]


def test_a_request_counts_only_in_a_folder_that_is_this_user_s_alone(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    windows = waiting(tmp_path)
    asks = RecordingRequest(str(tmp_path / "a"), Trigger("attach", time.time_ns()))
    asks.write(folder / f"{os.getpid()}.ask")
    assert recorded(windows, range(5)) == []
    folder.chmod(0o700)
    asks.write(folder / f"{os.getpid()}.ask")
    assert recorded(windows, range(5, 10)) == [6]


def test_an_entry_that_is_removed_comes_back(tmp_path: Path) -> None:
    made = settings(tmp_path)
    entry, path = ControlEntry(made), tmp_path / "c" / f"{os.getpid()}.json"
    entry.steps(1)
    path.unlink()
    path.parent.rmdir()
    entry.steps(control._BETWEEN_NS)
    assert not path.exists()
    entry.steps(control._BETWEEN_NS + 1)
    assert path.exists()
    assert path.parent.stat().st_mode & 0o777 == 0o700
    entry.leave()
    assert not path.exists()


def test_who_has_a_launcher_that_reads_reports(tmp_path: Path) -> None:
    assert settings(tmp_path).has_launcher
    assert not waiting_settings(tmp_path).has_launcher
