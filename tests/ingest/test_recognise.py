"""Recordings are found by their content, and what is none is named."""

from __future__ import annotations

import gzip
import os
import zipfile
from pathlib import Path

import pytest

from readers.kineto_text import document, op
from stepscope.ingest.recognise import Recognised, recognise
from stepscope.model.errors import UserError
from stepscope.model.sizes import SIZES

TRACE = document(op()).encode()


def found_names(found: Recognised) -> list[str]:
    return [str(source).rsplit("/", 1)[-1] for source, _ in found.sources]


def refused(*paths: Path) -> str:
    with pytest.raises(UserError) as error:
        recognise(list(paths))
    assert error.value.exit_code == 2
    assert "\n" not in str(error.value)
    return str(error.value)


def test_names_and_endings_do_not_matter(tmp_path):
    (tmp_path / "a.txt").write_bytes(TRACE)
    (tmp_path / "b").write_bytes(gzip.compress(TRACE))
    (tmp_path / "c.json").write_bytes(b"[" + op().encode())
    assert found_names(recognise([tmp_path])) == ["a.txt", "b", "c.json"]


def test_folders_are_searched_to_the_bottom_and_other_files_are_named(tmp_path):
    deep = tmp_path / "runs" / "one"
    deep.mkdir(parents=True)
    (deep / "trace.json").write_bytes(TRACE)
    (deep / "notes.txt").write_text("nothing")
    (deep / "settings.json").write_text('{"a": 1}')
    (deep / "empty.json").write_bytes(b"")
    (deep / ".hidden.json").write_bytes(TRACE)
    found = recognise([tmp_path])
    assert found_names(found) == ["trace.json"]
    assert sorted(one.path.name for one in found.skipped) == ["empty.json", "notes.txt", "settings.json"]


def test_a_long_header_is_looked_through(tmp_path):
    header = '{"metadata": {"text": "' + "x" * 200_000 + '"}, "traceEvents": ['
    (tmp_path / "trace.json").write_text(document(op(), header=header))
    assert found_names(recognise([tmp_path])) == ["trace.json"]


def test_an_archive_may_hold_several(tmp_path):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("rank0.json", TRACE)
        archive.writestr("rank1.json.gz", gzip.compress(TRACE))
        archive.writestr("readme", "nothing")
        archive.writestr("other.json", "{}")
    found = recognise([tmp_path / "all.zip"])
    assert found_names(found) == ["all.zip!rank0.json", "all.zip!rank1.json.gz"]
    assert [one.path.name for one in found.skipped] == ["all.zip!readme", "all.zip!other.json"]


def test_a_file_is_read_once(tmp_path):
    (tmp_path / "trace.json").write_bytes(TRACE)
    (tmp_path / "link.json").symlink_to("trace.json")
    assert len(recognise([tmp_path, tmp_path / "trace.json"]).sources) == 1


def test_loops_of_links_end(tmp_path):
    (tmp_path / "trace.json").write_bytes(TRACE)
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "self").symlink_to("self")
    assert found_names(recognise([tmp_path])) == ["trace.json"]
    assert "self" in refused(tmp_path / "self")


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "neither a file nor a folder" in refused(tmp_path / "pipe")
    (tmp_path / "trace.json").write_bytes(TRACE)
    assert found_names(recognise([tmp_path])) == ["trace.json"]


def test_what_is_missing_empty_or_foreign_is_refused(tmp_path):
    assert "does not exist" in refused(tmp_path / "missing")
    assert "is an empty folder" in refused(tmp_path)
    (tmp_path / "empty").write_bytes(b"")
    assert "is empty" in refused(tmp_path / "empty")
    (tmp_path / "text").write_text("hello")
    assert "is text that is no recording" in refused(tmp_path / "text")
    both = refused(tmp_path / "text", tmp_path / "empty")
    assert f"{tmp_path / 'text'} is text that is no recording; {tmp_path / 'empty'} is empty" in both
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 and no more")
    assert "is no recording" in refused(tmp_path / "broken.zip")


def test_a_link_to_nothing_in_a_folder_is_named(tmp_path):
    (tmp_path / "trace.json").write_bytes(TRACE)
    (tmp_path / "rank1.json").symlink_to(tmp_path / "gone.json")
    found = recognise([tmp_path])
    assert found_names(found) == ["trace.json"]
    assert [(one.path.name, one.unreadable) for one in found.skipped] == [("rank1.json", True)]


