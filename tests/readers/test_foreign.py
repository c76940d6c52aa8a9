"""What is no recording is called by its name, with what to do."""

from __future__ import annotations

import gzip
import sqlite3
import zipfile
from pathlib import Path

import pytest

from stepscope.ingest.recognise import recognise
from stepscope.model.errors import UserError

PERFETTO = b"".join(b"\n" + bytes([len(one)]) + one for one in (b"\x08\x01", b"\x82\x01\x02\x08\x05", b"\x10\x07abc"))
BAZEL = b'{"otherData": {"bazel_version": "release 7.1"}, "traceEvents": [{"cat": "build phase marker", "ph": "X"}]}'
DEVTOOLS = b'{"metadata": {"source": "DevTools"}, "traceEvents": [{"cat": "devtools.timeline", "ph": "X", "ts": 1}]}'


def refused(path: Path) -> str:
    with pytest.raises(UserError) as error:
        recognise([path])
    assert error.value.hint
    assert "\n" not in str(error.value)
    return error.value.message.removeprefix(f"{path} ")


@pytest.mark.parametrize(
    ("name", "data", "what"),
    [
        ("trace.etl", b"\x00\x00\x01\x00\x48\x00\x00\x00", "an event log of Windows"),
        ("events.out.tfevents.1", b"\x18\0\0\0\0\0\0\0\xa3\x7fK\"\t\0\0\xc0\xd2\xb1\xd8A\x1a\rbrain.Event:2",
         "an event file of TensorBoard"),
        ("a", PERFETTO, "a trace of Perfetto"),
        ("a.perfetto-trace", b"\n\xff", "a trace of Perfetto"),
        ("a.xplane.pb", b"\n\x05abcde", "no XSpace"),
        ("command.profile", BAZEL, "a build profile of Bazel"),
        ("et.json", b'{"schema": "1.1.1-chakra.0.0.4", "pid": 7, "nodes": []}', "an execution trace"),
        ("a.json", DEVTOOLS, "a recording of Chrome's DevTools"),
        ("a.ncu-rep", b"NVR\0\1", "a report of Nsight Compute"),
        ("renamed", b"NVR\0\1", "a report of Nsight Compute"),
        ("core.1234", b"\x7fELF\2\1\1\0" + bytes(8) + b"\4\0\x3e\0", "a core dump"),
        ("train", b"\x7fELF\2\1\1\0" + bytes(8) + b"\3\0\x3e\0", "a program or a library"),
        ("a.png", b"\x89PNG\r\n\x1a\n\0\0", "an image"),
        ("cut.png", b"\x89PNG\r\n", "an image"),
        ("cut.zst", b"(\xb5/\xfd", "packed with Zstandard"),
        ("cut.txt", "größer als zwei Zeichen …".encode()[:-1], "text that is no recording"),
        ("a.svg", b"<svg xmlns='http://www.w3.org/2000/svg'></svg>", "a page or drawing"),
        ("trace.json.zst", b"(\xb5/\xfd\x04", "packed with Zstandard"),
        ("model.pt", b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", "what torch.save wrote"),
        ("notes.md", b"BM is how this text begins", "text that is no recording"),
        ("a.bin", b"\x01\x02\x03", "no recording that stepscope can read"),
    ],
)  # fmt: skip
def test_a_file_is_called_what_it_is(tmp_path: Path, name: str, data: bytes, what: str) -> None:
    (tmp_path / name).write_bytes(data)
    assert refused(tmp_path / name).startswith(f"is {what}")
    (tmp_path / name).write_bytes(gzip.compress(data))
    assert refused(tmp_path / name).startswith(f"is {what}")


def test_a_checkpoint_is_an_archive_of_its_own_kind(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "model.bin", "w") as archive:
        archive.writestr("model/data.pkl", b"\x80\x02}q\x00.")
        archive.writestr("model/data/0", bytes(100))
        archive.writestr("model/version", b"3\n")
    assert refused(tmp_path / "model.bin").startswith("is what torch.save wrote")


def test_a_workbook_is_no_archive_of_recordings(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
    assert refused(tmp_path / "a.xlsx").startswith("is a workbook")


@pytest.mark.parametrize(("table", "what"), [("users", "an SQLite database that no profiler wrote"),
                                             ("rocpd_op", "a database of rocprofv3")])  # fmt: skip
def test_a_database_is_told_by_its_tables(tmp_path: Path, table: str, what: str) -> None:
    connection = sqlite3.connect(tmp_path / "a.sqlite")
    connection.execute(f"CREATE TABLE {table} (id INTEGER)")
    connection.commit()
    connection.close()
    assert refused(tmp_path / "a.sqlite").startswith(f"is {what}")


def test_in_a_folder_each_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (tmp_path / "b.json").write_bytes(BAZEL)
    (tmp_path / "c.gz").write_bytes(b"\x1f\x8b\x08broken")
    said = refused(tmp_path)
    # What may be a recording comes first.
    order = [said.index(f"{tmp_path / name} is {what}") for name, what in
             (("c.gz", "damaged"), ("a.png", "an image"), ("b.json", "a build profile of Bazel"))]  # fmt: skip
    assert order == sorted(order)
