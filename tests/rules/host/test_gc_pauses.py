from __future__ import annotations

import numpy as np
import pytest

from rule_support import drafts, figures, findings
from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.host import host
from support import Facts


def given(share: float, *, asked: bool = False) -> dict[object, object]:
    calls = host.StepEvents(np.array([3, 8]), np.array([100, 9000]), np.array([400, 900]))
    return {host.collections: calls, host.collecting_share: share, host.asked_to_collect: asked}


def test_collections_are_found_the_longest_first() -> None:
    (draft,) = drafts("HST005", given(0.1))
    assert {"10.0 %", "2", "900 ns"} <= set(figures(draft.summary))
    assert draft.events.tolist() == [8, 3]
    assert draft.ranges == ((9000, 9900), (100, 500))


def test_just_below_the_threshold_or_without_any_nothing_is_found() -> None:
    assert drafts("HST005", given(0.0049)) == []
    assert len(drafts("HST005", given(0.005))) == 1
    none = host.StepEvents(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert drafts("HST005", {host.collections: none}) == []


def test_without_signals_the_rule_abstains() -> None:
    with pytest.raises(MissingInputError):
        drafts("HST005", {})


def test_it_needs_no_device() -> None:
    facts = Facts()
    for number in range(3):
        facts.step(number, number * 10_000_000, 10_000_000)
        facts.host("op", "aten::mm", number * 10_000_000, 8_000_000)
        facts.host("gc", "Python GC", number * 10_000_000 + 8_000_000, 2_000_000)
    (finding,) = findings("HST005", facts.trace())
    assert finding.cost_ns == pytest.approx(2_000_000, rel=0.01)


def test_a_program_that_collects_itself_is_not_told_to() -> None:
    (asked,), (other,) = drafts("HST005", given(0.1, asked=True)), drafts("HST005", given(0.1))
    assert not set(asked.actions) & set(other.actions)
    assert "gc.collect()" in asked.summary


@pytest.mark.parametrize(("names", "asked"), [
    (("<built-in function collect>",) * 2, True), (("<built-in function collect>", "Python GC"), False),
    (("Python GC",) * 2, False),
])  # fmt: skip
def test_who_collects_is_told_by_names(names: tuple[str, str], asked: bool) -> None:
    facts = Facts()
    for number, name in enumerate(names):
        facts.step(number, number * 10_000_000, 10_000_000)
        facts.host("op", "aten::mm", number * 10_000_000, 8_000_000)
        facts.host("gc", name, number * 10_000_000 + 8_000_000, 2_000_000)
    assert Signals.of(facts.trace())(host.asked_to_collect) == asked
