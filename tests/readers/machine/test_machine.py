"""Samples of the machine: rates between lines, damaged files, and the recording that they lie beside."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from stepscope.ingest import Options, open_trace
from stepscope.model.errors import UnusableInputError
from stepscope.model.trace import Trace
from stepscope.readers.machine.lines import Lines
from stepscope.readers.machine.series import SeriesMaker, Value
from stepscope.readers.protocol import Source

SECOND = 10**9
START = 1_700_000_000 * SECOND
HEAD = {"samples": "stepscope.machine/1", "host": "node7", "cores": 4, "quota": 3.0, "nodes": {"0": "0", "1": "1"},
        "ticks": 100, "page": 4096}  # fmt: skip


HOSTILE = [
    b"not json", b"[1, 2]", b"null", b"{" * 5000, b'{"unix_ns": "soon"}', b'{"unix_ns": 1e400}', b'{"unix_ns": -5}',
    b"\xff\xfe\x00", b'{"unix_ns": 99999999999999999999999999}',
]  # fmt: skip


def write_steps(path: Path, ts_ns: int, rank: int = 0) -> None:
    """A recording with events at this Unix time and two seconds later."""
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 11, "tid": 11, "ts": ts, "dur": 1000}
        for ts in (0, 2_000_000)
    ]
    info = {"rank": rank, "world_size": 2} if "pt.trace" in path.name else {"rank": 0, "world_size": 1}
    trace = {"distributedInfo": info, "baseTimeNanoseconds": ts_ns, "traceEvents": events}
    path.write_text(json.dumps(trace))


def sample(at: int, number: int = 0, **more: Any) -> dict[str, Any]:
    """A sample, `at` seconds after the recording began; counters grow with its number."""
    return {
        "unix_ns": START + at * SECOND,
        "recording": False,
        "cores": {"0": [100 * number, 0, 0], "1": [50 * number, 25 * number, 0]},
        "disks": {"sda": [10 * number, 4096 * number, 20 * number, 0, 0, 0, 500 * number]},
        "job": {"ran_ns": SECOND * number, "waited_ns": SECOND * number // 2, "reads": 8 * number,
                "read_bytes": 800 * number, "workers": 2, "resident": 3, "ranks": {"11": [SECOND * number, 0]}},
        "files": {"/data": [5, 4, 900]}, **more,
    }  # fmt: skip


def samples(folder: Path, *lines: Any, tail: bytes = b"") -> Path:
    path = folder / "node7_1.machine.jsonl"
    texts = [json.dumps(line, separators=(",", ":")).encode() if isinstance(line, dict) else line for line in lines]
    path.write_bytes(b"".join(text + b"\n" for text in texts) + tail)
    return path


def opened(folder: Path) -> Trace:
    return open_trace(folder, Options(cache=False))


def values(trace: Trace) -> dict[tuple[str, str], list[tuple[int, float]]]:
    """Times and values of each series of an open recording."""
    return series_of(tuple(row.values()) for row in trace.rows("SELECT ts, subject, series, value FROM machine"))


def series_of(rows: Iterable[tuple[Any, ...]]) -> dict[tuple[str, str], list[tuple[int, float]]]:
    found: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for ts, subject, series, value in sorted(rows):
        found.setdefault((subject, series), []).append((ts, value))
    return found


def made(lines: Lines) -> dict[tuple[str, str], list[tuple[int, float]]]:
    """What the reader makes of a file, before it is stored."""
    found: list[Value] = []
    maker: SeriesMaker | None = None
    for one in lines.samples(lambda _: None):
        maker = maker or SeriesMaker(lines.head)
        found += maker.of(one)
    return series_of((value.ts - START, value.subject, value.series, value.value) for value in found)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A folder with a recording of two seconds, from `START` on."""
    write_steps(tmp_path / "rank0.json", START)
    return tmp_path


def test_rates_are_between_samples_and_stand_at_their_start(tmp_path: Path) -> None:
    found = made(Lines.of(Source(samples(tmp_path, HEAD, sample(-2), sample(0, 2), sample(1, 3)))))
    assert found["core 1", "busy"] == [(-2 * SECOND, 0.5), (0, 0.5)]
    assert found["processors", "busy"] == [(-2 * SECOND, 1.5), (0, 1.5)]
    assert found["NUMA node 1", "busy"] == [(-2 * SECOND, 0.5), (0, 0.5)]
    assert found["disk sda", "busy"][0] == (-2 * SECOND, 0.5)
    assert found["disk sda", "time per read"][0][1] == 2e6
    assert found["job", "bytes per read"][0][1] == 100
    assert found["job", "busy"][0][1] == 1
    assert found["job", "ready without a processor"][0][1] == 0.5
    assert found["job", "may use"][0][1] == 3
    assert found["job", "resident"][0][1] == 3 * 4096
    assert found["main thread of process 11", "busy"][0][1] == 1
    assert found["files on /data", "different"] == [(ts * SECOND, 4) for ts in (-2, 0, 1)]


