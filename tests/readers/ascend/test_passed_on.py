"""Files that other programs passed on: with marks of byte order, line ends of Windows, and blanks before units."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bench.damage.small_ascend import write_text

from readers.conformance import open_fresh
from stepscope.readers.ascend.summary.plain_csv import rows

KERNELS = "SELECT name, ts, dur, core, op_type, step FROM kernels ORDER BY ts, name"
METRICS = "SELECT metric, value FROM kernel_metrics ORDER BY metric, value"


def _marked(data: bytes) -> bytes:
    return b"\xef\xbb\xbf" + data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def _spaced(data: bytes) -> bytes:
    header, _, others = data.partition(b"\n")
    return re.sub(rb"(?<=\w)\(", b" (", header) + b"\n" + others


@pytest.mark.parametrize("change", [_marked, _spaced])
def test_they_are_read_as_they_were(tmp_path: Path, change) -> None:  # type: ignore[no-untyped-def]
    original, passed_on = (write_text(tmp_path / name / "x_ascend_pt") for name in ("original", "passed_on"))
    for path in (*passed_on.parent.glob("*.json"), *passed_on.glob("*.json")):
        if change is _marked:
            path.write_bytes(change(path.read_bytes()))
    table = passed_on / "kernel_details.csv"
    table.write_bytes(change(table.read_bytes()))
    with open_fresh(original) as expected, open_fresh(passed_on) as found:
        for query in (KERNELS, METRICS, "SELECT code, count FROM health ORDER BY ALL"):
            assert found.sql(query).to_pylist() == expected.sql(query).to_pylist()
        assert found.ranks == expected.ranks
    with open_fresh(table) as alone:
        assert alone.scalar("SELECT count(*) FROM kernels WHERE kind = 'compute'") == 1
    assert next(rows(table)) == next(rows(original / "kernel_details.csv"))
