"""Each defect does to a file what it says, and nothing more."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from stepscope.simulate import DEFECTS, SimJob, simulate
from stepscope.simulate.defects.document import Document

# Defects whose result a strict parser must refuse; all others must still be JSON.
UNPARSEABLE = {
    "backslashes",
    "byte-order-mark",
    "control-characters",
    "invalid-utf8",
    "not-available",
    "not-numbers",
    "quotes",
    "trailing-comma",
    "truncated",
    "truncated-between",
}


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    job = SimJob(ranks=2, steps=2, layers=1, with_stack=True)
    return simulate(job, tmp_path_factory.mktemp("good"))[0].read_bytes()


def strict(data):
    """Parse as RFC 8259 has it: UTF-8 without mark, no NaN."""

    def refuse(text):
        raise ValueError(text)

    text = data.decode("utf-8")
    if text.startswith("\ufeff"):
        raise ValueError("byte order mark")
    return json.loads(text, parse_constant=refuse)


def events_of(document):
    return document if isinstance(document, list) else document["traceEvents"]


def damage(good, name):
    damaged = DEFECTS[name](good)
    return damaged, events_of(strict(damaged.data))


def intervals(events, *categories):
    return [e for e in events if e["ph"] == "X" and e["cat"] in categories]


def test_a_document_is_put_together_as_it_was(good):
    assert Document.parse(good).bytes() == good


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_changes_the_file_in_the_same_way_each_time(name, good):
    damaged = DEFECTS[name](good)
    assert damaged.data != good
    assert damaged == DEFECTS[name](good)
    assert 0 <= damaged.readable <= damaged.total
    assert damaged.note


@pytest.mark.parametrize("name", DEFECTS)
def test_the_text_is_json_unless_that_is_the_defect(name, good):
    damaged = DEFECTS[name](good)
    if name in UNPARSEABLE:
        with pytest.raises(ValueError):  # noqa: PT011 - decoding and parsing errors alike
            strict(damaged.data)
    else:
        assert len(events_of(strict(damaged.data))) == damaged.readable


@pytest.mark.parametrize("name", ["backslashes", "quotes", "control-characters"])
def test_the_unbroken_events_of_a_broken_text_are_untouched(name, good):
    before, after = Document.parse(good), DEFECTS[name](good)
    lines = set(after.data.decode().split(",\n  {\n"))
    kept = sum(event.removeprefix("  {\n") in lines for event in before.events[1:-1])
    assert kept >= after.total - after.touched - 2
    assert after.touched > 50


def test_the_cut_is_in_the_last_event(good):
    damaged = DEFECTS["truncated"](good)
    assert good.startswith(damaged.data)
    assert damaged.data.count(b"\n  },\n") >= damaged.readable
    assert 0 < damaged.readable < damaged.total


def test_times(good):
    _, events = damage(good, "zero-times")
    everything = [e for e in events if e["ph"] == "X"]
    assert sum(e["ts"] == 0 == e["dur"] for e in everything) == (len(everything) + 1) // 2
    damaged, events = damage(good, "zero-kernel-times")
    assert sum(e["ts"] == 0 for e in events) == damaged.touched > 10
    damaged, events = damage(good, "negative-durations")
    assert sum(e.get("dur", 0) < 0 for e in events) == damaged.touched > 10
    damaged, events = damage(good, "overflowing-durations")
    assert sum(e.get("dur", 0) > 1e16 for e in events) == damaged.touched > 10


def test_absolute_times_need_more_digits_than_a_double_has(good):
    damaged, events = damage(good, "absolute-times")
    assert "baseTimeNanoseconds" not in strict(damaged.data)
    assert min(e["ts"] for e in events) > 1.7e15
    plain = sorted(e["ts"] for e in events_of(json.loads(good)))
    assert len({e["ts"] for e in events}) < len(set(plain))


def test_kernels_overlap_on_one_stream(good):
    damaged, events = damage(good, "overlapping-kernels")
    ordered = sorted((e["tid"], e["ts"], e["ts"] + e["dur"]) for e in intervals(events, "kernel"))
    overlaps = sum(a[0] == b[0] and b[1] < a[2] for a, b in pairwise(ordered))
    assert overlaps >= damaged.touched > 10


def test_operators_cross(good):
    _, events = damage(good, "crossing-intervals")
    stack, crossing = [], 0
    host = intervals(events, "cpu_op")
    for tid in {e["tid"] for e in host}:
        stack.clear()
        for start, end in sorted((e["ts"], e["ts"] + e["dur"]) for e in host if e["tid"] == tid):
            while stack and stack[-1] <= start:
                stack.pop()
            crossing += bool(stack) and end > stack[-1] + 0.01
            stack.append(end)
    assert crossing > 10


def test_frames_last_until_the_end(good):
    damaged, events = damage(good, "unclosed-frames")
    ends = [round(e["ts"] + e["dur"], 2) for e in intervals(events, "python_function")]
    assert ends.count(max(ends)) >= damaged.touched > 5


def test_fields(good):
    _, events = damage(good, "missing-correlation")
    assert not any("correlation" in e.get("args", {}) or e.get("cat") == "ac2g" for e in events)
    _, events = damage(good, "string-streams")
    assert all(isinstance(e["args"]["stream"], str) for e in intervals(events, "kernel"))
    _, events = damage(good, "string-threads")
    assert all(isinstance(e["tid"], str) for e in intervals(events, "cpu_op", "cuda_runtime"))
    _, events = damage(good, "missing-steps")
    assert not any(e["name"].startswith("ProfilerStep") for e in events)
    assert "distributedInfo" not in strict(DEFECTS["missing-distributed-info"](good).data)
    assert "deviceProperties" not in strict(DEFECTS["missing-devices"](good).data)
    damaged, events = damage(good, "missing-names")
    assert sum("name" not in e for e in events) == damaged.touched > 10


def test_structure(good):
    assert isinstance(strict(DEFECTS["bare-list"](good).data), list)
    assert next(iter(strict(DEFECTS["events-first"](good).data))) == "traceEvents"
    assert list(strict(DEFECTS["events-last"](good).data))[-1] == "traceEvents"
    assert events_of(strict(DEFECTS["empty"](good).data)) == []
    _, events = damage(good, "no-device")
    assert not intervals(events, "kernel", "gpu_memcpy")
    damaged, events = damage(good, "duplicated")
    assert len(events) - len({json.dumps(e) for e in events}) >= damaged.touched > 10
    damaged, events = damage(good, "leaked-warmup")
    first = min(e["ts"] for e in intervals(events, "user_annotation"))
    assert sum(e["ts"] < first for e in intervals(events, "kernel")) == damaged.touched > 2
