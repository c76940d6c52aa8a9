"""Text that is no JSON: every event that can be read is read, and what was mended or lost is counted."""

from __future__ import annotations

import pytest

from readers.kineto_text import HEADER, document, health, names, op, opened, read
from stepscope.ingest import recognise
from stepscope.readers.kineto import mending
from stepscope.readers.kineto.reader import KinetoReader
from stepscope.readers.kineto.repair import Reading, repair

pytestmark = pytest.mark.series

GOOD = op("good", 20)


def bare(name: str) -> str:
    """An operator whose name is put between the quotes as it is."""
    return op("NAME").replace("NAME", name)


def test_names_that_nobody_escaped(tmp_path):
    kept = {
        r"C:\models\new\resnet.py": r"C:\models\new\resnet.py",
        r"C:\users\me": r"C:\users\me",
        r"\\server\share\x": r"\\server\share\x",
        "C:\\dir\\": "C:\\dir\\",
        r"a \"quoted\" C:\path": r'a "quoted" C:\path',
        "tab\there\x01": "tab here ",
        "line\nbreak": "line break",
        'call "fx_0" here': 'call "fx_0" here',
        '"all"': '"all"',
        'f(a, "b", c)': 'f(a, "b", c)',
        r"half \ud83d of a pair": "half \ufffd of a pair",
        r"a pair \ud83d\ude00 of C:\d": r"a pair \ud83d\ude00 of C:\d",
    }
    with read(document(*map(bare, kept), GOOD), tmp_path) as trace:
        assert names(trace) == [*kept.values(), "good"]
        assert health(trace) == {"events-repaired": 12}
        assert trace.sql("SELECT ts, dur FROM events ORDER BY id").to_pylist()[-1] == {"ts": 10_000, "dur": 5_000}


@pytest.mark.parametrize("phase", ['"ph"0: "X"', '"ph" "X"', '"ph": 0"X"'])
def test_an_event_whose_phase_is_broken_is_counted_as_lost(phase, tmp_path):
    with read(document(op("before", 5), op("broken").replace('"ph": "X"', phase), GOOD), tmp_path) as trace:
        assert names(trace) == ["before", "good"]
        assert health(trace) == {"events-lost": 1}


def test_names_that_are_not_utf8(tmp_path):
    text = document(bare("BAD"), GOOD).encode().replace(b"BAD", b"\xff\xfe caf\xc3\xa9 \xc3")
    with read(text, tmp_path) as trace:
        assert names(trace) == ["\ufffd\ufffd caf\u00e9 \ufffd", "good"]
        assert health(trace) == {"events-repaired": 1}


def test_values_that_are_no_json(tmp_path):
    kept = {
        "+7": "7", "007": "7", ".5": "0.5", "0x10": "16", "True": "true", "bare words": '"bare words"',
        "[1,,2]": "[1,2]", "[1,2,]": "[1,2]", '{"a":1,}': '{"a":1}',
    }  # fmt: skip
    none = ["N/A", "", "None", "-nan(ind)", "1.#INF", "undefined"]
    texts = [op("odd", args={"x": "VALUE", "y": 2}).replace('"VALUE"', value) for value in (*kept, *none)]
    with read(document(*texts, GOOD), tmp_path) as trace:
        assert names(trace) == ["odd"] * 15 + ["good"]
        query = "SELECT args->'$.x' AS x, args->>'$.y' AS y FROM events WHERE name = 'odd' ORDER BY id"
        found = trace.sql(query).to_pydict()
        assert found["x"][:9] == list(kept.values())
        assert set(found["x"][9:]) <= {None, "null"}
        assert found["y"] == ["2"] * 15
        assert health(trace).keys() == {"events-repaired"}


def test_numbers_that_are_none(tmp_path):
    given = ["NaN", "Infinity", "-Infinity", "nan"]
    texts = [op("odd", dur="VALUE", args={"x": "VALUE"}).replace('"VALUE"', value) for value in given]
    with read(document(*texts, GOOD), tmp_path) as trace:
        assert trace.sql("SELECT dur FROM events ORDER BY id").to_pydict()["dur"] == [None] * 4 + [5_000]


