"""One remedy for several findings says what it saves in all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stepscope.model.events.change import Change, Scaled, Stretches
from stepscope.rules.finding import Action
from stepscope.rules.pricing import Priced, priced
from stepscope.rules.ranking import ranked
from stepscope.rules.remaining import after_others, share_events
from stepscope.rules.rule import Draft, Registered, Rule
from stepscope.rules.together import cured_together
from stepscope.signals import Signals
from support import Facts

US = 1_000
COMPILE = Action("Compile it", page="torch-compile")


def recording() -> tuple[Signals, list[int]]:
    """Three steps, each of four kernels of 99 µs, one after another, launched well ahead."""
    f, kernels = Facts(), []
    for step in range(3):
        called, start = step * 20 * US, step * 400 * US + 10 * US
        f.step(step, called, 20 * US)
        for number in range(4):
            kernels.append(f.kernel("k", start + number * 100 * US, 99 * US, launch=(called + number * US, 500)))
    return Signals.of(f.trace()), kernels


def finding(code: str, signals: Signals, kernels: list[int], actions: tuple[Action, ...] = (COMPILE,)) -> Priced:
    registered = Registered(Rule(code, code.lower(), check=lambda *_: ()), "kernels", "Title.", "Title.", "tests")
    change = Change(device=(Scaled(np.array(kernels, np.int64), 0.0),))
    return priced(registered, Draft(title=f"Title {code}", summary="Seen.", actions=actions, change=change), signals)


def told(signals: Signals, *found: Priced) -> list[Priced]:
    return cured_together(after_others(found, signals, 0.01), signals, 0.01)


def test_the_first_of_them_says_what_all_save() -> None:
    signals, k = recording()
    found = told(signals, finding("A", signals, k[::4]), finding("B", signals, k[1::4] + k[2::4]))
    first, second = ranked(found, 0.01)
    assert (first.code, first.together, first.together_ns) == (
        "B",
        ("B", "A"),
        (first.cost_ns or 0) + (second.cost_ns or 0),
    )
    (note,) = first.notes
    assert note.startswith("Compiling the model, before anything else, cures this and “Title A”: ")
    assert note.endswith(" %, in all.")
    assert first.to_json()["summary"] == first.text == f"Seen. {note}"
    assert (second.together, second.together_ns, second.text) == ((), None, "Seen.")


def test_other_remedies_and_small_findings_are_not_counted() -> None:
    signals, k = recording()
    big, other = finding("A", signals, k[::4]), finding("B", signals, k[1::4], (Action("Else", page="amp"),))
    small = finding("C", signals, k[2::4])
    for found in ([big], [big, other], [big, replace(small, cost_ns=(small.step_ns or 0) // 200)]):
        assert [one.together for one in told(signals, *found)] == [None] * len(found)


def test_what_repeats_another_one_is_not_counted() -> None:
    signals, k = recording()
    assert all(one.together is None for one in told(signals, finding("A", signals, k), finding("B", signals, k[::2])))


@pytest.mark.parametrize(("end", "same"), [(100, True), (99, False)])
def test_changes_of_half_of_the_same_time_are_the_same(end: int, same: bool) -> None:
    signals, _ = recording()
    one, other = finding("A", signals, []), finding("B", signals, [])
    mine = Change(time=(Stretches(np.array([0]), np.array([200]), 0.1),))
    others = Change(time=(Stretches(np.array([0]), np.array([end]), 0.1),))
    one, other = (replace(x, draft=replace(x.draft, change=change)) for x, change in ((one, mine), (other, others)))
    assert share_events(one, other) is same
