"""The sums of a rank without its events: what its small files say, and that broken ones are refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from bench.damage.small_ascend import at, kernel_rows, write_csv, write_database, write_text

from stepscope.model.errors import UnusableInputError
from stepscope.model.sums.kernels import KernelKey, RunDurations
from stepscope.model.sums.rank import RankSummaries
from stepscope.readers.ascend.files import find
from stepscope.readers.ascend.reader import AscendReader
from stepscope.readers.ascend.summary import plain_csv
from stepscope.readers.ascend.summary.device import device_in
from stepscope.readers.ascend.summary.plain_csv import nanoseconds, number
from stepscope.readers.protocol import Source

SHAPES = {"Input Shapes": '"8;16"', "Input Data Types": "FLOAT;FLOAT", "Output Shapes": '"8"'}
READER = AscendReader()


def result(folder: Path) -> Path:
    """A rank's output folder, with shapes and times of a step."""
    output = write_text(folder)
    write_csv(output / "kernel_details.csv", kernel_rows(**SHAPES))
    write_csv(output / "step_trace_time.csv", [{"Step": "7", "Computing": "100.5", "Free": "3.0"}])
    link = {"Transport Type": "HCCS", "Transit Size(MB)": 20.0}
    matrix = {"step7": {"collective": {"allreduce-top1@12345678": {"0-1": link}}}}
    (output / "communication_matrix.json").write_text(json.dumps(matrix))
    return output


def read(folder: Path) -> RankSummaries:
    return READER.summaries(Source(folder))


def test_what_small_files_say(tmp_path: Path) -> None:
    result(tmp_path)
    found = read(tmp_path)
    assert found.recording.rank == 3
    assert found.sums == [
        ("steps", "7", "", "Computing", 100.5),
        ("steps", "7", "", "Free", 3.0),
        ("matrix", "7", "collective allreduce-top1@12345678 0-1 HCCS", "Transit Size(MB)", 20.0),
    ]
    assert list(found.groups.values()) == [(0, 3)]
    # The collective has no shapes; the device is that of the trace's process.
    key = KernelKey("aclnnMm_MatMulV2", "8;16", "FLOAT;FLOAT", "8", 3, 7)
    assert found.kernels == {key: RunDurations(1, 100_500, 100_500**2, 100_500, 100_500)}
    assert not found.stepless


def test_a_packed_trace_that_has_to_tell_the_device_is_read_as_a_whole(tmp_path: Path) -> None:
    output = result(tmp_path)
    trace = output / "trace_view.json"
    trace.write_bytes(gzip.compress(trace.read_bytes()))
    with pytest.raises(UnusableInputError):
        read(tmp_path)
    write_csv(output / "kernel_details.csv", [{"Device_id": "5", **row} for row in kernel_rows(**SHAPES)])
    assert {key.device for key in read(tmp_path).kernels} == {5}


def test_a_table_that_says_the_device_needs_no_trace(tmp_path: Path) -> None:
    output = result(tmp_path)
    write_csv(output / "kernel_details.csv", [{"Device_id": "5", **row} for row in kernel_rows(**SHAPES)])
    (output / "trace_view.json").write_text("[")
    assert {key.device for key in read(tmp_path).kernels} == {5}


