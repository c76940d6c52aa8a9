"""Every real recording that is no text conforms: databases of Nsight Systems and pickled memory snapshots.

Whole ones, cut and damaged ones; where they are cut or damaged is drawn by their names.
"""

from __future__ import annotations

import gzip
import io
import random
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from readers.conformance import (
    assert_same,
    check_damaged,
    check_invariants,
    check_report,
    check_sniffing,
    check_splits,
    tables,
)
from series import series
from stepscope.ingest import Options, open_trace
from stepscope.model.trace import Trace
from support import recorded_trace, shared_traces

_ROOT = shared_traces()
RECORDINGS = sorted([*_ROOT.glob("nsys/*.sqlite"), *_ROOT.glob("memory/*.pickle")]) if _ROOT else []
SMALL = [path for path in RECORDINGS if path.stat().st_size < 1_200_000]

pytestmark = pytest.mark.skipif(not RECORDINGS, reason="the shared recordings are not beside this checkout")


def _name(path: Path) -> str:
    return path.stem


def _ranks(trace: Trace) -> Iterator[Trace]:
    return (trace.rank(rank) for rank in trace.ranks)


def _facts(trace: Trace) -> Counter[tuple[object, ...]]:
    """What was recorded, apart from what a cut can take away from the rest: names, and the start of time."""
    found: Counter[tuple[object, ...]] = Counter()
    for query in (
        "SELECT 'event', e.dur, k.kind FROM spans e LEFT JOIN kernels k ON k.event = e.id WHERE e.dur > 0",
        "SELECT action, address, bytes FROM allocator_events",
        "SELECT state, address, bytes FROM blocks",
    ):
        for one in _ranks(trace):
            found.update(tuple(row.values()) for row in one.sql(query).to_pylist())
    return found


@pytest.fixture(scope="module", params=series(RECORDINGS, 3), ids=_name)
def recording(request):
    """A recording and what is in it."""
    path = request.param
    check_sniffing(path)
    with recorded_trace(path) as trace:
        check_invariants(trace)
        check_splits(trace)
        return path, _facts(trace)


def test_it_conforms_and_holds_something(recording):
    assert sum(recording[1].values()) > 100


def test_a_cut_copy_holds_a_part_of_it(recording, tmp_path):
    path, whole = recording
    data = path.read_bytes()
    chosen = random.Random(path.stem)
    shares = (0.02, chosen.uniform(0.4, 0.99))
    sizes = []
    for share in shares:
        trace = check_damaged(data[: int(len(data) * share)], tmp_path / "cut")
        if trace is None:
            sizes.append(0)
            continue
        with trace:
            found = _facts(trace)
            lines = {row["code"] for row in trace.sql("SELECT code FROM health WHERE severity = 'error'").to_pylist()}
        assert lines & {"truncated", "tables-damaged"}
        # A stretch that never ended has no duration, and a range that was still open ends with what is there.
        strange = found - whole
        assert sum(strange.values()) <= 0.01 * sum(found.values()), strange.most_common(5)
        sizes.append(sum(found.values()))
    assert sizes == sorted(sizes)
    # A list is in a pickle by batches of a thousand: a cut takes up to one batch of each.
    if path.suffix == ".sqlite" or sum(whole.values()) > 5000:
        assert sizes[-1] > 0.2 * sum(whole.values())


def test_a_damaged_copy_is_read_or_refused_in_one_sentence(recording, tmp_path):
    path, _ = recording
    chosen = random.Random(f"{path.stem} damaged")
    broken = bytearray(path.read_bytes())
    for _ in range(3):
        page = chosen.randrange(1, len(broken) // 4096) * 4096
        broken[page : page + 4096] = chosen.choice([bytes(4096), chosen.randbytes(4096)])
    for _ in range(20):
        broken[chosen.randrange(100, len(broken))] = chosen.randrange(256)
    trace = check_damaged(bytes(broken), tmp_path / "broken")
    if trace is not None:
        with trace:
            check_report(trace)


@pytest.mark.parametrize("path", series(SMALL, 2), ids=_name)
def test_the_store_and_packings_give_the_same_tables(path, tmp_path):
    options = Options(store=tmp_path / "store")
    with open_trace(path, options) as trace:
        first = [tables(one) for one in _ranks(trace)]
    data = path.read_bytes()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("inside/recording", data)
    packings = {"gz": gzip.compress(data, 1), "zip": archive.getvalue()}
    for packing, packed in packings.items():
        (tmp_path / packing).write_bytes(packed)
    for target, opening in ((path, options), *((tmp_path / name, Options(cache=False)) for name in packings)):
        with open_trace(target, opening) as trace:
            for one, expected in zip(_ranks(trace), first, strict=True):
                assert_same(tables(one), expected, but=("recorded",))
