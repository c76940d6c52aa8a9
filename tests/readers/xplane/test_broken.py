"""XSpaces that are cut, altered or made to hurt: what is whole is read, and all else is counted."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from readers.conformance import check_damaged
from readers.xplane.xspaces import PlaneWriter, jax_job, message, of, varint, xspace
from stepscope.model.trace import Trace
from stepscope.readers.xplane.lines import PlaneLine
from stepscope.readers.xplane.reader import XplaneReader
from stepscope.readers.xplane.wire import BrokenError, CutError, WireLosses, fields

WHOLE = jax_job(6)


def times(trace: Trace) -> Counter[tuple[int, int]]:
    return Counter((row["ts"], row["dur"]) for row in trace.rows("SELECT ts, dur FROM events"))


def codes(trace: Trace) -> set[str]:
    return {row["code"] for row in trace.rows("SELECT code FROM health")}


@pytest.mark.parametrize("share", [0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.97])
def test_a_cut_copy_holds_the_events_before_the_cut(share: float, tmp_path: Path) -> None:
    (tmp_path / "whole").write_bytes(WHOLE)
    whole = check_damaged(WHOLE, tmp_path / "whole")
    assert whole is not None
    cut = check_damaged(WHOLE[: int(len(WHOLE) * share)], tmp_path / "cut")
    if cut is None:
        assert share < 0.1
        return
    assert not times(cut) - times(whole)
    assert sum(times(cut).values()) >= 0.8 * share * sum(times(whole).values())
    assert "truncated" in codes(cut)


def test_events_whose_names_are_lost_are_told_so(tmp_path: Path) -> None:
    # The names of a plane stand behind its lines.
    cut = check_damaged(WHOLE[: len(WHOLE) // 2], tmp_path / "cut")
    assert cut is not None
    assert "names-lost" in codes(cut)
    assert cut.scalar("SELECT count(*) FROM events WHERE name LIKE 'event %'") == cut.scalar(
        "SELECT count(*) FROM events"
    )


@pytest.mark.parametrize("seed", range(12))
def test_an_altered_copy_is_read_or_refused_in_one_sentence(seed: int, tmp_path: Path) -> None:
    chosen = random.Random(seed)
    data = bytearray(WHOLE)
    for _ in range(chosen.choice([1, 5, 40])):
        data[chosen.randrange(40, len(data))] = chosen.randrange(256)
    check_damaged(bytes(data), tmp_path / "altered")


def test_a_broken_event_is_left_out_and_counted() -> None:
    good = message((1, 1), (2, 5), (3, 7))
    broken = b"\x08\x80\x80"
    line = message((1, 4), (3, 9), (4, good), (4, broken), (4, b"\xff" * 40), (4, good), (11, "shown"))
    losses = WireLosses()
    read = PlaneLine(line, 0, len(line), losses)
    assert list(read.events()) == [(5, 7, 1, b"")] * 2
    assert (losses.broken, losses.cut, read.label, read.start_ns) == (2, False, "shown", 9)


@pytest.mark.parametrize("window", [1, 3, 7, 64, 1 << 20])
def test_a_line_is_read_alike_in_windows_of_any_size(window: int) -> None:
    stat = message((4, message((1, 3), (5, "x" * 50))))
    lines = [message((1, 300 + n), (2, n << 20), (3, 2**40 + n)) + (stat if n % 3 else b"") for n in range(20)]
    line = message((2, "python"), *((4, one) for one in lines))
    found = list(PlaneLine(line, 0, len(line), WireLosses(), window).events())
    assert found == [(n << 20, 2**40 + n, 300 + n, stat if n % 3 else b"") for n in range(20)]


def test_fields_may_come_in_any_order_and_numbers_may_be_negative() -> None:
    stat = message((4, message((1, 1), (4, 2))))
    line = message((4, stat + message((3, 5), (2, -7), (1, -1))), (4, message((1, 2), (77, "new"), (2, 3))))
    assert list(PlaneLine(line, 0, len(line), WireLosses()).events()) == [(-7, 5, -1, stat), (3, 0, 2, b"")]


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"\x80" * 11, BrokenError),
        (b"\x80", CutError),
        (b"\x0a\x05abc", CutError),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", CutError),
        (b"\x09abc", CutError),
        (b"\x0b\x0c", BrokenError),
        (b"\x00\x00", BrokenError),
    ],
)
def test_what_is_no_message_is_said_to_be_none(data: bytes, error: type[Exception]) -> None:
    with pytest.raises(BrokenError) as found:
        list(fields(data, 0, len(data)))
    assert type(found.value) is error


@pytest.mark.parametrize(
    ("head", "sure"),
    [
        (WHOLE[:64], 2),
        (xspace(PlaneWriter("/device:TPU:0 SparseCore 1", {"a": [of("a", 1)]}, number=4)), 2),
        (message((1, message((2, "Task Environment")))), 2),
        (message((1, message((2, "/etc/passwd")))), 0),
        (message((4, "host")), 0),
        (message((1, message((8, 5), (2, "/host:CPU")))), 0),
        (b'{"traceEvents": []}', 0),
        (b"\n\x05abcde", 0),
        (b"\n" + varint(2**63) + b"\x12", 0),
        (b"", 0),
    ],
)
def test_it_is_known_by_its_first_plane(head: bytes, sure: int) -> None:
    assert XplaneReader().sniff(Path("a"), head) == sure


def test_a_stat_that_is_cut_in_an_event_is_counted_and_the_event_kept(tmp_path: Path) -> None:
    event = message((1, 1), (2, 5_000), (3, 7_000)) + b"\x22\x09\x08\x01"
    named = message((1, 1), (2, message((1, 1), (2, "one"))))
    plane = message((2, "/host:CPU"), (3, message((1, 1), (2, "python"), (4, event))), (4, named))
    (tmp_path / "a").write_bytes(message((1, plane)))
    trace = check_damaged(message((1, plane)), tmp_path / "a")
    assert trace is not None
    assert trace.rows("SELECT name, dur FROM events") == [{"name": "one", "dur": 7}]
    assert "events-lost" in codes(trace)
