"""Files that were cut or damaged: what can be read, or one sentence."""

from __future__ import annotations

import gzip
import json
import pickle
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from readers.conformance import check_invariants, check_sniffing, check_unusable
from readers.memsnapshot.snapshots import MIB, History, block, health, opened, segment, snapshot, trace_of, write
from series import rounds
from stepscope.model.errors import UserError
from stepscope.model.trace import Trace
from support import shared


def _data(entries: int = 5000, protocol: int = 4) -> bytes:
    history = History()
    for number in range(entries):
        history.alloc(512 * number, 100 + number, f"f{number % 7}", "main")
    live = [block(512, "active_allocated") for _ in range(10)]
    content = snapshot([segment(0, live, device=1)], History(), history)
    return pickle.dumps(content, protocol=protocol)


@pytest.mark.parametrize("protocol", [2, 4])
def test_a_cut_history_gives_all_whole_batches_before_the_cut(tmp_path: Path, protocol: int) -> None:
    data = _data(protocol=protocol)
    target = tmp_path / "cut.pickle"
    target.write_bytes(data[: int(len(data) * 0.7)])
    with opened(target) as trace:
        check_invariants(trace)
        kept = trace.scalar("SELECT count(*) FROM allocator_events WHERE device = 1")
        assert 3000 <= kept <= 3500
        assert kept % 1000 == 0
        assert health(trace)["truncated"] == 1
        assert trace.sql("SELECT requested FROM allocations WHERE seq = 2999").to_pylist() == [{"requested": 3099}]


def _in_both_forms(folder: Path, content: dict[str, Any]) -> Iterator[Trace]:
    """A snapshot as the pickle that PyTorch writes, and as JSON."""
    written = folder / "snapshot.json"
    written.write_text(json.dumps(content))
    for path in (write(folder, content), written):
        with opened(path) as trace:
            yield trace


@pytest.mark.parametrize(("line", "odd"), [(7, 0), (-1, 0), ("7", 1), (None, 1), ([], 1), (1.5, 1)])
def test_frames_of_other_types_are_kept_and_counted(tmp_path: Path, line: object, odd: int) -> None:
    history = History().alloc(512, 512, "f", "main")
    history.entries[0]["frames"][0]["line"] = line
    content = snapshot([segment(512, [block(512, "active_allocated")])], history)
    for trace in _in_both_forms(tmp_path, content):
        assert trace.scalar("SELECT len(frames) FROM call_stacks") == 2
        assert health(trace).get("values-unreadable", 0) == odd


@pytest.mark.parametrize("frames", [None, 7, 1.5, "x", {}])
def test_call_stacks_of_another_type_are_counted(tmp_path: Path, frames: object) -> None:
    history = History().alloc(512, 512, "f", "main").alloc(1024, 512, "g", "main")
    history.entries[0]["frames"] = frames
    content = snapshot([segment(512, [block(512, "active_allocated")])], history)
    for trace in _in_both_forms(tmp_path, content):
        assert trace.scalar("SELECT count(*) FROM allocator_events WHERE stack IS NOT NULL") == 1
        assert health(trace)["values-unreadable"] == 1


@pytest.mark.parametrize(("part", "known"), [(0.3, 4), (0.6, 10), (0.97, 19)])
def test_of_a_cut_list_of_segments_the_complete_ones_are_kept(tmp_path: Path, part: float, known: int) -> None:
    """Picklers write segments a thousand at a time: that list is not yet one when the file ends in it.

    Blocks of PyTorch 2.0 have histories of their own, which is what makes such a list long.
    """
    old = [
        {"addr": 1, "real_size": 512, "frames": [{"filename": "a.py", "name": f"f{n}", "line": n}]} for n in range(9)
    ]
    segments = [segment(MIB * n, [block(512, "active_allocated") | {"history": old[: n % 9]}]) for n in range(20)]
    data = pickle.dumps(snapshot(segments, History()), protocol=4)
    (tmp_path / "cut.pickle").write_bytes(data[: int(len(data) * part)])
    with opened(tmp_path / "cut.pickle") as trace:
        check_invariants(trace)
        assert trace.scalar("SELECT count(*) FROM segments") == known
        assert trace.scalar("SELECT count(*) FROM blocks") == known
        assert health(trace)["truncated"] == 1


@pytest.mark.series
def test_every_cut_gives_a_trace_or_one_sentence(tmp_path: Path) -> None:
    data = _data(1500)
    chosen = random.Random(1)
    opened_ones = 0
    for cut in [1, 2, 3, 5, *(chosen.randrange(len(data)) for _ in range(rounds(12, 2))), len(data) - 1]:
        opened_ones += _tried(tmp_path / "cut.pickle", data[:cut])
    assert opened_ones > rounds(2, 0)


@pytest.mark.series
def test_random_damage_gives_a_trace_or_one_sentence(tmp_path: Path) -> None:
    data = _data(1500)
    chosen = random.Random(2)
    opened_ones = 0
    for _ in range(rounds(20, 4)):
        damaged = bytearray(data)
        for _ in range(chosen.choice([1, 20])):
            damaged[chosen.randrange(2, len(data))] = chosen.randrange(256)
        opened_ones += _tried(tmp_path / "damaged.pickle", bytes(damaged))
    assert opened_ones > rounds(2, 0)