def test_of_a_database_kernels_have_no_steps(tmp_path: Path) -> None:
    (tmp_path / "ASCEND_PROFILER_OUTPUT").mkdir()
    write_database(tmp_path / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler_3.db")
    found = read(tmp_path)
    assert (found.recording.rank, found.stepless, found.kernels) == (3, True, {})
    assert list(found.groups.values()) == [(0, 3)]


@pytest.mark.parametrize(
    ("name", "damaged"),
    [
        ("kernel_details.csv", lambda text: text[:-20]),
        ("kernel_details.csv", lambda text: text + "7,2\n"),
        ("kernel_details.csv", lambda text: text.replace(at(200.125), "soon")),
        ("kernel_details.csv", lambda text: text.replace("Duration(us)", "Start Time(us)")),
        ("step_trace_time.csv", lambda text: text.replace("100.5", "100\0.5")),
        ("communication_matrix.json", lambda text: text[:-3]),
        ("communication_matrix.json", lambda _: ""),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, name: str, damaged) -> None:
    output = result(tmp_path)
    read(tmp_path)
    (output / name).write_text(damaged((output / name).read_text()))
    with pytest.raises(UnusableInputError, match=name):
        read(tmp_path)


def test_whose_it_is(tmp_path: Path) -> None:
    result(tmp_path)
    glance = READER.glance(Source(tmp_path))
    assert glance is not None
    assert (glance.recording.rank, glance.between) == (3, None)
    info = {"rank_id": 3, "start_info": {"start_monotonic": 40},
            "end_info": {"collectionTimeEnd": 10**18, "MonotonicTimeEnd": 100}}  # fmt: skip
    (tmp_path / "profiler_info_3.json").write_text(json.dumps(info))
    timed = READER.glance(Source(tmp_path))
    assert timed is not None
    assert timed.between == (10**18 - 60, 10**18)
    (tmp_path / "profiler_info_3.json").rename(tmp_path / "other.json")
    assert READER.glance(Source(tmp_path)) is None


@pytest.mark.parametrize(
    ("pid", "label", "device"),
    [(3170820516, "NPU", 4), (3170820516, "NPU 6", 6), (17, "NPU 2", 2), (17, "NPU", None)],
)
def test_the_device_of_a_trace(tmp_path: Path, pid: int, label: str, device: int | None) -> None:
    events = [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "Python"}},
        {"ph": "M", "name": "process_labels", "pid": 1, "args": {"labels": "CPU"}},
        {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": "Ascend Hardware"}},
        {"ph": "M", "name": "process_labels", "pid": 1, "args": {"labels": "NPU 7"}},
        {"ph": "M", "name": "process_labels", "pid": pid, "args": {"labels": label}},
    ]
    path = tmp_path / "trace_view.json"
    path.write_text(json.dumps(events))
    assert device_in(path) == device
    path.write_text(json.dumps(events[:2]))
    assert device_in(path) == 0


def test_numbers_and_times_are_read_digit_by_digit() -> None:
    cells = ["1700000000000000.125\t", "53.741", " 7 ", "0.0005", "1e3", "N/A", "", "x", "1_0", "nan"]
    assert [nanoseconds(cell) for cell in cells] == [
        1700000000000000125, 53741, 7000, 1, 10**6, None, None, None, None, None,
    ]  # fmt: skip
    assert [number(cell) for cell in cells[1:]] == [53.741, 7.0, 0.0005, 1000.0, None, None, None, None, None]


def test_the_variance_of_durations_is_exact() -> None:
    durations = RunDurations()
    assert durations.variance is None
    for ns in (10**9, 10**9 + 2, 10**9 + 4):
        durations.add(ns)
    assert (durations.count, durations.variance) == (3, 4.0)


def test_a_packed_trace_is_the_trace_of_its_folder(tmp_path: Path) -> None:
    output = result(tmp_path)
    text = (output / "trace_view.json").read_bytes()
    (output / "trace_view.json").unlink()
    (output / "trace_view.json.gz").write_bytes(gzip.compress(text))
    (output / "step_trace_time.csv.gz").write_bytes(b"")
    found = find(tmp_path)
    assert found.trace == Source(output / "trace_view.json.gz")
    assert "step_trace_time.csv.gz" not in found.emptied  # tables are not unpacked, and not read so
    with pytest.raises(UnusableInputError, match="packed"):  # the device is then that of the trace as a whole
        read(tmp_path)


def test_a_table_ends_with_the_end_of_a_row(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    for end in ("\n", "\r\n"):
        path.write_bytes(f"a,b{end}1,2{end}".encode())
        assert list(plain_csv.rows(path)) == [["a", "b"], ["1", "2"]]
    for broken in (b"a,b\n1,2", b""):
        path.write_bytes(broken)
        with pytest.raises(plain_csv.BrokenFileError):
            list(plain_csv.rows(path))
