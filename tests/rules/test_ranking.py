from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stepscope.model.events.change import Change, Scaled, Stretches
from stepscope.rules.pricing import Priced
from stepscope.rules.ranking import ranked
from stepscope.rules.rule import Draft, Registered, Rule

STEP = 1_000_000


def priced(
    code: str,
    cost: int | None,
    *,
    rank: int = 0,
    key: str = "",
    symptom_of: tuple[str, ...] = (),
    step: int | None = STEP,
    taken: int | None = None,
    removed: int | None = None,
) -> Priced:
    rule = Rule(code, code.lower(), check=lambda *_: (), symptom_of=symptom_of)
    registered = Registered(rule, "host", "Title.", "Title.", "tests")
    draft = Draft(title=f"{code}{key}", summary="", actions=(), key=key, events=np.arange(100), taken_ns=taken)
    return Priced(registered, draft, (rank,), cost, step, removed_ns=removed)


def test_the_most_expensive_comes_first_and_advice_last() -> None:
    found = ranked([priced("A", None), priced("B", 15_000), priced("C", 200_000)], 0.01)
    assert [f.code for f in found] == ["C", "B", "A"]
    assert [f.severity for f in found] == ["high", "low", "advice"]
    assert found[0].gain_ceiling == 0.25


def test_what_is_not_shown_unasked_comes_last_so_that_others_keep_their_numbers() -> None:
    found = ranked([priced("A", None), priced("B", 5_000), priced("C", 200_000), priced("D", 10_000)], 0.01)
    assert [(f.code, f.shown) for f in found] == [("C", True), ("D", True), ("A", True), ("B", False)]


def test_what_to_record_next_time_comes_after_other_advice() -> None:
    record = priced("A", None)
    record = replace(record, registered=replace(record.registered, family="recording"))
    found = ranked([record, priced("B", None)], 0.01)
    assert [f.code for f in found] == ["B", "A"]


def test_what_has_no_price_stands_where_a_fortieth_of_what_it_is_about_would() -> None:
    found = ranked([priced("A", 19_000), priced("B", None, taken=800_000), priced("C", 21_000)], 0.01)
    assert [f.code for f in found] == ["C", "B", "A"]
    assert [f.severity for f in found] == ["low", "advice", "low"]
    assert [f.taken_ns for f in found] == [None, 800_000, None]
    assert [f.placed_as_ns for f in found] == [None, 20_000, None]


def test_a_rule_may_say_where_what_has_no_price_stands() -> None:
    told = priced("B", None, taken=800_000)
    told = replace(told, draft=replace(told.draft, placed_as_ns=150_000))
    found = ranked([priced("A", 149_000), told, priced("C", 151_000)], 0.01)
    assert [(f.code, f.placed_as_ns) for f in found] == [("C", None), ("B", 150_000), ("A", None)]


def test_what_has_no_price_is_explained_by_causes_worth_most_of_its_place() -> None:
    without = priced("SYM", None, taken=800_000, symptom_of=("CAUSE",))
    assert [f.code for f in ranked([priced("CAUSE", 12_000), without], 0.01)] == ["CAUSE"]
    assert [f.code for f in ranked([priced("CAUSE", 11_000), without], 0.01)] == ["SYM", "CAUSE"]


def test_a_known_cause_that_the_host_hides_is_shown_and_raises_what_has_no_price() -> None:
    without = priced("SYM", None, taken=800_000, symptom_of=("CAUSE",))
    others = [priced("A", 60_000), without]
    found = ranked([priced("CAUSE", 900, removed=400_000), *others], 0.01)
    assert [(f.code, f.shown, f.placed_as_ns) for f in found] == [
        ("SYM", True, 200_000), ("A", True, None), ("CAUSE", True, None)
    ]  # fmt: skip
    assert [bool(f.notes) for f in found] == [False, False, True]  # which says why it saves little by itself
    # What takes little away is no reason, and what another finding is about is none either.
    for cause in (priced("CAUSE", 900, removed=40_000), priced("OTHER", 900, removed=400_000)):
        found = ranked([cause, *others], 0.01)
        assert [(f.code, f.shown) for f in found] == [("A", True), ("SYM", True), (found[2].code, False)]


