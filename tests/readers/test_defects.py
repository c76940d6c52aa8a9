"""Every way in which the simulator breaks recordings: readable, counted, and nothing that can be read is lost."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from readers.conformance import check_invariants, check_splits, check_unusable, open_fresh, rows_of
from readers.oracle import NO_EVENTS, rows, whole_events
from series import series
from stepscope.simulate import DEFECTS, SimJob, simulate

#: What health must say, beyond what it says of the undamaged recording.
RECORDED = {
    "backslashes": "events-repaired",
    "control-characters": "events-repaired",
    "quotes": "events-repaired",
    "not-available": "events-repaired",
    "invalid-utf8": "events-repaired",
    "zero-times": "time-missing",
    "zero-kernel-times": "time-missing",
    "overflowing-durations": "duration-overflow",
    "negative-durations": "duration-negative",
    "unclosed-frames": "frames-unclosed",
    "overlapping-kernels": "kernels-overlap",
    "crossing-intervals": "nesting-repaired",
    "missing-correlation": "kernels-without-launch",
    "missing-devices": "device-unknown",
    "missing-steps": "steps-",
    "truncated": "truncated",
    "truncated-between": "truncated",
    "bare-list": "device-unknown",
    "duplicated": "events-duplicated",
    "leaked-warmup": "warm-up-leaked",
    "no-device": "device-lost",
}
#: Defects that leave every interval as it was: the same names, times and durations must be read.
UNCHANGED = (
    "not-numbers", "not-available", "byte-order-mark", "crlf", "one-line", "indented", "trailing-comma",
    "absolute-times", "missing-correlation", "string-streams", "string-threads", "missing-distributed-info",
    "missing-devices", "missing-metadata", "bare-list", "events-first", "events-last", "duplicated",
)  # fmt: skip
#: Defects of names: all other columns stay.
MENDED = ("backslashes", "quotes", "control-characters", "invalid-utf8")


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    job = SimJob(ranks=2, steps=3, layers=1, with_stack=True)
    return simulate(job, tmp_path_factory.mktemp("good"))[0].read_bytes()


@pytest.fixture(scope="module")
def healthy(good, tmp_path_factory):
    path = tmp_path_factory.mktemp("healthy") / "trace.json"
    path.write_bytes(good)
    with open_fresh(path) as trace:
        lines = trace.sql("SELECT code, severity, count FROM health").to_pylist()
        return rows_of(trace), {line["code"]: line["count"] for line in lines}, lines


def test_a_healthy_recording_is_told_so_in_few_words(healthy):
    _, _, lines = healthy
    assert len(lines) <= 4
    assert {line["severity"] for line in lines} == {"info"}


@pytest.mark.parametrize("name", [*MENDED, *series([name for name in DEFECTS if name not in ("empty", *MENDED)], 8)])
def test_a_defect_is_counted_and_loses_nothing(name, good, healthy, tmp_path):
    damaged = DEFECTS[name](good)
    path = tmp_path / "trace.json"
    path.write_bytes(damaged.data)
    before, codes_before, _ = healthy
    with open_fresh(path) as trace:
        check_invariants(trace)
        check_splits(trace)
        found = rows_of(trace)
        codes = {row["code"]: row["count"] for row in trace.sql("SELECT code, count FROM health").to_pylist()}
    new = {code for code in codes if codes[code] != codes_before.get(code)} - {"events-read"}
    if name in RECORDED:
        assert any(code.startswith(RECORDED[name]) for code in new), (new, codes)
    if name in UNCHANGED:
        assert found == before
    if name in MENDED:
        assert times(found) == times(before)
    assert "events-lost" not in codes
    assert sum(found.values()) >= _least(damaged, codes)


def times(found) -> Counter[tuple[int, int | None]]:
    """Events without their names."""
    counted: Counter[tuple[int, int | None]] = Counter()
    for (_, _, ts, dur), count in found.items():
        counted[ts, dur] += count
    return counted


def _least(damaged, codes) -> int:
    """How many events must be there: all that are written as readable intervals, but for those counted as dropped."""
    text = damaged.data.decode("utf-8", "replace")
    try:
        value = json.loads(text.removeprefix("\ufeff"))
        events = value if isinstance(value, list) else value["traceEvents"]
        intervals = sum(e["ph"] == "X" or (e["ph"] == "i" and e.get("name") not in NO_EVENTS) for e in events)
    except ValueError:
        intervals = sum(rows(list(whole_events(text))).values())
    return intervals - codes.get("time-missing", 0) - codes.get("events-duplicated", 0)


def test_a_recording_without_events_is_refused(good, tmp_path):
    path = tmp_path / "trace.json"
    path.write_bytes(DEFECTS["empty"](good).data)
    check_unusable(path)
