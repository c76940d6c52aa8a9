"""Raw recordings of NPUs, parsed with what is installed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stepscope.cli.main import run
from stepscope.model.errors import UserError
from stepscope.record.offline import parse, raw_recordings

MSPROF = """#!/bin/sh
for one in "$@"; do case $one in --output=*) mkdir -p "${one#--output=}/mindstudio_profiler_output"
echo "$@" > "${one#--output=}/mindstudio_profiler_output/op_summary_1.csv";; esac; done
"""


def recording(folder: Path, name: str, *, parsed: bool = False) -> Path:
    """A recording of torch_npu with raw data of CANN in it."""
    (folder / name / "FRAMEWORK").mkdir(parents=True)
    (folder / name / "PROF_000001_1_A").mkdir()
    if parsed:
        (folder / name / "ASCEND_PROFILER_OUTPUT").mkdir()
        (folder / name / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").touch()
    return folder / name


def how(one: Path) -> str:
    return (one / "ASCEND_PROFILER_OUTPUT" / "how.txt").read_text()


def test_raw_recordings_are_parsed_wherever_they_lie(
    npu: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [recording(tmp_path, "a_1_ascend_pt"), recording(tmp_path / "deeper", "renamed")]
    assert run(["parse-ascend", str(tmp_path), "--processes", "100000"]) == 0
    assert "parsed 2 recordings" in capsys.readouterr().err
    assert [how(one) for one in found] == [f"{max(1, (os.cpu_count() or 1) // 2)} None"] * 2


def test_what_is_parsed_already_is_counted_and_left_alone(
    npu: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = recording(tmp_path, "a_1_ascend_pt", parsed=True)
    recording(tmp_path, "b_1_ascend_pt")
    assert run(["parse-ascend", str(tmp_path)]) == 0
    assert "parsed 1 recordings" in (said := capsys.readouterr().err)
    assert "1 had been parsed before (--again parses them anew)" in said
    assert not (before / "ASCEND_PROFILER_OUTPUT" / "how.txt").exists()
    assert run(["parse-ascend", str(before), "--again", "--export", "db", "--export", "text"]) == 0
    assert how(before).endswith(" ['db', 'text']")


def test_a_folder_of_cann_in_a_recording_stands_for_it(npu: None, tmp_path: Path) -> None:
    one = recording(tmp_path, "a_1_ascend_pt")
    assert parse(one / "PROF_000001_1_A", 2).parsed == (one,)


def test_a_folder_of_cann_alone_is_parsed_by_msprof(
    fakes: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = tmp_path / "PROF_000001_2_B"
    one.mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="msprof is not on the PATH, which parses PROF_000001_2_B"):
        parse(one, 1)
    (tmp_path / "msprof").write_text(MSPROF)
    (tmp_path / "msprof").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert parse(one, 1, ["db"]).parsed == (one,)
    [written] = (one / "mindstudio_profiler_output").iterdir()
    assert written.read_text() == f"--export=on --output={one} --type=db\n"
    assert parse(tmp_path, 1).before == (one,)


def test_what_fails_is_named(npu: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording(tmp_path, "broken_1_ascend_pt")
    assert run(["parse-ascend", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "parsed 0 recordings" in said
    assert "1 recordings have no results: broken_1_ascend_pt" in said


def test_what_can_not_be_parsed(fakes: None, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="none does not exist"):
        parse(tmp_path / "none", 1)
    with pytest.raises(UserError, match="holds no recording of an NPU"):
        parse(tmp_path, 1)
    (tmp_path / "a_1_ascend_pt").mkdir()
    assert raw_recordings(tmp_path) == [tmp_path / "a_1_ascend_pt"]
    with pytest.raises(UserError, match="torch_npu is not installed"):
        parse(tmp_path, 1)


def test_an_older_torch_npu_can_not_be_told_what_to_write(
    npu: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch_npu.profiler.profiler as native  # type: ignore[import-not-found,unused-ignore]

    def older(profiler_path: str, max_process_number: int) -> None:
        raise AssertionError((profiler_path, max_process_number))

    monkeypatch.setattr(native, "analyse", older)
    with pytest.raises(UserError, match="this torch_npu can't be told what to write"):
        parse(recording(tmp_path, "a_1_ascend_pt"), 1, ["db"])