@pytest.mark.parametrize(("cost", "rest", "shown"), [(0, None, False), (1, None, True), (1, 0, False), (900, 1, True)])
def test_a_known_cause_that_saves_nothing_is_not_shown(cost: int, rest: int | None, shown: bool) -> None:
    without = priced("SYM", None, taken=800_000, symptom_of=("CAUSE",))
    cause = replace(priced("CAUSE", cost, removed=400_000), rest_ns=rest)
    found = {f.code: f for f in ranked([cause, without], 0.01)}
    assert (found["SYM"].placed_as_ns, found["CAUSE"].shown) == (200_000, shown)


@pytest.mark.parametrize(
    ("cost", "removed", "told"),
    [(20_000, 70_000, True), (20_000, 69_000, False), (30_000, 89_000, False), (20_000, None, False)],
)
def test_a_price_that_is_small_beside_what_is_taken_away_is_explained(
    cost: int, removed: int | None, told: bool
) -> None:
    one = priced("A", cost, removed=removed)
    (found,) = ranked([one], 0.01)
    assert bool(found.notes) == told
    # Less host time saves what the device waits for it, and no more is said to be taken away.
    waits = replace(one.draft, change=Change(time=(Stretches(np.zeros(1, np.int64), np.ones(1, np.int64), 0.1),)))
    assert not ranked([replace(one, draft=waits)], 0.01)[0].notes
    assert not ranked([replace(one, draft=replace(one.draft, most_ns=cost))], 0.01)[0].notes


def test_such_a_cause_is_shown_too_where_others_leave_less_of_its_price() -> None:
    without = priced("SYM", None, taken=800_000, symptom_of=("CAUSE",))
    cause = replace(priced("CAUSE", 900, removed=400_000), rest_ns=300)
    found = {f.code: f for f in ranked([cause, priced("A", 60_000), without], 0.01)}["CAUSE"]
    assert (found.shown, found.cost_ns, found.alone_ns, bool(found.notes)) == (True, 300, 900, True)


def test_what_costs_less_than_the_least_share_is_not_shown_but_kept() -> None:
    found = ranked([priced("A", 9_999), priced("B", 10_000), priced("C", None)], 0.01)
    assert {f.code: f.shown for f in found} == {"A": False, "B": True, "C": True}


def test_a_finding_of_many_ranks_is_one_with_the_highest_price() -> None:
    (found,) = ranked([priced("A", 100_000, rank=0), priced("A", 300_000, rank=3), priced("A", None, rank=5)], 0.01)
    assert found.cost_ns == 300_000
    assert found.evidence.ranks == (3, 0, 5)
    assert len(found.evidence.events) == 20


def test_findings_of_one_rule_about_different_things_stay_apart() -> None:
    assert len(ranked([priced("A", 100_000, key="x"), priced("A", 100_000, key="y")], 0.01)) == 2


def test_a_symptom_stands_below_its_cause() -> None:
    (found,) = ranked([priced("CAUSE", 100_000), priced("SYM", 150_000, symptom_of=("CAUSE",))], 0.01)
    assert (found.code, found.symptoms) == ("CAUSE", ("SYM",))


def test_a_cause_that_is_worth_little_explains_nothing() -> None:
    found = ranked([priced("CAUSE", 20_000), priced("SYM", 150_000, symptom_of=("CAUSE",))], 0.01)
    assert [f.code for f in found] == ["SYM", "CAUSE"]


def test_what_lies_outside_of_the_steps_explains_no_price_in_them() -> None:
    cause = priced("A", None)
    outside = replace(cause, draft=replace(cause.draft, placed_as_ns=500_000, recorded_share=0.8))
    assert [f.code for f in ranked([outside, priced("B", 400_000, symptom_of=("A",))], 0.01)] == ["A", "B"]
    beside = priced("B", None, symptom_of=("A",))
    beside = replace(beside, draft=replace(beside.draft, placed_as_ns=400_000, recorded_share=0.7))
    assert [f.code for f in ranked([outside, beside], 0.01)] == ["A"]


