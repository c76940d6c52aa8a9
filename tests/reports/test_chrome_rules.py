"""The exported Chrome trace by the rules of Perfetto's importer of JSON, which are stricter than the format's.

The rules, from Perfetto's sources (src/trace_processor/importers/json, importers/common/slice_tracker.cc and
flow_tracker.cc): events are sorted by time, those of one time stay in the order of the file; times are in
microseconds and are rounded to ns; a negative time is dropped; a thread number of 0 stands for the process's number;
on a thread a slice that outlives the one it begins in is dropped; a flow binds to the slice that was opened last on
its thread, and its two halves belong together by id, category and name.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest

from series import series
from stepscope.model.trace import Trace
from stepscope.reports.exports import chrome
from support import Facts, recorded_trace, shared_traces

FOLDERS = ("kineto", "ascend", "nsys")
RECORDINGS = (
    sorted(
        f"{folder}/{path.name}"
        for folder in FOLDERS
        for path in (shared_traces() / folder).iterdir()  # type: ignore[union-attr]
        if not path.name.startswith(("expected", "mstt"))
    )
    if shared_traces()
    else ["absent/absent"]
)


#: Where the clocks of host and device disagree, work begins before its launch.
BACKWARDS = """
SELECT count(*) FROM flows f JOIN spans s ON s.id = f.source JOIN spans t ON t.id = f.target WHERE t.ts < s.ts
"""


@dataclass
class Imported:
    """What is left of a trace after the import."""

    slices: int = 0
    dropped: list[str] = field(default_factory=list)
    flows: Counter[tuple[str, str]] = field(default_factory=Counter)
    unbound: int = 0
    backwards: int = 0
    threads: dict[tuple[int, int], str] = field(default_factory=dict)
    processes: dict[int, str] = field(default_factory=dict)
    unnamed: set[tuple[int, int]] = field(default_factory=set)


def ns(event: dict[str, Any], key: str) -> int:
    exact = Decimal(event[key]) * 1000
    assert exact == exact.to_integral_value()
    assert round(float(event[key]) * 1000.0) == exact  # as a double it is the same
    return int(exact)


def imported(text: str) -> Imported:
    assert text.startswith('{"')  # by which the format is told
    document = json.loads(text, parse_float=str)
    events = document["traceEvents"]
    result = Imported()
    for event in events:
        if event["ph"] == "M" and event["name"] == "process_name":
            result.processes[event["pid"]] = event["args"]["name"]
        elif event["ph"] == "M" and event["name"] == "thread_name":
            thread = (event["pid"], event["tid"] or event["pid"])
            assert thread not in result.threads
            result.threads[thread] = event["args"]["name"]
    stacks: dict[tuple[int, int], list[tuple[int, str]]] = {}
    begun: dict[tuple[int, str, str], str | None] = {}
    for event in sorted((e for e in events if e["ph"] != "M"), key=lambda e: ns(e, "ts")):
        assert 0 <= event["pid"] < 2**32
        assert 0 <= event["tid"] < 2**32
        assert ns(event, "ts") >= 0
        thread = (event["pid"], event["tid"] or event["pid"])
        stack = stacks.setdefault(thread, [])
        if event["ph"] in "Xi":
            put(event, stack, result)
            if thread not in result.threads:
                result.unnamed.add(thread)
        elif event["ph"] in "sf":
            key = (event["id"], event["cat"], event["name"])
            name = stack[-1][1] if stack else None
            if event["ph"] == "s":
                assert key not in begun
                begun[key] = name
            else:
                assert event["bp"] == "e"
                if key not in begun:
                    result.backwards += 1
                    continue
                source = begun.pop(key)
                if name is None or source is None:
                    result.unbound += 1
                else:
                    result.flows[source, name] += 1
        else:
            assert event["ph"] == "C"
            assert all(math.isfinite(float(value)) for value in event["args"].values())
    assert len(begun) == result.backwards
    return result


def put(event: dict[str, Any], stack: list[tuple[int, str]], result: Imported) -> None:
    start = ns(event, "ts")
    end = start + (ns(event, "dur") if event["ph"] == "X" else 0)
    while stack and stack[-1][0] <= start:
        stack.pop()
    if any(start < outer < end for outer, _ in stack):
        result.dropped.append(event["name"])
        return
    result.slices += 1
    stack.append((end, event["name"]))


def flows(trace: Trace) -> Counter[tuple[str, str]]:
    rows = trace.sql(
        "SELECT s.name AS source, t.name AS target FROM flows f "
        "JOIN events s ON s.id = f.source JOIN events t ON t.id = f.target"
    ).to_pylist()
    return Counter((row["source"], row["target"]) for row in rows)


@pytest.mark.parametrize("name", series(RECORDINGS, 3))
def test_of_a_real_recording_nothing_is_lost(name: str) -> None:
    with recorded_trace(*name.split("/")) as whole:
        trace = whole.rank(whole.ranks[0])
        if trace.scalar("SELECT count(*) FROM spans") > 60_000:
            pytest.skip("the rules are followed event by event, which takes long for so many")
        result = imported("".join(chrome.lines([trace])))
        events = trace.scalar("SELECT count(*) FROM spans") + trace.scalar("SELECT count(*) FROM memory")
        assert result.dropped == []
        assert result.slices == events
        assert result.unnamed == set()
        assert {pid for pid, _ in result.threads} == set(result.processes)
        wanted = flows(trace)
        assert result.flows.total() + result.unbound + result.backwards == wanted.total()
        assert result.backwards == trace.scalar(BACKWARDS)
        # A flow goes astray only where the slices of a thread begin at the same instant.
        assert (wanted - result.flows).total() <= result.backwards + wanted.total() // 100


def test_events_that_overlap_are_on_threads_of_their_own() -> None:
    facts = Facts()
    for start in range(0, 100, 10):
        facts.kernel("overlapping", start, 35, launch=(start, 1))
    result = imported("".join(chrome.lines([facts.trace()])))
    assert result.dropped == []
    assert [name for name in result.threads.values() if name.startswith("device")] == [
        "device 0 stream 7", "device 0 stream 7 (2)", "device 0 stream 7 (3)", "device 0 stream 7 (4)",
    ]  # fmt: skip
    assert result.flows == Counter({("cudaLaunchKernel", "overlapping"): 10})


def test_stream_0_of_device_1_is_not_its_stream_1() -> None:
    facts = Facts()
    facts.kernel("one", 0, 100, device=1, stream="1")
    facts.kernel("zero", 50, 100, device=1, stream="0")
    result = imported("".join(chrome.lines([facts.trace()])))
    assert result.dropped == []
    assert len(result.threads) == 2


def test_the_rules_can_be_broken() -> None:
    events = [
        {"ph": "X", "name": name, "cat": "c", "pid": 1, "tid": 0, "ts": ts, "dur": 2}
        for name, ts in (("a", 0), ("b", 1))
    ]
    assert imported(json.dumps({"traceEvents": events})).dropped == ["b"]


def test_samples_from_before_the_first_event_are_kept() -> None:
    facts = Facts()
    facts.host("op", "aten::mm", 0, 100)
    facts.row("tracks", track=9, kind="counter", label="MHz")
    facts.row("counters", track=9, ts=-2500, name="MHz", value=1800.0)
    text = "".join(chrome.lines([facts.trace(origin_unix_ns=1_000_000)]))
    document = json.loads(text, parse_float=str)
    assert [(e["name"], e["ts"]) for e in document["traceEvents"] if e["ph"] in "CX"] == [
        ("aten::mm", "2.500"), ("MHz", "0.000"),
    ]  # fmt: skip
    assert document["baseTimeNanoseconds"] == 997_500
