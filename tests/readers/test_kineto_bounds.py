"""Text that is made to take long or much memory: each limit is met with small texts, and nothing beside it is lost."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from readers.kineto_text import document, health, names, op, opened, read
from stepscope.model.sizes import SIZES
from stepscope.readers.content import from_blocks
from stepscope.readers.kineto.events import EventReader, layout

pytestmark = pytest.mark.series

MANY = [op(f"n{number}", 10.0 * number) for number in range(400)]
NAMES = [f"n{number}" for number in range(400)]
LONG = op("long", 5, args={"text": "y" * 20_000})


def names_by_blocks(text: bytes, block: int) -> tuple[EventReader, list[str]]:
    """Names of all events of a text that is read and scanned in blocks of so many bytes."""
    blocks = (text[place : place + block] for place in range(0, len(text), block))
    reader = EventReader(from_blocks(blocks), layout(), block, block)
    found = []
    for events in reader:
        found += events.texts("kind", 2, np.arange(len(events))).to_pylist()
    return reader, found


@pytest.mark.parametrize("between", [" " * 300_000, ", " * 150_000, "\n" * 70 + "," + "\t" * 300_000])
def test_much_between_two_events_is_passed_over(tmp_path: Path, between: str) -> None:
    text = document(*MANY[:200]).rpartition("}\n]")[0] + "}," + between + ",".join(MANY[200:]) + "]}"
    with read(text, tmp_path) as trace:
        assert names(trace) == NAMES
        assert health(trace) == {}


def test_much_space_within_a_broken_event_is_passed_over(tmp_path: Path) -> None:
    broken = op("broken", 5).replace(":", ":" + "\t" * 300_000, 1).replace('"dur": 5', '"dur": N/A')
    with read(document(*MANY, broken), tmp_path) as trace:
        assert names(trace) == [*NAMES, "broken"]


@pytest.mark.parametrize("at", [0, 1, 200, 399, 400])
@pytest.mark.parametrize("block", [7_000, 8 << 20])
def test_an_event_that_is_too_long_costs_that_event(tmp_path: Path, at: int, block: int) -> None:
    text = document(*MANY[:at], LONG, *MANY[at:]).encode()
    with SIZES.changed(event_bytes=10_000):
        reader, found = names_by_blocks(text, block)
        assert reader.text.lost == 1
        assert found == NAMES
        with read(text, tmp_path) as trace:
            assert names(trace) == NAMES
            assert health(trace) == {"events-lost": 1}


def test_an_event_that_is_too_long_and_cut_is_both(tmp_path: Path) -> None:
    with SIZES.changed(event_bytes=10_000), read(document(*MANY, LONG)[:-10_000], tmp_path) as trace:
        assert names(trace) == NAMES
        assert health(trace) == {"events-lost": 1, "truncated": 1}


def test_objects_that_are_no_events_are_passed_over_alike(tmp_path: Path) -> None:
    text = document(*MANY[:200], "{},{}" + ',{"a":1}' * 50, *MANY[200:])
    with read(text, tmp_path) as trace:
        assert names(trace) == NAMES
        assert health(trace) == {"events-foreign": 52}


@pytest.mark.parametrize("block", [1_000, 1_001, 1_002, 20_000])
def test_blocks_of_nothing_but_such_objects_lose_none(block: int) -> None:
    text = document(*MANY[:200], "{}," * 30_000 + MANY[200], *MANY[201:]).encode()
    with SIZES.changed(event_bytes=900):
        reader, found = names_by_blocks(text, block)
    assert reader.text.lost == 0
    assert reader.text.others == 30_000
    assert found == NAMES


def test_an_event_keeps_the_short_objects_in_its_arguments(tmp_path: Path) -> None:
    listing = op("list", 5, args={"of": [{"a": 1}, {"b": 2}, {"c": 3}]})
    with read(document(listing, *MANY), tmp_path) as trace:
        [args] = trace.sql("SELECT args FROM events WHERE name = 'list'").column(0).to_pylist()
        assert '"b"' in args


@pytest.mark.parametrize(("segments", "events"), [(1, 40), (7, 400), (399, 400), (400, 400), (401, 400)])
def test_a_chunk_holds_so_many_segments(tmp_path: Path, segments: int, events: int) -> None:
    with SIZES.changed(chunk_segments=segments), read(document(*MANY[:events]), tmp_path) as trace:
        assert names(trace) == NAMES[:events]
        assert health(trace) == {}


def test_three_million_empty_objects_take_seconds_and_no_memory(tmp_path: Path) -> None:
    """9 MB of text; each took 7.5 µs and some 350 bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    began = time.process_time()
    with opened(document(*MANY[:200], "{}," * 3_000_000 + MANY[200], *MANY[201:]), tmp_path) as trace:
        assert names(trace) == NAMES
    assert time.process_time() - began < 10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit - before < 600 << 20


@pytest.mark.parametrize("after", [False, True])
def test_of_very_much_around_the_events_what_counts_is_read(tmp_path: Path, after: bool) -> None:
    many = "".join(f'"k{number}": {{"a": [{number}]}}, ' for number in range(2_000))
    known = '"distributedInfo": {"rank": 3, "world_size": 4}, "schemaVersion": 1'
    members = [f'"traceEvents": [{", ".join(MANY)}]', many + known]
    text = "{" + ", ".join(members if after else reversed(members)) + "}"
    with SIZES.changed(metadata_bytes=10_000), opened(text, tmp_path) as trace:
        assert names(trace) == NAMES
        assert health(trace) == {}
        [recording] = trace.recordings.values()
        assert (recording.rank, recording.world_size) == (3, 4)
        assert recording.attributes == {"schemaVersion": 1}


def test_what_is_too_large_around_the_events_is_said(tmp_path: Path) -> None:
    large = '"distributedInfo": {"rank": 3, "pg_config": [' + "1, " * 20_000 + "1]}"
    text = f'{{{large}, "traceEvents": [{", ".join(MANY)}]}}'
    with SIZES.changed(metadata_bytes=10_000), read(text, tmp_path) as trace:
        assert names(trace) == NAMES
        assert health(trace) == {"metadata-damaged": 1}


def test_events_that_begin_late_are_not_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from stepscope.model.errors import UnusableInputError
    from stepscope.readers.kineto import event_list

    monkeypatch.setattr(event_list, "HEADER_LIMIT", 1 << 20)
    text = '{"note": "' + "x" * (9 << 20) + f'", "traceEvents": [{", ".join(MANY)}]}}'
    with pytest.raises(UnusableInputError, match="no events begin in its first"), read(text, tmp_path):
        pass