def test_of_a_cause_only_what_explains_counts() -> None:
    symptom, cause = priced("SYM", 100_000, symptom_of=("CAUSE",)), priced("CAUSE", 90_000)
    assert [f.code for f in ranked([symptom, replace(cause, explains_ns=59_999)], 0.01)] == ["SYM", "CAUSE"]
    for explains in (60_000, 200_000):
        assert [f.code for f in ranked([symptom, replace(cause, explains_ns=explains)], 0.01)] == ["CAUSE"]
    assert len(ranked([symptom, replace(priced("CAUSE", 59_999), explains_ns=200_000)], 0.01)) == 2


def test_causes_explain_a_symptom_together_if_one_of_them_is_foremost() -> None:
    symptom = priced("SYM", 150_000, symptom_of=("A", "B", "C"))
    (first, second) = ranked([priced("A", 50_000), priced("B", 40_000), symptom], 0.01)
    assert (first.code, first.symptoms, second.code) == ("A", ("SYM",), "B")
    found = ranked([priced("A", 50_000), priced("B", 39_999), symptom], 0.01)
    assert [f.code for f in found] == ["SYM", "A", "B"]
    found = ranked([priced("A", 49_999), priced("B", 49_999), priced("C", 49_999), symptom], 0.01)
    assert found[0].code == "SYM"


@pytest.mark.parametrize(("family", "cost", "first"), [
    ("cluster", 75_000, "CAUSE"), ("cluster", 74_999, "SYM"), ("host", 89_999, "SYM"), ("host", 90_000, "CAUSE"),
])  # fmt: skip
def test_a_rank_or_link_that_is_worse_than_its_like_explains_what_costs_twice_as_much(
    family: str, cost: int, first: str
) -> None:
    cause = priced("CAUSE", cost)
    cause = replace(cause, registered=replace(cause.registered, family=family))
    assert ranked([cause, priced("SYM", 150_000, symptom_of=("CAUSE",))], 0.01)[0].code == first


@pytest.mark.parametrize(("cost", "first"), [(74_999, "SYM"), (75_000, "FUSED")])
def test_kernels_to_be_fused_explain_a_slow_host_if_they_are_half_of_it(cost: int, first: str) -> None:
    fused = priced("FUSED", cost)
    fused = replace(fused, registered=replace(fused.registered, family="kernels"))
    found = ranked([fused, priced("B", 40_000), priced("SYM", 150_000, symptom_of=("FUSED", "B"))], 0.01)
    assert found[0].code == first


def test_symptoms_of_symptoms_stand_below_the_first_cause() -> None:
    found = ranked(
        [priced("C", 90_000, symptom_of=("B",)), priced("A", 100_000), priced("B", 95_000, symptom_of=("A",))], 0.01
    )
    assert [f.code for f in found] == ["A"]
    assert set(found[0].symptoms) == {"B", "C"}


def test_a_cost_of_the_whole_step_has_no_ceiling() -> None:
    (found,) = ranked([priced("A", STEP)], 0.01)
    assert found.gain_ceiling is None


def test_causes_that_name_each_other_do_not_vanish_both() -> None:
    found = ranked([priced("A", 100_000, symptom_of=("B",)), priced("B", 90_000, symptom_of=("A",))], 0.01)
    assert [f.code for f in found] == ["A"]


def changing(code: str, cost: int, rest: int, *events: int) -> Priced:
    one = priced(code, cost)
    change = Change(device=(Scaled(np.array(events, np.int64), 0.0),))
    return replace(one, draft=replace(one.draft, change=change), rest_ns=rest)


def test_what_is_shown_is_what_those_above_leave() -> None:
    found = ranked([changing("A", 300_000, 300_000, 1, 2), changing("B", 200_000, 150_000, 2, 3, 4)], 0.01)
    assert [(f.code, f.cost_ns, f.alone_ns) for f in found] == [("A", 300_000, None), ("B", 150_000, 200_000)]
    assert sum(f.cost_ns or 0 for f in found) <= STEP