def test_a_file_that_may_not_be_read_is_refused_and_skipped_in_a_folder(tmp_path, monkeypatch):
    (tmp_path / "trace.json").write_bytes(TRACE)
    (tmp_path / "secret.json").write_bytes(TRACE)
    opened = Path.open

    def guarded(self, *args, **kwargs):
        if self.name == "secret.json":
            raise PermissionError(13, "Permission denied")
        return opened(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", guarded)
    assert "Permission denied" in refused(tmp_path / "secret.json")
    found = recognise([tmp_path])
    assert found_names(found) == ["trace.json"]
    assert [one.path.name for one in found.skipped] == ["secret.json"]


@pytest.mark.parametrize("raw", ["FRAMEWORK", "PROF_000001_20250101_ABC/device_0/data", "PROF_1/host"])
def test_raw_data_of_the_ascend_profiler_are_to_be_analysed_first(tmp_path, raw):
    result = tmp_path / "host_1_20250101_ascend_pt"
    (result / raw).mkdir(parents=True)
    (result / raw / "data").write_bytes(b"\x00\x01")
    for given in (tmp_path, result):
        assert f"analyse('{result}')" in refused(given)


def test_other_folders_are_not_taken_for_raw_data(tmp_path):
    (tmp_path / "PROF_1" / "logs").mkdir(parents=True)
    (tmp_path / "PROF_1" / "logs" / "log").write_text("nothing")
    assert "analyse" not in refused(tmp_path)


@pytest.mark.parametrize("blanks", [1 << 16, 5 << 20])
def test_blanks_before_a_recording_are_passed_over(tmp_path: Path, blanks: int) -> None:
    (tmp_path / "trace.json").write_bytes(b" \n" * (blanks // 2) + TRACE)
    assert len(recognise([tmp_path]).sources) == 1


@pytest.mark.parametrize("packed", [True, False])
def test_more_recordings_than_the_limit_are_refused(tmp_path: Path, packed: bool) -> None:
    place = tmp_path / "job"
    place.mkdir()
    if packed:
        place = tmp_path / "job.zip"
        with zipfile.ZipFile(place, "w") as archive:
            for rank in range(3):
                archive.writestr(f"rank{rank}.json", TRACE)
    else:
        for rank in range(3):
            (place / f"rank{rank}.json").write_bytes(TRACE)
    with SIZES.changed(recordings=3):
        assert len(recognise([place]).sources) == 3
    with SIZES.changed(recordings=2):
        said = refused(place)
    assert f"{place} holds more recordings than the limit of 2; give some of them" in said


def test_a_folder_of_anything_is_not_searched_to_its_end(tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"{number}.txt").write_text("text")
    with SIZES.changed(folder_files=4), pytest.raises(UserError) as raised:
        recognise([tmp_path])
    message = f"{tmp_path} holds more than 4 files that are no recordings; give the folder of the recordings"
    assert str(raised.value) == message
    (tmp_path / "0.json").write_bytes(TRACE)
    with SIZES.changed(folder_files=4):
        assert len(recognise([tmp_path]).skipped) == 6


def test_each_file_is_told_before_it_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "0.json").write_bytes(TRACE)
    (tmp_path / "1.txt").write_text("text")
    told: list[tuple[str, int]] = []
    recognise([tmp_path], lambda path, number: told.append((path.name, number)))
    assert told == [(tmp_path.name, 0), ("0.json", 1), ("1.txt", 2)]


def test_of_many_long_files_that_may_be_recordings_not_all_are_looked_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepscope.ingest.recognise._DOUBTED", 1)
    header = '{"metadata": {"text": "' + "x" * 200_000 + '"}, "traceEvents": ['
    (tmp_path / "0.json").write_text(document(op(), header=header))
    for number in range(1, 5):
        (tmp_path / f"{number}.json").write_text('{"rows": "' + "x" * 200_000 + '"}')
    found = recognise([tmp_path])
    assert found_names(found) == ["0.json"]
    plain, bounded = "is text that is no recording", "is no recording by its first 64 KiB"
    assert [str(one.why) for one in found.skipped] == [plain, plain, bounded, bounded]
