"""Every real recording, and simulated ones, conform."""

from __future__ import annotations

import gzip
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from readers.conformance import (
    assert_same,
    check_invariants,
    check_report,
    check_sniffing,
    check_splits,
    check_unusable,
    open_fresh,
    packings,
    rows_of,
    staged_rows,
    tables,
)
from readers.oracle import Row, rows, whole_events
from series import WHOLE, rounds, series, spread
from stepscope.ingest import Options, open_trace, recognise
from stepscope.readers.kineto.reader import KinetoReader
from stepscope.simulate import SimJob, simulate
from support import recorded_trace, shared_traces

_ROOT = (shared_traces() or Path()) / "kineto"
_ALL = sorted(_ROOT.glob("*/*.gz")) if shared_traces() else []
#: The eight ranks of one job are alike.
RECORDINGS = [path for path in _ALL if "dlrm" not in path.parent.name or path.name.startswith("worker1")]
SIMULATED = {
    "two ranks": SimJob(ranks=2, steps=2, layers=1, with_stack=True),
    "graph": SimJob(steps=2, layers=1, graph=True),
    "inference": SimJob(steps=2, layers=1, training=False, workers=1),
}

pytestmark = pytest.mark.skipif(not _ALL, reason="the shared recordings are not beside this checkout")


def _name(path: Path) -> str:
    return path.parent.name


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    return {
        name: simulate(job, tmp_path_factory.mktemp("simulated") / ("job" if job.ranks > 1 else "job.json"))[0]
        for name, job in SIMULATED.items()
    }


def small(limit: int) -> list[Path]:
    """Recordings of at most `limit` packed bytes."""
    return [path for path in RECORDINGS if path.stat().st_size <= limit]


def expected(data: bytes) -> tuple[Counter[Row], int]:
    """What a slow parser finds, with times since the first event, and how many whole events there are."""
    events = list(whole_events(data.decode("utf-8", "replace")))
    found = rows(events)
    origin = min((row[2] for row in found), default=0)
    relative: Counter[Row] = Counter()
    for (name, _, ts, dur), count in found.items():
        relative[name, "", ts - origin, dur] += count
    return relative, len(events)


def with_blocks(monkeypatch, size: int) -> None:
    """Let files be read in blocks of `size` bytes and decoded in chunks of ten."""
    reader = replace(KinetoReader(), block_bytes=size, chunk_bytes=10 * size)
    monkeypatch.setattr(recognise, "READERS", (reader,))


@pytest.mark.parametrize("path", series(RECORDINGS, 5), ids=_name)
def test_a_real_recording_conforms(path):
    check_sniffing(path)
    with recorded_trace(path) as trace:
        check_invariants(trace)
        check_splits(trace)


@pytest.mark.parametrize("name", SIMULATED)
def test_a_simulated_recording_conforms_and_every_event_is_there(name, simulated):
    check_sniffing(simulated[name])
    with open_fresh(simulated[name]) as trace:
        check_invariants(trace)
        check_splits(trace)
        assert rows_of(trace) == expected(simulated[name].read_bytes())[0]


@pytest.mark.parametrize("path", series(small(130_000), 4), ids=_name)
def test_every_event_is_there_with_its_exact_times(path):
    with recorded_trace(path) as trace:
        assert rows_of(trace) == expected(gzip.decompress(path.read_bytes()))[0]


@pytest.mark.parametrize("path", series(small(8_000), 2), ids=_name)
def test_the_store_and_every_packing_give_the_same_tables(path, tmp_path):
    options = Options(store=tmp_path / "store")
    with open_trace(path, options) as trace:
        first = tables(trace)
    with open_trace(path, options) as trace:
        assert_same(first, tables(trace))
    data = gzip.decompress(path.read_bytes())
    for packing, packed in {"plain": data, **packings(data)}.items():
        target = tmp_path / "unknown"
        target.write_bytes(packed)
        with open_fresh(target) as trace:
            assert_same(first, tables(trace))
            skipped = [note for note in trace.notes if note[0] == "files-skipped"]
            assert len(skipped) == (packing == "zip"), packing


