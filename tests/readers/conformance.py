"""What must hold of every reader and every recording."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import math
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from readers.invariants import check_rank
from readers.oracle import Row
from series import drawn
from stepscope.ingest import Options, open_trace
from stepscope.ingest.recognise import READERS
from stepscope.model.errors import MissingInputError, UserError
from stepscope.model.tables import TABLES
from stepscope.model.trace import Trace
from stepscope.readers.content import head
from stepscope.readers.kineto.reader import KinetoReader
from stepscope.readers.protocol import YES, Source
from stepscope.reports.build import ReportOptions, build_report
from stepscope.store.staging import Staging


def open_fresh(path: Path) -> Trace:
    """Open without a cache."""
    return open_trace(path, Options(cache=False))


def tables(trace: Trace) -> dict[str, pa.Table]:
    """Every canonical table, in an order that does not depend on how it was stored."""
    found = {}
    for table in TABLES:
        # Names are quoted as some are words of SQL.
        order = ", ".join(f'"{name}"' for name in table.names)
        # Arguments are kept as written where that is free: white space in them may differ.
        columns = order.replace('"args"', "json(args)::VARCHAR AS args")
        found[table.name] = trace.sql(f"SELECT {columns} FROM (SELECT * FROM {table.name} ORDER BY {order})")
    return found


def assert_same(one: dict[str, pa.Table], other: dict[str, pa.Table], but: tuple[str, ...] = ()) -> None:
    """Two traces have the same tables."""
    assert one.keys() == other.keys()
    for name in one:
        if name not in but:
            assert one[name].equals(other[name]), f"table {name} differs"


def packings(data: bytes) -> dict[str, bytes]:
    """The same content, packed in every way that is read."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("inside/trace.json", data)
        opened.writestr("inside/read me.txt", b"nothing")
    nested = io.BytesIO()
    with zipfile.ZipFile(nested, "w") as opened:
        opened.writestr("trace.json.gz", gzip.compress(data, 1))
    half = len(data) // 2
    return {
        "gz": gzip.compress(data, 1),
        "two gz members": gzip.compress(data[:half], 1) + gzip.compress(data[half:], 1),
        "bz2": bz2.compress(data, 1),
        "xz": lzma.compress(data, preset=0),
        "zip": archive.getvalue(),
        "gz in zip": nested.getvalue(),
    }


def rows_of(trace: Trace) -> Counter[Row]:
    """Events as the oracle states them, but with times since the first event."""
    found: Counter[Row] = Counter()
    columns = trace.sql("SELECT name, ts, dur FROM events").to_pydict()
    for name, ts, dur in zip(columns["name"], columns["ts"], columns["dur"], strict=True):
        found[name, "", ts, dur] += 1
    return found


def staged_rows(path: Path) -> Counter[Row]:
    """What the reader alone makes of a file, with times since the first event: quicker than opening it.

    Raises:
        UnusableInputError: Nothing in it can be used.
    """
    with tempfile.TemporaryDirectory() as folder:
        staging = Staging(Path(folder), threads=1)
        try:
            KinetoReader().read(Source(path), staging, lambda _: None)
            staged = staging.connection.execute(
                "SELECT name, ts - min(ts) OVER (), dur FROM raw_events JOIN names USING (name_id)"
            ).fetchall()
        finally:
            staging.close()
    return Counter((name, "", ts, dur) for name, ts, dur in staged)


def check_sniffing(path: Path) -> None:
    """The reader is found by content alone."""
    hidden = Source(path)
    sure = [reader.name for reader in READERS if reader.sniff(Path("unknown"), head(hidden)) == YES]
    assert sure == [reader.name for reader in READERS if reader.sniff(path, head(hidden)) == YES]
    assert len(sure) == 1


def check_unusable(path: Path) -> None:
    """The input is refused in one sentence, with exit status 2."""
    with pytest.raises(UserError) as error:
        open_fresh(path)
    assert error.value.exit_code == 2
    assert error.value.hint
    assert "\n" not in str(error.value)


def check_damaged(data: bytes, target: Path) -> Trace | None:
    """Open a damaged recording: what is left of it conforms, or one sentence says that there is nothing."""
    target.write_bytes(data)
    said: UserError | None = None
    try:
        trace = open_fresh(target)
    except UserError as error:
        said = error
    if said is not None:
        assert said.exit_code == 2
        assert "\n" not in str(said)
        return None
    check_invariants(trace)
    check_splits(trace)
    return trace


def check_sample(trace: Trace, test: str) -> None:
    """`check_invariants` for one test in four, and in the series for all.

    For tests of the series that each open a few rows of their own: what is asked of every trace takes a quarter of it.
    """
    if drawn(test, 4):
        check_invariants(trace)


def check_invariants(trace: Trace) -> None:
    """What every query may rely on, of every rank."""
    for rank in trace.ranks:
        check_rank(trace.rank(rank))


def check_report(trace: Trace) -> None:
    """Every analysis and rule answers or says what it lacks; no number is negative or none at all."""
    report = build_report(trace, ReportOptions(strict=True, all_findings=True))
    for name, table in report.tables.items():
        for column in table.schema.columns:
            # Samples may be older than the first event, and the profiler's own sums higher than those of its events.
            if column.type not in ("int64", "int32", "float64"):
                continue
            signed = column.signed or column.name.endswith("ts")
            values = pc.drop_null(table.arrow.column(column.name))
            if column.type == "float64":
                assert pc.all(pc.is_finite(values)).as_py() is not False, f"{name}.{column.name}"
            if column.unit in ("ns", "bytes", "count", "fraction") and len(values) and not signed:
                assert pc.min(values).as_py() >= 0, f"{name}.{column.name}"
    assert report.diagnosis is not None
    for finding in report.diagnosis.findings:
        assert finding.cost_ns is None or finding.cost_ns >= 0, finding.code
        numbers = [number for number in finding.evidence.numbers.values() if not isinstance(number, str)]
        assert all(map(math.isfinite, numbers)), finding.code


def check_splits(trace: Trace) -> None:
    """Every split of every rank adds up to its whole."""
    for rank in trace.ranks:
        _check_splits(trace.rank(rank))


def _check_splits(trace: Trace) -> None:
    from stepscope.analyses.registry import analyses

    try:
        budget = analyses()["step_budget"].run(trace).records()
        found = analyses()["idle_causes"].run(trace).records()
    except MissingInputError:
        assert trace.scalar("SELECT count(*) FROM kernels WHERE kind <> 'sync'") == 0
        return
    for row in budget:
        parts = [row[name] for name in ("compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns")]
        assert sum(parts) == row["total_ns"], row
        assert min(parts) >= 0, row
    causes: Counter[tuple[int | None, int | None]] = Counter()
    for row in found:
        assert row["total_ns"] > 0, row
        causes[row["device"], row["step"]] += row["total_ns"]
    for row in budget:
        if row["step"] is not None:
            assert causes[row["device"], row["step"]] == row["idle_ns"], row
