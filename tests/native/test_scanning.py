"""Scanning against Python's parser, on random objects and on text that is cut or changed anywhere."""

from __future__ import annotations

import json
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.native.scanning import ABSENT, ODD, Kind, Rows, ScanLayout, ScanMember, Scanner

LAYOUT = ScanLayout(
    (ScanMember("ph", Kind.TEXT), ScanMember("name", Kind.TEXT), ScanMember("ts", Kind.THOUSANDTHS),
     ScanMember("id", Kind.INTEGER), ScanMember("inside", Kind.INTEGER, inner=True)),
    "args",
    {"kind": ("ph", "name")},
)  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=20)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)
OBJECTS = st.fixed_dictionaries(
    {"ph": st.sampled_from(["X", "M", "long"])},
    optional={
        "name": st.text(max_size=40), "ts": st.integers(-(10**14), 10**14), "id": st.integers(-(10**17), 10**17),
        "args": st.dictionaries(st.sampled_from(["inside", "other", "ph"]), VALUES, max_size=3), "more": VALUES,
    },
)  # fmt: skip


def scan(text: bytes, most_rows: int = 1000, *, ended: bool = True, closed: bool = False) -> list[Rows]:
    scanner = Scanner(LAYOUT, most_rows)
    scanner.room(len(text))[: len(text)] = np.frombuffer(text, np.uint8)
    found, position = [], 0
    while position < len(text):
        found.append(scanner.scan(position, len(text), ended=ended, closed=closed, patience=1 << 20))
        if found[-1].cut:
            break
        assert found[-1].stop > position
        position = found[-1].stop
    return found


def is_object(text: bytes) -> bool:
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, dict) and value.get("ph") is not None


@given(st.lists(OBJECTS, max_size=12), st.booleans(), st.sampled_from([None, 1]), st.integers(1, 5))
def test_objects_come_back(objects: list[dict], ascii_only: bool, indent: int | None, most_rows: int) -> None:
    text = ",\n".join(json.dumps(one, ensure_ascii=ascii_only, indent=indent) for one in objects)
    batches = scan(text.encode("utf-8", "replace"), most_rows)
    names, ts, ids, args = [], [], [], []
    for rows in batches:
        assert not rows.broken.any()
        kind = rows.combined["kind"]
        names += [kind.texts[number] for number in kind.numbers.tolist()]
        ts += rows.numbers["ts"].tolist()
        ids += rows.numbers["id"].tolist()
        edges = rows.inner_offsets.tolist()
        args += [bytes(rows.inner_text[low:high]) for low, high in pairwise(edges)]
    assert [json.loads(ph) for ph, _ in names] == [one["ph"] for one in objects]
    assert [None if name is None else json.loads(name) for _, name in names] == [one.get("name") for one in objects]
    assert ts == [1000 * one["ts"] if "ts" in one else ABSENT for one in objects]
    assert ids == [one.get("id", ABSENT) for one in objects]
    assert [json.loads(one or "{}") for one in args] == [one.get("args", {}) for one in objects]


