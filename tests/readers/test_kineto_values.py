"""Values of fields: numbers and texts of every kind, without loss."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from readers.conformance import check_unusable
from readers.kineto_text import document, health, names, op, opened, read
from stepscope.readers.kineto import values
from stepscope.readers.kineto.repair import read_cleaned


def event(cat: str, name: str, ts: object = 10, **more: Any) -> str:
    where: dict[str, Any] = {"pid": 1, "tid": 1}
    return json.dumps({"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": 5, **where, **more})


def test_what_stepscope_does_inside_the_program_is_no_part_of_it(tmp_path: Path) -> None:
    ours = [f"lib/stepscope/record/{name}.py(40): look" for name in ("job/recorder", "ring/writer", "triggers/slow")]
    theirs = ["stepscope/record/now.py(9): record_now", "my/stepscope/recorded.py(1): f", "ring/writer.py(2): put"]
    found = names(read(document(*(event("python_function", one) for one in (*ours, *theirs))), tmp_path))
    assert found == theirs


@pytest.mark.parametrize(
    ("name", "renamed"),
    [("[memory]", 0), ("[OutOfMemory]", 0), ("x", 1), ("[memorN/Ay]", 1), ([[], []], 1), (None, 1), (3, 1)],
)
def test_events_of_the_allocator_with_another_name_are_counted(tmp_path: Path, name: Any, renamed: int) -> None:
    args = {"Addr": 4096, "Bytes": 512, "Device Type": 1, "Device Id": 0, "Total Allocated": 512}
    instant = json.loads(event("cpu_instant_event", "", 11, ph="i", args=args))
    trace = read(document(event("cpu_op", "a"), json.dumps({**instant, "name": name})), tmp_path)
    assert health(trace).get("values-unreadable", 0) == renamed
    assert trace.scalar("SELECT count(*) FROM raw_memory") == int(name == "[memory]")


def raw(name: str, ts: str, dur: str = "1", args: str = "{}") -> str:
    """An event whose times are put into the text as they are."""
    return f'{{"ph":"X","cat":"cpu_op","name":"{name}","pid":1,"tid":1,"ts":{ts},"dur":{dur},"args":{args}}}'


@pytest.mark.series
@pytest.mark.parametrize(
    ("first", "second", "apart"),
    [
        ("0.001", "0.002", 1),
        ("1700000000123456.001", "1700000000123456.789", 788),
        ("1606910596297023", "1606910596297024", 1_000),
        ('"1700000000123456.001"', '"1700000000123456.002"', 1),
        ('"12.5"', "12.501", 1),
        ("1.5e3", "1500.001", 1),
        ("1.700000000123456e15", "1700000000123457", 1_000),
        ("-5.5", "5.5", 11_000),
        ("8000000000000.123", "8000000000000.124", 1),
        ("9000000000000.123", "9000000000000.124", 1),
    ],
)
def test_start_times_are_exact(first, second, apart, tmp_path):
    with read(document(raw("a", first), raw("b", second)), tmp_path) as trace:
        assert trace.sql("SELECT ts FROM events ORDER BY id").to_pydict()["ts"] == [0, apart]


def test_times_out_of_range_are_no_times(tmp_path):
    (tmp_path / "trace.json").write_text(document(raw("a", "17000000001234567.1")))
    check_unusable(tmp_path / "trace.json")


def test_an_argument_called_ts_is_not_the_time(tmp_path):
    text = '{"args":{"ts":5,"dur":6},"ph":"X","name":"a","pid":1,"tid":1,"ts":1700000000123456.001,"dur":0.25}'
    with opened(document(text, raw("b", "1700000000123456.002")), tmp_path) as trace:
        assert trace.sql("SELECT ts, dur FROM events ORDER BY id").to_pylist() == [
            {"ts": 0, "dur": 250}, {"ts": 1, "dur": 1_000}
        ]  # fmt: skip


def test_durations(tmp_path):
    kept = {
        "2.001": 2_001, '"2.001"': 2_001, "1e-3": 1, "0": 0, "1": 1_000,
        "null": None, '"long"': None, "-4": None, "18446744073709549.664": None, "1e300": None,
    }  # fmt: skip
    texts = [raw(f"a{i}", str(10 * i), dur) for i, dur in enumerate(kept)]
    with opened(document(*texts), tmp_path) as trace:
        assert trace.sql("SELECT dur FROM events ORDER BY id").to_pydict()["dur"] == list(kept.values())
        said = health(trace)
        assert [said[code] for code in ("durations-missing", "duration-negative", "duration-overflow")] == [2, 1, 2]


def test_events_without_a_time_are_counted(tmp_path):
    texts = [raw("a", "null"), raw("b", '"soon"'), op("c").replace('"ts"', '"when"'), op("d")]
    with opened(document(*texts), tmp_path) as trace:
        assert names(trace) == ["d"]
        assert health(trace) == {"events-untimed": 3}


def pairs(correlations: list[str]) -> list[str]:
    """Launches and their kernels, each with a correlation that is put into the text as it is."""
    texts = []
    for i, correlation in enumerate(correlations):
        launch = event("cuda_runtime", "cudaLaunchKernel", 10 + 100 * i, args={"correlation": "ID"})
        args = {"device": 0, "stream": 7, "correlation": "ID"}
        work = event("kernel", "gemm", 50 + 100 * i, pid=0, tid=7, args=args)
        texts += [text.replace('"ID"', correlation) for text in (launch, work)]
    return texts


def test_correlations_of_any_size(tmp_path):
    given = ["5", '"6"', "7.0", "4294967295", "9223372036854775807", "9223372036854775808", '"0x1f"',
             "18446744069414584319"]  # fmt: skip
    with opened(document(*pairs(given)), tmp_path) as trace:
        assert trace.sql("SELECT launch FROM kernels ORDER BY ts").to_pydict()["launch"] == list(range(0, 16, 2))


def test_correlations_that_are_none(tmp_path):
    given = ["0", "-1", "18446744073709551615", "null", '"none"', "1e40"]
    with opened(document(*pairs(given)), tmp_path) as trace:
        assert trace.sql("SELECT launch FROM kernels").to_pydict()["launch"] == [None] * 6
        assert health(trace)["kernels-without-launch"] == 6


def test_devices_and_streams(tmp_path):
    given: list[tuple[dict[str, Any], int | None, str]] = [
        ({"pid": 0, "tid": 7, "args": {"device": 0, "stream": 7}}, 0, "7"),
        ({"pid": 0, "tid": 0, "args": {"device": 0, "stream": 0}}, 0, "0"),
        ({"pid": "0", "tid": "stream 7", "args": {}}, 0, "7"),
        ({"pid": 1, "tid": 3, "args": {"device": "1", "stream": "3"}}, 1, "3"),
        ({"pid": 0, "tid": -1, "args": {"device": 0, "stream": -1}}, 0, "-1"),
        ({"pid": 2, "tid": 9, "args": {"device": 2, "sycl queue": "0x55aa"}}, 2, "0x55aa"),
        ({"pid": 2, "tid": 9, "args": {"device": 2, "l0 queue": "q"}}, 2, "q"),
        ({"pid": "GPU \u00b2", "tid": "main", "args": {}}, None, "main"),
        ({"pid": "--5", "tid": "x", "args": {}}, None, "x"),
        ({"pid": 0, "tid": 7, "args": {"device": 99999999999, "stream": 7}}, None, "7"),
    ]
    texts = [event("kernel", "gemm", 20 + 10 * i, **where) for i, (where, *_) in enumerate(given)]
    with opened(document(op(), *texts), tmp_path) as trace:
        found = trace.sql("SELECT device, stream FROM kernels ORDER BY ts").to_pylist()
        assert found == [{"device": device, "stream": stream} for _, device, stream in given]


def test_threads(tmp_path):
    given = [5, "6", "main thread", -3, 2**63, 0]
    texts = [text for tid in given for text in (op(tid=tid), op("child", 11, dur=1, tid=tid))]
    with opened(document(*texts), tmp_path) as trace:
        threads = trace.sql("SELECT thread FROM events JOIN tracks USING (rank, track) WHERE depth = 0 ORDER BY id")
        assert threads.to_pydict()["thread"] == [str(tid) for tid in given]
        parents = trace.sql("SELECT parent FROM events ORDER BY id").to_pydict()["parent"]
        assert parents == [parent for i in range(0, 12, 2) for parent in (None, i)]


def test_host_categories(tmp_path):
    given = [
        ("cpu_op", "aten::mm", "op"), ("Operator", "aten::mm", "op"), ("python_function", "f.py(1): g", "python"),
        ("python_function", "nn.Module: Linear_0", "module"), ("user_annotation", "loss", "annotation"),
        ("user_annotation", "ProfilerStep#3", "step"), ("cuda_runtime", "cudaLaunchKernel", "launch"),
        ("hip_runtime", "hipLaunchKernel", "launch"), ("xpu_runtime", "urEnqueueKernelLaunch", "launch"),
        ("cuda_driver", "cuLaunchKernelEx", "launch"), ("privateuse1_runtime", "aclrtSynchronizeStream", "sync"),
        ("Runtime", "cudaMalloc", "runtime"), ("overhead", "Lazy Init", "overhead"), ("", "whatever", "other"),
        ("new_category", "x", "other"),
    ]  # fmt: skip
    texts = [event(cat, name, 10 * i) for i, (cat, name, _) in enumerate(given)]
    with opened(document(*texts), tmp_path) as trace:
        found = trace.sql("SELECT category FROM events ORDER BY id").to_pydict()["category"]
        assert found == [category for *_, category in given]


def test_device_categories(tmp_path):
    given = [
        ("kernel", "ampere_sgemm", "compute"), ("Kernel", "ampere_sgemm", "compute"),
        ("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "comm"), ("gpu_memcpy", "Memcpy HtoD", "copy"),
        ("Memcpy", "Memcpy HtoD", "copy"), ("gpu_memset", "Memset", "set"), ("cuda_sync", "Stream Sync", "sync"),
        ("privateuse1_kernel", "MatMulV2", "compute"), ("mtia_ccp_events", "fc", "compute"),
    ]  # fmt: skip
    where: dict[str, Any] = {"pid": 0, "tid": 7, "args": {"device": 0, "stream": 7}}
    texts = [event(cat, name, 20 + 10 * i, **where) for i, (cat, name, _) in enumerate(given)]
    with opened(document(op(), *texts), tmp_path) as trace:
        found = trace.sql("SELECT kind FROM kernels ORDER BY ts").to_pydict()["kind"]
        assert found == [kind for *_, kind in given]


def test_begin_and_end_events_become_intervals(tmp_path):
    def end_point(ph: str, name: str, ts: float) -> str:
        return json.dumps({"ph": ph, "name": name, "cat": "cpu_op", "pid": 1, "tid": 1, "ts": ts, "args": {"n": name}})

    texts = [
        end_point("E", "before", 1), end_point("B", "outer", 2), end_point("B", "inner", 3),
        end_point("E", "inner", 4), end_point("E", "outer", 6), end_point("B", "open", 7),
    ]  # fmt: skip
    with opened(document(*texts), tmp_path) as trace:
        assert trace.sql("SELECT name, ts, dur, depth FROM events ORDER BY id").to_pylist() == [
            {"name": "outer", "ts": 0, "dur": 4_000, "depth": 0},
            {"name": "inner", "ts": 1_000, "dur": 1_000, "depth": 1},
            {"name": "open", "ts": 5_000, "dur": None, "depth": 0},
        ]
        assert trace.scalar("SELECT args->>'$.n' FROM events WHERE name = 'outer'") == "outer"
        assert trace.scalar("SELECT count FROM health WHERE code = 'ends-unmatched'") == 1


def test_counters_instants_and_foreign_events(tmp_path):
    texts = [
        op(),
        json.dumps({"ph": "C", "name": "power", "pid": 1, "ts": 11, "args": {"W": 300.5, "bad": "x"}}),
        json.dumps({"ph": "i", "name": "mark", "pid": 1, "tid": 1, "ts": 12, "s": "t"}),
        *(json.dumps({"ph": ph, "name": "a", "cat": "x", "id": 1, "pid": 1, "tid": 1, "ts": 13}) for ph in "bneNODP"),
        json.dumps({"ph": "Q", "name": "new", "ts": 14}),
        json.dumps({"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "main"}}),
    ]
    with opened(document(*texts), tmp_path) as trace:
        assert names(trace) == ["aten::mm", "mark"]
        assert trace.sql("SELECT ts, name, value FROM counters").to_pylist() == [
            {"ts": 1_000, "name": "power W", "value": 300.5}
        ]
        assert trace.sql("SELECT label FROM tracks WHERE kind = 'host'").to_pydict()["label"] == ["main"]
        assert trace.scalar("SELECT count FROM health WHERE code = 'events-foreign'") == 8


def test_allocations(tmp_path):
    args = {
        "Device Type": 1,
        "Device Id": 0,
        "Addr": 140000000000000,
        "Bytes": -512,
        "Total Allocated": 0,
        "Total Reserved": 99,
    }
    instant = {"ph": "i", "name": "[memory]", "cat": "cpu_instant_event", "pid": 1, "tid": 1, "ts": 12, "args": args}
    with opened(document(op(), json.dumps(instant)), tmp_path) as trace:
        assert trace.sql("SELECT ts, device, bytes, reserved, owner FROM memory").to_pylist() == [
            {"ts": 2_000, "device": 0, "bytes": -512, "reserved": 99, "owner": 0}
        ]


def test_keys_given_twice_and_odd_types_are_no_obstacle(tmp_path):
    texts = [
        '{"ph":"X","ph":"X","name":"twice","name":"again","pid":1,"tid":1,"ts":1,"dur":1}',
        '{"ph":"X","name":5,"cat":null,"pid":{"a":1},"tid":[1],"ts":2,"dur":1,"args":"text"}',
        '{"ph":"X","name":["a"],"pid":1,"tid":1,"ts":3,"dur":1,"args":[1,2]}',
        '{"ph":"X","pid":1,"tid":1,"ts":4,"dur":1,"args":null}',
        '{"ph":"X","name":"null \\u0000 inside","pid":1,"tid":1,"ts":5,"dur":1}',
    ]
    with opened(document(*texts), tmp_path) as trace:
        assert names(trace)[:2] == ["twice", "5"]
        assert len(names(trace)) == 5
        assert names(trace)[4] == "null \0 inside"


@pytest.mark.parametrize(
    "text",
    [
        "", "{}", "[]", "hello", "[1, 2, 3]", '{"a": 1}', '{"ph": "of water is 7"}', '{"traceEvents": []}',
        '{"traceEvents": [{}]}', '{"traceEvents": null}', '[{"ph": "M", "name": "x"}]',
    ],
)  # fmt: skip
def test_what_is_no_trace_is_refused_in_one_sentence(text, tmp_path):
    (tmp_path / "trace.json").write_text(text)
    check_unusable(tmp_path / "trace.json")


def test_the_base_of_times_is_added_to_the_origin(tmp_path):
    for position in ("before", "after"):
        base = '"baseTimeNanoseconds": 1700000000000000000'
        header = "{" + (base + ", " if position == "before" else "") + '"traceEvents": ['
        tail = "]" + (", " + base if position == "after" else "") + "}"
        with opened(document(op(ts=10.5), header=header, tail=tail), tmp_path) as trace:
            assert trace.recordings[0].origin_unix_ns == 1_700_000_000_000_010_500


def test_the_other_rank_of_a_send_or_receive(tmp_path):
    given = [
        ("send", {"Rank": 1, "Dst Rank": 5}, 5),
        ("recv", {"Rank": 0, "Src Rank": 3}, 3),
        ("recv", {"Src Rank": "3", "Dst Rank": 5}, 3),
        ("send", {"Src Rank": 3}, None),
        ("send", {"Dst Rank": -1}, None),
        ("send", {"Dst Rank": 1 << 40}, None),
        ("allreduce", {"Dst Rank": 5}, None),
    ]
    texts = []
    for i, (name, recorded, _) in enumerate(given):
        args = {"Collective name": name, "device": 0, "stream": 20, "correlation": 7 + i, "dtype": "Half", **recorded}
        texts.append(event("kernel", "ncclDevKernel_SendRecv", 10 + 10 * i, pid=0, tid=20, args=args))
    with opened(document(*texts), tmp_path) as trace:
        rows = trace.rows("SELECT peer FROM collectives ORDER BY event")
        assert [row["peer"] for row in rows] == [peer for *_, peer in given]


@pytest.mark.parametrize(
    ("name", "repaired"), [(b"a b", 0), ("ä".encode(), 0), (b"a\x01b", 1), (b"a\xffb", 1)],
    ids=["as it should be", "beyond ASCII", "a control character", "no UTF-8"],
)  # fmt: skip
def test_what_has_to_be_changed_is_repaired(name: bytes, repaired: int) -> None:
    reading = read_cleaned(b'{"ph": "X", "name": "' + name + b'", "ts": 1},\n')
    assert (len(reading.events), reading.repaired) == (1, repaired)


def test_the_recorder_s_own_end_is_no_event(tmp_path):
    stopped = json.dumps({"ph": "i", "name": "Record Window End", "pid": "", "tid": "", "ts": 9_000, "s": "g"})
    with opened(document(op(ts=10), stopped), tmp_path) as trace:
        assert names(trace) == ["aten::mm"]
        assert trace.scalar("SELECT count(*) FROM memory") == 0


@pytest.mark.parametrize("written", ["", "aten::mm", 'a"b', "a\\b", "é", "a\x7fb", "a\nb", "\u2028"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_string_is_its_text_however_it_is_written(written: str, ascii_only: bool) -> None:
    assert values.text(json.dumps(written, ensure_ascii=ascii_only).encode()) == written


@pytest.mark.parametrize("written", [b'"a\tb"', b'"a"b"', b'"a'])
def test_what_is_no_json_is_kept_as_written(written: bytes) -> None:
    assert values.text(written) == written.decode()