@pytest.mark.parametrize("path", series(small(4_000), 2), ids=_name)
@pytest.mark.parametrize("size", [64, 5_000])
def test_sizes_of_blocks_make_no_difference(path, size, monkeypatch, tmp_path):
    target = tmp_path / "trace.json"
    target.write_bytes(gzip.decompress(path.read_bytes()))
    with open_fresh(target) as trace:
        first = tables(trace)
    with_blocks(monkeypatch, size)
    with open_fresh(target) as trace:
        assert_same(first, tables(trace))


def _check_cut(data: bytes, cut: int, target: Path) -> None:
    target.write_bytes(data[:cut])
    want, count = expected(data[:cut])
    if not want:
        check_unusable(target)
        return
    assert staged_rows(target) == want, f"cut at {cut} after {count} events"


@pytest.mark.parametrize("path", series(small(8_000), 2), ids=_name)
def test_a_file_that_was_cut_gives_all_whole_events_before_the_cut(path, tmp_path):
    data = gzip.decompress(path.read_bytes())
    chosen = random.Random(path.parent.name)
    for _ in range(rounds(12, 3)):
        _check_cut(data, chosen.randrange(len(data)), tmp_path / "cut.json")


@pytest.mark.series
def test_a_file_cut_at_any_byte_of_an_event(tmp_path):
    """Many positions within one event, so that each kind of token is cut, and all those around its end."""
    path = next(p for p in RECORDINGS if p.parent.name == "triton_example")
    data = gzip.decompress(path.read_bytes())
    event = list(whole_events(data.decode()))[4]
    within = [*range(event.start - 3, event.end, 11), *range(event.end - 4, event.end + 6)]
    for cut in within if WHOLE else spread(within, 12):
        _check_cut(data, cut, tmp_path / "cut.json")


@pytest.mark.parametrize("path", series([p for p in RECORDINGS if p.stat().st_size > 600_000][::3], 2), ids=_name)
def test_a_large_packed_file_that_was_cut(path, tmp_path):
    packed = path.read_bytes()
    cut = tmp_path / "cut.json.gz"
    cut.write_bytes(packed[: len(packed) // 3])
    with open_fresh(cut) as trace:
        codes = trace.sql("SELECT code FROM health").to_pydict()["code"]
        assert "input-damaged" in codes
        assert "truncated" in codes or path.parent.name == "old_bare_list_2021"
        assert trace.scalar("SELECT count(*) FROM spans") > 1000


@pytest.mark.parametrize("path", series(small(8_000), 2), ids=_name)
def test_events_that_were_not_touched_survive_random_damage(path, tmp_path):
    """Three bytes are changed, then fifty at a time."""
    data = gzip.decompress(path.read_bytes())
    text = data.decode()
    events = list(whole_events(text))
    chosen = random.Random(path.parent.name)
    for round_ in range(rounds(4, 2)):
        broken = bytearray(data)
        places = [chosen.randrange(len(data)) for _ in range(50 if round_ else 3)]
        for place in places:
            broken[place] = chosen.randrange(256)
        target = tmp_path / "broken.json"
        target.write_bytes(broken)
        # Bytes and characters agree, as these recordings are ASCII.
        untouched = [e for e in events if not any(e.start <= place < e.end for place in places)]
        want = rows(untouched)
        with open_fresh(target) as trace:
            check_invariants(trace)
            found = Counter((name, dur) for (name, _, _, dur), n in rows_of(trace).items() for _ in range(n))
            lost = Counter((row[0], row[3]) for row, n in want.items() for _ in range(n)) - found
            dropped = trace.scalar("SELECT coalesce(sum(count), 0) FROM health WHERE code LIKE 'duration%'")
            assert sum(lost.values()) <= dropped, (lost, places)


@pytest.mark.parametrize("path", series(small(300_000), 3), ids=_name)
def test_a_damaged_or_cut_recording_is_analysed(path, tmp_path):
    data = bytearray(gzip.decompress(path.read_bytes()))
    chosen = random.Random(f"{path.parent.name} analysed")
    for _ in range(50):
        data[chosen.randrange(len(data))] = chosen.randrange(256)
    target = tmp_path / "broken.json"
    target.write_bytes(data[: chosen.randrange(len(data) // 2, 2 * len(data))])
    with open_fresh(target) as trace:
        check_invariants(trace)
        check_splits(trace)
        check_report(trace)