@given(st.lists(OBJECTS, min_size=1, max_size=3), st.data())
def test_text_changed_anywhere_is_an_object_only_if_python_agrees(objects: list[dict], data: st.DataObject) -> None:
    text = bytearray(",".join(json.dumps(one) for one in objects).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(
            st.sampled_from(b'{}[]",:\\ux0-.eE \n\0\x7f\xc3\xff')
        )
    for rows in scan(bytes(text)):
        for start, end, broken in zip(rows.start.tolist(), rows.end.tolist(), rows.broken.tolist(), strict=True):
            assert is_object(bytes(text[start:end])) or broken


def test_text_cut_at_every_byte_gives_the_whole_objects_before() -> None:
    text = b'{"ph": "X", "name": "\\u00e9\xc3\xa9", "ts": 1.5, "args": {"a": [true, {"b": 1e3}]}}, {"ph": "i"}'
    first = text.index(b"}}},") + 3 if b"}}}," in text else text.index(b"}]}}") + 4
    for cut in range(len(text)):
        whole = (cut >= first) + (cut >= len(text))
        for ended in (False, True):
            batches = scan(text[:cut], ended=ended)
            assert sum(int((~rows.broken).sum()) for rows in batches) == whole
            left = text[first if whole else 0 : cut].strip(b", ")
            assert any(rows.cut for rows in batches) == (not ended and bool(left))


@pytest.mark.parametrize(
    ("written", "thousandths"),
    [
        ("1", 1000), ("-1.5", -1500), ("0.0004", 0), ("0.0005", 1), ("-0.0015", -2), ('"12.25"', 12250), ("1e3", ODD),
        ("999999999999999.999", 999999999999999999), ("1661203463509099.25", 1661203463509099250),
        ("-8999999999999999.9995", -(9 * 10**18)), ("9000000000000000", ODD), ("9999999999999999.9", ODD),
        ("12345678901234567", ODD), ("null", ABSENT), ("true", ODD),
        ('"x"', ODD), ("NaN", ODD), ("-Infinity", ODD), ('""', ODD), ('"-"', ODD), ('"5."', ODD), ("[1]", ODD),
    ],
)  # fmt: skip
def test_fractions(written: str, thousandths: int) -> None:
    [rows] = scan(f'{{"ph":1,"ts":{written}}}'.encode())
    assert rows.numbers["ts"].tolist() == [thousandths]
    assert rows.odd == ([(0, "ts", written.encode())] if thousandths == ODD else [])


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("0", 0), ("-7", -7), ('"42"', 42), ("999999999999999999", 10**18 - 1), ("1000000000000000000", ODD),
        ("1.0", ODD), ('"007"', ODD), ("-0", 0), ('"0x1f"', ODD),
    ],
)  # fmt: skip
def test_integers(written: str, number: int) -> None:
    [rows] = scan(f'{{"ph":1,"id":{written}}}'.encode())
    assert rows.numbers["id"].tolist() == [number]


@pytest.mark.parametrize(
    "text",
    [
        b'"\xff"', b'"\xc0\x80"', b'"\xed\xa0\x80"', b'"\xf4\x90\x80\x80"', b'"\xe2\x82"', b'"\\x"', b'"\\ud800"',
        b'"\\udc00"', b'"\\ud800\\u0041"', b'"\\u12g4"', b'"\n"', b'"\0"', b"01", b"1.", b".5", b"+1", b"1e", b"tru",
        b"[1,]", b"[1 2]", b'{"a":1,}', b'{"a" 1}', b"{1:2}", b"[", b"{", b"]", b"}", b"", b"-",
        b"[" * 20_000 + b"]" * 20_000,
    ],
)  # fmt: skip
def test_values_that_are_none(text: bytes) -> None:
    batches = scan(b'{"ph":"X","more":' + text + b'},{"ph":"Y"}')
    assert [bool(one) for rows in batches for one in rows.broken] in ([True, False], [True, True, False], [True])


@pytest.mark.parametrize("text", [b'"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"', b'"\\ud83d\\ude00\\/"', b"-0.5e+7", b"nan",
                                  b"[" * 5000 + b"]" * 5000, b'{"a":{},"b":[]}'])  # fmt: skip
def test_values_that_are_some(text: bytes) -> None:
    [rows] = scan(b'{"ph":"X","more":' + text + b"}")
    assert rows.broken.tolist() == [False]


def test_a_list_of_objects_without_the_first_member_is_searched() -> None:
    [rows] = scan(b'{"x":[{"a":1},{"ph":"X"}]},{"ph":"Y"}')
    assert rows.broken.tolist() == [True, False, True, False] or rows.broken.tolist() == [True, False, True]


def test_noise_takes_time_in_proportion() -> None:
    """Every object looks as if it held all that follows."""
    text = b'{"x":[{"a":1},{"b":2},' * 100_000
    rows = scan(text, 1 << 16)
    assert sum(int(one.broken.sum()) for one in rows) > 10_000


def test_random_bytes_trap_nothing() -> None:
    chosen = random.Random(5)
    letters = b'{}[]",:\\0123456789.eE-truefalsnx \n\t\xc3\xa9\xff\0'
    for size in range(0, 400):
        text = bytes(chosen.choice(letters) for _ in range(size))
        for ended, closed in ((False, False), (False, True), (True, False)):
            scan(text, 3, ended=ended, closed=closed)