@pytest.mark.parametrize(
    "text",
    [
        document(GOOD, GOOD.replace("20", "30")).replace("\n", "\r\n"),
        "\ufeff" + document(GOOD, GOOD.replace("20", "30")),
        document(GOOD, GOOD.replace("20", "30"), tail=',\n], "x": 1}'),
        document(GOOD, GOOD.replace("20", "30") + ","),
        HEADER + GOOD + GOOD.replace("20", "30") + "]}",
        HEADER + GOOD + "\n" + GOOD.replace("20", "30") + "]}",
        HEADER + GOOD + ",,\n" + GOOD.replace("20", "30") + "]}",
        HEADER + "," + GOOD + "," + GOOD.replace("20", "30") + "]}",
        "[" + GOOD + "," + GOOD.replace("20", "30"),
        "[" + GOOD + "," + GOOD.replace("20", "30") + ",",
        "[\n" + GOOD + "\n,\n" + GOOD.replace("20", "30") + "\n]\n",
        GOOD + "\n" + GOOD.replace("20", "30") + "\n",
        '{"outer": {"deep": {"traceEvents": [' + GOOD + "," + GOOD.replace("20", "30") + "]}}, \"x\": [{}]}",
        '{"traceEvents":[' + GOOD + "," + GOOD.replace("20", "30") + '],"deviceProperties":[{"id":0},{"id":1}]}',
    ],
)  # fmt: skip
def test_structures_that_hold_the_same_two_events(text, tmp_path):
    with read(text, tmp_path) as trace:
        assert trace.sql("SELECT name, ts, dur FROM events ORDER BY ts").to_pylist() == [
            {"name": "good", "ts": 0, "dur": 5_000}, {"name": "good", "ts": 10_000, "dur": 5_000}
        ]  # fmt: skip
        assert not {"events-lost", "truncated"} & set(health(trace))


def test_what_stands_after_the_events_counts_too(tmp_path):
    tail = (
        '], "deviceProperties": [{"id": 0, "name": "A"}, {"id": 1, "name": "B"}], '
        '"distributedInfo": {"rank": 5, "pg_config": [{"pg_name": "0", "ranks": [0, 1]}, {"pg_name": "1"}]}, '
        '"baseTimeNanoseconds": 1700000000000000000, "note": "},{ ]"}'
    )
    with opened(document(GOOD, header='{"traceEvents": [', tail=tail), tmp_path) as trace:
        assert trace.ranks == (5,)
        assert trace.sql("SELECT name FROM devices ORDER BY device").to_pydict()["name"] == ["A", "B"]
        assert trace.scalar("SELECT count(*) FROM groups") == 2
        assert trace.recordings[5].origin_unix_ns == 1_700_000_000_000_000_000 + 20_000


def test_what_stands_around_the_events_may_be_broken(tmp_path):
    header = (
        '{"user": "C:\\me", "broken": "say "hi" x, "deviceProperties": [{"id": 0, "name": "A"}], '
        '"distributedInfo": {"rank": 5}, "traceEvents": [\n'
    )
    with read(document(GOOD, header=header), tmp_path) as trace:
        assert trace.ranks == (5,)
        assert trace.sql("SELECT name FROM devices").to_pydict()["name"] == ["A"]
        assert health(trace) == {"metadata-damaged": 1}


def test_objects_in_arguments_are_no_events(tmp_path):
    nested = op("nested", args={"list": [{"a": i, "deep": [{"x": 1}, {"y": "},{"}]} for i in range(300)], "z": 7})
    with read(document(GOOD, nested, op("last", 50)), tmp_path) as trace:
        assert names(trace) == ["good", "nested", "last"]
        assert trace.scalar("SELECT json_array_length(args, '$.list') FROM events WHERE name = 'nested'") == 300
        assert trace.scalar("SELECT args->>'$.list[1].deep[1].y' FROM events WHERE name = 'nested'") == "},{"
        assert health(trace) == {}


def test_arguments_may_come_first_and_last(tmp_path):
    first = '{"args": {"list": [{"a": 1}, {"a": 2}], "ts": 99}, "ts": 30.5, "dur": 1, "name": "x", "ph": "X", "tid": 1}'
    with read(document(GOOD, first, op("last", 50)), tmp_path) as trace:
        assert names(trace) == ["good", "x", "last"]
        assert trace.scalar("SELECT ts FROM events WHERE name = 'x'") == 10_500


@pytest.mark.parametrize("name", ["a},{b", "}, {", "a}{b", "},\\n{", ']}, {\\"ph\\": \\"X\\"', '} ] , \\"x\\" : ['])
def test_names_that_look_like_the_end_of_an_event(name, tmp_path):
    with read(document(GOOD, bare(name), op("last", 50)), tmp_path) as trace:
        want = name.encode().decode("unicode_escape")
        assert [n.replace("},\t{", "},\n{") for n in names(trace)] == ["good", want, "last"]
        assert health(trace) == {}


def test_a_broken_event_with_objects_inside(tmp_path):
    nested = bare("C:\\me").replace("}", ', "args": {"list": [{"a": "C:\\x"}, {"a": 2}]}}')
    with read(document(GOOD, nested, op("last", 50)), tmp_path) as trace:
        assert names(trace) == ["good", "C:\\me", "last"]
        assert health(trace) == {"events-repaired": 1}


def test_an_event_that_cannot_be_read_is_counted_and_the_rest_is_there(tmp_path):
    wreck = '{"ph": "X", "name": "wreck", "ts": {{{, "dur": 1}'
    with read(document(GOOD, wreck, op("last", 50)), tmp_path) as trace:
        assert names(trace) == ["good", "last"]
        assert health(trace) == {"events-lost": 1}


