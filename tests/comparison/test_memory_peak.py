"""What the peak of memory is made of, on both sides; and damage of a side."""

from __future__ import annotations

import io

import pytest

from stepscope.comparison.build import CompareOptions, compare_traces
from stepscope.comparison.comparable import differences
from stepscope.comparison.parts.amounts import Amount
from stepscope.comparison.parts.peak import peak_table
from stepscope.model.trace import Trace
from stepscope.reports import terminal
from stepscope.reports.compared.outline import outline
from support import Facts, recorded_trace

OPTIONS = CompareOptions(findings=False, levels=("memory",))


def held(extra: int = 0) -> Trace:
    """Two operators that allocate, in a module and outside, and a free of the second allocation after the peak."""
    facts = Facts()
    facts.host("module", "nn.Module: Net_0", 0, 100)
    facts.host("op", "aten::empty", 10, 20)
    facts.host("op", "aten::mm", 200, 50)
    facts.row("raw_memory", ts=15, device=0, address=1, bytes=1000, track=0)
    facts.row("raw_memory", ts=210, device=0, address=2, bytes=500 + extra, track=0)
    facts.row("raw_memory", ts=240, device=0, address=2, bytes=-500 - extra, track=0)
    return facts.trace()


@pytest.fixture(scope="module")
def base() -> Trace:
    return held()


@pytest.fixture(scope="module")
def more() -> Trace:
    return held(300)


def test_the_peak_by_operator_and_module(base: Trace, more: Trace) -> None:
    rows = compare_traces(base, more, OPTIONS).table("memory_peak").records()
    assert [(row["by"], row["name"], row["base_bytes"], row["new_bytes"]) for row in rows] == [
        ("module", "(none)", 500, 800), ("operator", "aten::mm", 500, 800),
        ("module", "Net_0", 1000, 1000), ("operator", "aten::empty", 1000, 1000),
    ]  # fmt: skip
    for by in ("operator", "module"):
        assert sum(row["new_bytes"] for row in rows if row["by"] == by) == 1800


def test_it_is_shown_where_it_differs(base: Trace, more: Trace) -> None:
    def shown(new: Trace) -> str:
        out = io.StringIO()
        terminal.write_page(outline(compare_traces(base, new, OPTIONS)), out, width=100)
        return out.getvalue()

    [line] = [line.split() for line in shown(more).splitlines() if line.startswith(" aten::mm")]
    assert line == ["aten::mm", "500", "B", "800", "B", "+300", "B", "1.60", "1", "1"]
    assert "the peak by" not in shown(base)


def test_allocations_without_addresses_are_not_called_missing() -> None:
    def lacking(*, recorded: bool) -> list[str]:
        facts = Facts()
        facts.host("op", "aten::empty", 10, 20)
        if recorded:
            facts.row("raw_memory", ts=15, device=0, bytes=1000, track=0)
        trace = facts.trace()
        return [one.message for one in compare_traces(trace, trace, OPTIONS).lacking if one.table == "memory_peak"]

    [without], [none] = lacking(recorded=True), lacking(recorded=False)
    assert "addresses" in without
    assert "addresses" not in none


def test_splits_of_different_kinds_do_not_compare() -> None:
    snapshot, trace = {("purpose", "gradients"): Amount(10, 1)}, {("operator", "aten::mm"): Amount(10, 1)}
    assert len(peak_table(snapshot, trace)) == 0
    assert len(peak_table(snapshot, snapshot)) == 1
    # A snapshot's module is a file, a trace's one of the framework: activations are not gone where no purpose is known.
    snapshot[("module", "linear.py")] = trace[("module", "Linear_1")] = Amount(10, 1)
    assert len(peak_table(snapshot, trace)) == 0


def test_what_one_side_does_not_tell_apart_is_one_purpose() -> None:
    apart = {("purpose", "parameters"): Amount(10, 1), ("purpose", "optimizer state"): Amount(20, 2)}
    together = {("purpose", "parameters and optimizer state"): Amount(30, 3)}
    for sides in ((apart, together), (together, apart)):
        [row] = peak_table(*sides).records()
        assert (row["name"], row["diff_bytes"], row["new_count"]) == ("parameters and optimizer state", 0, 3)
    assert len(peak_table(apart, apart)) == 2


def test_what_a_peak_grew_by_is_said(base: Trace, more: Trace) -> None:
    assert compare_traces(base, more, OPTIONS).cause.endswith("1.76 KiB (+20.0 %): aten::mm +300 B")
    assert compare_traces(more, base, OPTIONS).cause.endswith("(-16.7 %): aten::mm -300 B")
    assert compare_traces(base, base, OPTIONS).cause == ""


def test_snapshots_by_purpose() -> None:
    base, new = (recorded_trace("memory", f"train_ctx{name}.pickle") for name in ("150", "200_mixed"))
    rows = compare_traces(base, new, OPTIONS).table("memory_peak").records()
    sums = {by: sum(row["new_bytes"] for row in rows if row["by"] == by) for by in ("purpose", "module", "line")}
    assert len(set(sums.values())) == 1
    [cast] = [row for row in rows if row["name"] == "weights cast by autocast"]
    assert cast["base_bytes"] == 0 < cast["new_bytes"]


def test_damage_is_said_though_both_sides_have_it() -> None:
    healthy, cut = {"health": "no error"}, {"health": "the recording ends in the middle"}
    assert [one.what for one in differences(healthy, cut)] == ["health"]
    assert [one.what for one in differences(cut, cut)] == ["health"]
    assert differences(healthy, healthy) == ()
