"""Prices of findings that count the same time do not add up."""

from __future__ import annotations

import numpy as np

from stepscope.analyses.stepgraph import StepGraph
from stepscope.model.events.change import Change, Scaled
from stepscope.model.trace import Trace
from stepscope.rules.pricing import Priced, priced
from stepscope.rules.remaining import after_others, share_events
from stepscope.rules.rule import Draft, Registered, Rule
from stepscope.signals import Signals
from support import Facts

US = 1_000


def recording() -> tuple[Trace, list[int]]:
    """Three steps, each of four kernels of 99 µs, one after another, launched well ahead."""
    f, kernels = Facts(), []
    for step in range(3):
        called, start = step * 20 * US, step * 400 * US + 10 * US
        f.step(step, called, 20 * US)
        for number in range(4):
            kernels.append(f.kernel("k", start + number * 100 * US, 99 * US, launch=(called + number * US, 500)))
    return f.trace(), kernels


def finding(code: str, signals: Signals, *kernels: int) -> Priced:
    registered = Registered(Rule(code, code.lower(), check=lambda *_: ()), "kernels", "Title.", "Title.", "tests")
    change = Change(device=(Scaled(np.array(kernels, np.int64), 0.0),))
    return priced(registered, Draft(title=code, summary="", actions=(), change=change), signals)


def test_time_that_two_findings_price_counts_once() -> None:
    trace, k = recording()
    signals = Signals.of(trace)
    base = StepGraph.of(trace).predict(Change()).base_ns
    found = [finding("A", signals, *k), finding("B", signals, *k[::2]), finding("C", signals, *k[1::4])]
    assert sum(one.cost_ns or 0 for one in found) > base
    rest = after_others(found, signals, 0.01)
    assert rest[0].rest_ns == rest[0].cost_ns
    assert [one.rest_ns for one in rest[1:]] == [0, 0]
    assert sum(one.rest_ns or 0 for one in rest) <= base
    assert share_events(rest[1], rest[0])
    assert not share_events(rest[2], rest[1])


def test_half_of_the_events_in_common_is_most_of_them() -> None:
    trace, k = recording()
    signals = Signals.of(trace)
    assert share_events(finding("A", signals, *k[:4]), finding("B", signals, *k[2:6]))
    assert not share_events(finding("A", signals, *k[:3]), finding("B", signals, *k[2:6]))


def test_what_has_nothing_to_do_with_others_keeps_its_price() -> None:
    trace, k = recording()
    signals = Signals.of(trace)
    found = [finding("A", signals, *k[::4]), finding("B", signals, *k[1::4], *k[2::4])]
    rest = after_others(found, signals, 0.01)
    assert [one.rest_ns for one in rest] == [one.cost_ns for one in found]