def test_devices(tmp_path: Path) -> None:
    device = {"busy": 37, "power": 200.5, "throttled": "power cap, thermal (hardware)", "unheard of": 1}
    path = samples(tmp_path, HEAD, sample(0, devices={"0": device, "x": {"busy": 1}, "1": "broken"}))
    found = made(Lines.of(Source(path)))
    assert found["device 0", "busy"] == [(0, 0.37)]
    assert found["device 0", "power"] == [(0, 200.5)]
    assert found["device 0", "throttled: power cap"] == [(0, 1)]
    assert not any(subject in ("device x", "device 1") for subject, _ in found)


def test_beside_a_recording(recording: Path) -> None:
    told = [{"mount": "/data", "filesystem": "nfs4", "kind": "network", "disk": ""}, {"mount": "/x", "kind": "magic"}]
    more = sample(1, 3, storage=[7, {"mount": 3}])
    samples(
        recording, HEAD, sample(-2), sample(0, 2, storage=told), more, sample(9, 4), *HOSTILE, tail=b'{"unix_ns": 1'
    )
    trace = opened(recording)
    assert values(trace)["core 1", "busy"] == [(-2 * SECOND, 0.5), (0, 0.5), (SECOND, 0.0625)]
    # Counters are of the recorded time only, and on tracks of their own.
    rows = trace.rows(
        "SELECT ts, value FROM counters JOIN tracks USING (track) "
        "WHERE name = 'core 1: busy (share)' AND process = 'machine'"
    )
    assert [(row["ts"], row["value"]) for row in rows] == [(0, 0.5), (SECOND, 0.0625)]
    rows = trace.rows("SELECT mount, filesystem, kind, disk FROM storages ORDER BY mount")
    assert [tuple(row.values()) for row in rows] == [("/data", "nfs4", "network", None), ("/x", "", "unknown", None)]
    rows = trace.rows("SELECT code, count FROM health WHERE code LIKE 'machine%'")
    assert {row["code"]: row["count"] for row in rows} == {"machine-unreadable": len(HOSTILE), "machine-truncated": 1}


def test_a_clock_that_was_set_back(tmp_path: Path) -> None:
    lines = Lines.of(Source(samples(tmp_path, HEAD, sample(0), sample(-1, 1), sample(2, 2))))
    assert made(lines)["core 0", "busy"] == [(0, 1.0)]
    assert lines.misplaced == 1


def test_without_the_first_line_defaults_hold(tmp_path: Path) -> None:
    path = samples(tmp_path, HEAD, sample(0), sample(1, 1))
    head, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(head[:25] + b"\n" + b"".join(rest))
    found = made(Lines.of(Source(path)))
    assert found["core 0", "busy"] == [(0, 1.0)]
    assert ("job", "may use") not in found


def test_samples_of_another_time_or_folder_belong_to_no_rank(recording: Path) -> None:
    samples(recording, HEAD, sample(100), sample(101, 1))
    assert not values(opened(recording))
    (recording / "other").mkdir()
    samples(recording / "other", HEAD, sample(0), sample(1, 1))
    assert not values(opened(recording))


def test_each_rank_gets_the_samples_of_its_host(tmp_path: Path) -> None:
    for rank, host in enumerate(("node7", "node8")):
        write_steps(tmp_path / f"rank{rank}_{host}_{rank + 5}.{START}.pt.trace.json", START, rank=rank)
        path = samples(tmp_path, {**HEAD, "host": host}, sample(0), sample(1, rank + 1))
        path.rename(tmp_path / f"{host}.machine.jsonl")
    trace = opened(tmp_path)
    assert [values(trace.rank(rank))["core 1", "busy"] for rank in (0, 1)] == [[(0, 0.5)], [(0, 1.0)]]


def test_samples_alone_are_no_recording(tmp_path: Path) -> None:
    with pytest.raises(UnusableInputError):
        opened(samples(tmp_path, HEAD, sample(0), sample(1, 1)))


def test_a_file_without_samples_leaves_the_recording(recording: Path) -> None:
    samples(recording, HEAD)
    assert opened(recording).scalar("SELECT count(*) FROM events")
