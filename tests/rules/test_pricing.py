"""What a finding costs: what its remedy saves, and never more than what it takes away or than its summary says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stepscope.model.events.change import Change, Scaled
from stepscope.rules.pricing import priced
from stepscope.rules.ranking import ranked
from stepscope.rules.rule import Draft, Registered, Rule
from stepscope.signals import Signals
from support import Facts

RULE = Registered(Rule("TST001", "test"), "host", "Title.", "Title.", "tests")


def two_ranks(*, linked: bool = True) -> tuple[Signals, int]:
    """One of them, device-bound: two kernels of 200 µs, each before a collective; for the second the other is late."""
    facts = Facts()
    facts.step(0, 0, 30_000)
    now, kernels = 12_000, []
    for number, took in enumerate((100_000, 250_000)):
        called = 10_000 * number
        calls = ((called, 4_000), (called + 5_000, 4_000)) if linked else (None, None)
        kernels.append(facts.kernel("gemm", now, 200_000, launch=calls[0], kind="compute"))
        comm = facts.kernel("nccl", now + 201_000, took, launch=calls[1], kind="comm")
        facts.row("collectives", event=comm, group="0", collective="all_reduce", bytes=1 << 20)
        now += 202_000 + took
    return Signals.of(facts.trace()), kernels[1]


@pytest.mark.parametrize(("most", "cost"), [(None, 100_000), (120_000, 100_000), (30_000, 30_000)])
def test_a_price_is_bounded_by_what_is_removed_and_by_what_the_rule_says(most: int | None, cost: int) -> None:
    signals, kernel = two_ranks()
    # The other rank would come earlier too: the step saves 175 µs, of which only 100 µs are this kernel's.
    change = Change(device=(Scaled(np.array([kernel]), 0.5),))
    found = priced(RULE, Draft("Title", "Summary.", (), change=change, most_ns=most), signals)
    assert found.cost_ns == cost
    assert found.removed_ns == 100_000


def test_a_part_of_the_change_may_be_what_explains_others() -> None:
    signals, kernel = two_ranks()
    change = Change(device=(Scaled(np.array([kernel]), 0.5),))
    draft = Draft("Title", "Summary.", (), change=change)
    assert priced(RULE, draft, signals).explains_ns is None
    assert priced(RULE, replace(draft, explaining=Change()), signals).explains_ns == 0
    all_of_it = priced(RULE, replace(draft, explaining=change), signals)
    assert all_of_it.cost_ns is not None
    assert all_of_it.explains_ns is not None
    assert all_of_it.explains_ns >= all_of_it.cost_ns


def test_a_change_that_makes_the_step_longer_has_no_price() -> None:
    signals, kernel = two_ranks()
    change = Change(device=(Scaled(np.array([kernel]), 2.0),))
    assert priced(RULE, Draft("Title", "Summary.", (), change=change), signals).cost_ns == 0


def test_what_a_rule_prices_itself_is_taken_over() -> None:
    signals, _ = two_ranks()
    assert priced(RULE, Draft("Title", "Summary.", (), cost_ns=7), signals).cost_ns == 7


@pytest.mark.parametrize(("linked", "cost", "removed"), [(True, 100_000, 100_000), (False, 40, None)])
def test_without_links_to_calls_the_evidence_of_the_rule_is_the_price(
    linked: bool, cost: int, removed: int | None
) -> None:
    signals, kernel = two_ranks(linked=linked)
    change = Change(device=(Scaled(np.array([kernel]), 0.5),))
    draft = Draft("Title", "Summary.", (), change=change, unlinked_ns=40)
    found = priced(RULE, draft, signals)
    assert (found.cost_ns, found.removed_ns) == (cost, removed)
    assert priced(RULE, replace(draft, most_ns=30), signals).cost_ns == 30


def half_busy(kernel_ns: int, *, linked: bool) -> tuple[Signals, Change]:
    """Steps of 1 ms with an operator and a kernel, and a change that halves the kernel."""
    facts, kernels = Facts(), []
    for step in range(4):
        at = step * 1_000_000
        facts.step(step, at, 1_000_000)
        facts.host("op", "aten::mm", at + 1_000, 998_000)
        call = (at + 2_000, 5_000) if linked else None
        kernels.append(facts.kernel("gemm", at + 10_000, kernel_ns, launch=call))
    return Signals.of(facts.trace()), Change(device=(Scaled(np.array(kernels), 0.5),))


@pytest.mark.parametrize(
    ("kernel_ns", "linked", "price"),
    [
        (600_000, False, None),
        # What the devices alone would save is too little to be shown.
        (18_000, False, 0),
        # The host is known to take as long.
        (600_000, True, 0),
    ],
)
def test_nobody_knows_what_idle_devices_save_that_nothing_links_to_the_host(
    kernel_ns: int, linked: bool, price: int | None
) -> None:
    signals, change = half_busy(kernel_ns, linked=linked)
    found = priced(RULE, Draft("Title", "Summary.", (), change=change), signals, 0.01)
    assert (found.cost_ns, found.unknown, found.draft.taken_ns) == (
        (None, True, 300_000) if price is None else (price, False, None)
    )
    (finding,) = ranked([found], 0.01)
    assert any("is not known" in note for note in finding.notes) == found.unknown