def test_what_another_finding_prices_already_is_named_below_it() -> None:
    one = changing("A", 300_000, 300_000, 1, 2, 3)
    (found,) = ranked([one, changing("B", 200_000, 20_000, 2, 3, 4)], 0.01)
    assert found.symptoms == ("B",)
    apart = ranked([one, changing("B", 200_000, 20_000, 3, 4, 5)], 0.01)
    assert [(f.code, f.cost_ns) for f in apart] == [("A", 300_000), ("B", 20_000)]
    hidden = ranked([one, changing("B", 200_000, 5_000, 4, 5)], 0.01)
    assert [f.shown for f in hidden] == [True, False]


def test_a_draft_may_be_apart_from_what_its_rule_is_a_symptom_of() -> None:
    symptom = priced("SYM", 50_000, symptom_of=("CAUSE",))
    apart = replace(symptom, draft=replace(symptom.draft, apart_from=("CAUSE",)))
    assert [one.code for one in ranked([priced("CAUSE", 100_000), symptom], 0.01)] == ["CAUSE"]
    assert [one.code for one in ranked([priced("CAUSE", 100_000), apart], 0.01)] == ["CAUSE", "SYM"]


def late(code: str, cost: int, *ranks: int, symptom_of: tuple[str, ...] = ()) -> Priced:
    """A finding of a job of four ranks that names some of them late."""
    one = priced(code, cost, symptom_of=symptom_of)
    return replace(one, draft=replace(one.draft, late=ranks), ranks=(*ranks, *(r for r in range(4) if r not in ranks)))


def test_what_is_about_one_rank_stands_behind_a_rank_that_costs_the_job_more() -> None:
    everywhere = replace(priced("ALL", 300_000), ranks=(0, 1, 2, 3))
    found = [late("LATE", 100_000, 2), priced("ONE", 400_000, rank=1), everywhere, priced("SMALL", 20_000, rank=2)]
    assert [f.code for f in ranked(found, 0.01)] == ["ALL", "LATE", "ONE", "SMALL"]
    assert [f.code for f in ranked(found[1:], 0.01)] == ["ONE", "ALL", "SMALL"]  # nobody is late


def test_what_ranks_save_that_wait_for_a_late_one_is_not_saved() -> None:
    """Ranks 0, 1 and 3 would wait longer for rank 2: what all have is worth what rank 2 saves by it."""
    found = [
        late("LATE", 100_000, 2),
        *(priced("ALL", 300_000 - 120_000 * (rank == 2), rank=rank) for rank in range(4)),
    ]
    told = ranked([*found, *(priced("WAIT", 250_000, rank=rank) for rank in (0, 3))], 0.01)
    assert [(f.code, f.cost_ns, f.evidence.ranks[0]) for f in told] == [
        ("ALL", 180_000, 2), ("LATE", 100_000, 2), ("WAIT", 250_000, 0)
    ]  # fmt: skip
    nobody = ranked(found[1:], 0.01)
    assert [(f.code, f.cost_ns, f.evidence.ranks[0]) for f in nobody] == [("ALL", 300_000, 0)]


def test_what_is_slow_on_the_late_rank_alone_says_why_it_is_late() -> None:
    found = [late("LATE", 100_000, 2, symptom_of=("DAT",)), priced("DAT", 400_000, rank=2)]
    (first,) = ranked(found, 0.01)
    assert (first.code, first.late, first.symptoms) == ("LATE", (2,), ("DAT",))


def test_a_cause_on_other_ranks_too_keeps_saying_who_is_late() -> None:
    everywhere = replace(priced("DAT", 400_000), ranks=(0, 1, 2, 3))
    (first,) = ranked([late("LATE", 100_000, 2, symptom_of=("DAT",)), everywhere], 0.01)
    assert (first.code, first.late, first.symptoms) == ("DAT", (2,), ("LATE",))