def test_a_cut_recording(tmp_path: Path) -> None:
    data = shared("memory", "train_1024_stranded.pickle").read_bytes()
    target = tmp_path / "cut.pickle.gz"
    packed = gzip.compress(data, 1)
    target.write_bytes(packed[: len(packed) * 3 // 4])
    with opened(target) as trace:
        check_invariants(trace)
        assert trace.scalar("SELECT count(*) FROM allocator_events") > 5000
        assert trace.scalar("SELECT count(*) FROM segments") == 234
        assert health(trace)["truncated"] == 1


def _tried(target: Path, data: bytes) -> bool:
    """Whether the file could be opened; if not, the error is as it should be."""
    target.write_bytes(data)
    try:
        trace = opened(target)
    except UserError:
        check_unusable(target)
        return False
    with trace:
        check_invariants(trace)
    return True


@pytest.mark.parametrize(
    "text",
    [
        b'{"segments": [{"total_size": 1, "blocks": [',
        b'{"segments": [], "device_traces": [], "total_size": 0, "blocks": 1}',
        b'[{"total_size": "x", "blocks": 7, ' + b'"a": [' * 5000, b"[[1, 2], [3, 4]]", b"[[-1, 1, 5, 99], [7, 9, 1, 1]",
    ],
)  # fmt: skip
def test_json_that_is_cut_or_empty_is_refused_in_one_sentence(tmp_path: Path, text: bytes) -> None:
    assert not _tried(tmp_path / "unknown", text)


def test_snapshots_are_recognised_by_content(tmp_path: Path) -> None:
    target = tmp_path / "memory.json"
    target.write_bytes(_data(10))
    check_sniffing(target)
    target.write_bytes(b'{"segments": [{"device": 0, "total_size": 5, "blocks": []}]}')
    check_sniffing(target)
    target.write_bytes(b"[[-1, 1, 1024, 0], [5, 2, 7, 3]]")
    check_sniffing(target)


def test_a_pickle_of_something_else_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "weights.pkl"
    for content in ({"a": 1}, [1, 2, 3], "text", [], {"segments": MIB}):
        target.write_bytes(pickle.dumps(content))
        with pytest.raises(UserError):
            opened(target)


def test_segments_and_blocks_of_another_type_are_counted(tmp_path: Path) -> None:
    first = segment(0x1000, [block(512)])
    first["blocks"] += ["?", 7]
    broken: list[Any] = [first, "no segment", {**segment(0x9000, []), "blocks": "none"}]
    with trace_of(tmp_path, snapshot(broken)) as trace:
        assert health(trace)["rows-skipped"] == 4


def _history_of(entries: int) -> History:
    history = History()
    for number in range(entries):
        history.alloc(512 * number, 512, "f")
    return history


@pytest.mark.parametrize("form", ["pickle", "json"])
def test_entries_of_another_type_are_counted(tmp_path: Path, form: str) -> None:
    history = _history_of(20)
    odd: list[Any] = [None, 7, "x", [1], {}]
    # A run of them, and each by itself.
    history.entries[5:5] = odd[1:4]
    history.entries[12:12] = odd[:1]
    history.entries[18:18] = odd[4:]
    content = snapshot([segment(0, [block(512)])], history)
    target = tmp_path / "a"
    target.write_bytes(pickle.dumps(content) if form == "pickle" else json.dumps(content).encode())
    with opened(target) as trace:
        assert trace.scalar("SELECT count(*) FROM allocator_events") == 20
        assert health(trace)["rows-skipped"] == len(odd)


@pytest.mark.parametrize(
    ("traces", "lost"), [(7, 1), ({"a": 1}, 1), ([{"a": 1}, None], 2), ([_history_of(3).entries, "x"], 1)]
)
def test_histories_of_another_type_are_counted(tmp_path: Path, traces: Any, lost: int) -> None:
    content = {"segments": [segment(0, [block(512)])], "device_traces": traces}
    with trace_of(tmp_path, content) as trace:
        assert health(trace)["rows-skipped"] == lost


def test_entries_that_say_nothing_are_counted(tmp_path: Path) -> None:
    given = [("size", "many"), ("size", -1), ("size", 1 << 60), ("addr", "0x10"), ("action", 3), ("action", "allocxx")]
    history = _history_of(20).add("snapshot", None, 0)
    for position, (key, value) in enumerate(given):
        history.entries[3 + position][key] = value
    with trace_of(tmp_path, snapshot([segment(0, [block(512)])], history)) as trace:
        assert health(trace)["values-unreadable"] == len(given)


def test_sizes_that_are_none_are_counted_and_equal_ones_do_not_hide_each_other(tmp_path: Path) -> None:
    unsized = [segment(at << 20, [block(512)], total_size="x") for at in (1, 2)]
    block_of = segment(3 << 20, [block(512), block(512)])
    block_of["blocks"][1]["size"] = None
    foreign = [{**segment(at << 20, []), "blocks": 7} for at in (4, 5, 6)]
    with trace_of(tmp_path, snapshot([*unsized, block_of, *foreign])) as trace:
        found = health(trace)
        assert (found["values-unreadable"], found["rows-skipped"]) == (3, 3)
        assert trace.scalar("SELECT count(*) FROM segments") == 6


def test_whole_snapshots_have_nothing_of_that(tmp_path: Path) -> None:
    with trace_of(tmp_path, snapshot([segment(0, [block(512)])], _history_of(20).add("oom", None, 512))) as trace:
        assert not {"rows-skipped", "values-unreadable"} & set(health(trace))


def test_a_history_that_is_cut_is_not_one_that_was_full(tmp_path: Path) -> None:
    """What is left of it is as long as the batches of 1,000 that it was written in; frees are not lost, but unread."""
    data = _data(5000)
    (tmp_path / "a").write_bytes(data[: len(data) * 3 // 4])
    with opened(tmp_path / "a") as trace:
        assert trace.scalar("SELECT count(*) FROM allocator_events") % 1000 == 0
        assert set(health(trace)) & {"truncated", "history-full", "history-vanished", "history-lost"} == {"truncated"}