def test_a_bracket_inside_a_broken_event_does_not_end_the_list(tmp_path):
    wreck = '{"ph": "X", "name": "wreck", "args": {"a": [{"b": 1}], "c": [1}], "dur": 1}'
    with read(document(GOOD, wreck, op("last", 50), op("very last", 60)), tmp_path) as trace:
        assert names(trace) == ["good", "last", "very last"]
        assert health(trace) == {"events-lost": 1}
        assert trace.ranks == (3,)


def test_separators_that_were_overwritten(tmp_path):
    text = (
        document(GOOD, op("a", 30), op("b", 40), op("c", 50)).replace("},\n{", "}x\n{", 1).replace("},\n{", "},\nx", 1)
    )
    with read(text, tmp_path) as trace:
        assert names(trace) == ["good", "a", "c"]
        assert health(trace)["events-lost"] >= 1


@pytest.mark.parametrize("separator", ["]\n", ",]  ", "]", "],["])
def test_a_bracket_between_events_does_not_end_the_list(separator, tmp_path):
    text = document(GOOD, op("a", 30), op("b", 40)).replace("},\n", "}" + separator, 1)
    with read(text, tmp_path) as trace:
        assert names(trace) == ["good", "a", "b"]
        assert trace.ranks == (3,)


def test_bytes_that_are_not_utf8_in_the_midst_of_a_long_recording(tmp_path, monkeypatch):
    """A chunk that is not the last one is parsed at once; only when that fails is it mended."""
    monkeypatch.setattr(recognise, "READERS", (KinetoReader(block_bytes=500, chunk_bytes=1_000),))
    text = document(*(op(f"event {i}", 10 + i) for i in range(60))).encode().replace(b"event 9", b"event \xff9")
    with opened(text, tmp_path) as trace:
        assert names(trace) == [f"event {i}".replace("event 9", "event \ufffd9") for i in range(60)]


def test_the_last_event_may_be_broken(tmp_path):
    with read(document(GOOD, '{"ph": "X", "name": "wreck", "ts" 5}'), tmp_path) as trace:
        assert names(trace) == ["good"]
        assert health(trace) == {"events-lost": 1}
        assert trace.ranks == (3,)


def test_a_key_that_was_overwritten_leaves_the_events(tmp_path):
    text = document(GOOD, op("last", 50)).replace('"traceEvents"', '"traceEvxnts"')
    with read(text, tmp_path) as trace:
        assert names(trace) == ["good", "last"]


def test_two_traces_in_one_file(tmp_path):
    with read(document(GOOD) + "\n" + document(op("second", 30), op("third", 40)), tmp_path) as trace:
        assert names(trace) == ["good", "second", "third"]


def test_every_event_broken_in_the_same_way(tmp_path):
    events = [bare(rf"C:\models\{i}").replace('"ts": 10', f'"ts": {10 + i}') for i in range(500)]
    with read(document(*events), tmp_path) as trace:
        assert names(trace) == [rf"C:\models\{i}" for i in range(500)]
        assert health(trace) == {"events-repaired": 500}


@pytest.mark.parametrize(
    "text",
    [
        document(GOOD, "{" * 5_000),
        document(GOOD, op("x", args="A").replace('"A"', "[" * 5_000)),
        document(GOOD, op("x", args="A").replace('"A"', "[" * 5_000 + "]" * 5_000)),
        document(GOOD, op("x", args={"n": "A"}).replace('"A"', "9" * 6_000)),
        document(GOOD, "}{" * 3_000),
        document(GOOD, '{"ph":' * 2_000),
    ],
)
def test_hostile_text_is_no_obstacle(text, tmp_path):
    with read(text, tmp_path) as trace:
        assert "good" in names(trace)


def test_noise_is_looked_at_once(tmp_path, monkeypatch):
    """Each is followed by all others, none of which is an event."""
    looked_at = 0

    def counting(segment: bytes) -> bool:
        nonlocal looked_at
        looked_at += 1
        return starts_event(segment)

    starts_event = mending.starts_event
    monkeypatch.setattr(mending, "starts_event", counting)
    with read(document(GOOD, *['{"x": y z}'] * 500, op("last", 50)), tmp_path) as trace:
        assert names(trace) == ["good", "last"]
    assert 0 < looked_at < 1000


def test_noise_takes_no_more_than_a_few_readings(tmp_path, monkeypatch):
    """As of a packed file of which a byte was changed: every segment looks as if it held all that follows."""
    noise = '{"x":[{"a":1},{"b":2},' * 300
    read_bytes = 0

    def counting(segment: bytes) -> Reading:
        nonlocal read_bytes
        read_bytes += len(segment)
        return repair(segment)

    monkeypatch.setattr(mending, "repair", counting)
    monkeypatch.setattr(mending, "_PATIENCE", len(noise))
    with read(document(GOOD, noise, op("last", 50)), tmp_path) as trace:
        assert names(trace) == ["good", "last"]
    assert read_bytes < 4 * len(noise)
