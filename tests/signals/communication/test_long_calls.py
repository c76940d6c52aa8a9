"""Collectives that stand out against their like."""

from __future__ import annotations

import numpy as np

from stepscope.signals.communication.long_calls import standing_out


def needed(*calls: tuple[str, int, int], group: str = "g") -> list[int]:
    """What calls of (kind, bytes or -1, ns) need at most."""
    names, sizes, took = zip(*calls, strict=True)
    groups = np.array([group] * len(calls))
    return standing_out(np.array(names), groups, np.array(sizes), np.array(took)).tolist()


def test_what_takes_five_times_as_long_as_the_same_amount_waits() -> None:
    assert needed(("all_reduce", 100, 10), ("all_reduce", 100, 49), ("all_reduce", 100, 50)) == [10, 49, 10]


def test_more_may_take_longer_in_proportion() -> None:
    assert needed(("all_reduce", 100, 10), ("all_reduce", 1000, 499), ("all_reduce", 1000, 500)) == [10, 499, 100]


def test_other_kinds_and_sends_are_not_compared() -> None:
    assert needed(("all_reduce", 100, 10), ("broadcast", 100, 500), ("recv", 100, 10), ("recv", 100, 500)) == [
        10, 500, 10, 500,
    ]  # fmt: skip


def test_without_sizes_the_longest_of_all_stands_out() -> None:
    others = [("all_reduce", -1, ns) for ns in (10, 20, 30, 40, 50)]
    assert needed(("broadcast", -1, 400), *others)[0] == 50
    assert needed(("broadcast", -1, 399), *others)[0] == 399
    assert needed(("broadcast", -1, 4000), ("broadcast", -1, 400), *others)[:2] == [50, 50]
    assert needed(("broadcast", -1, 400), *others[1:])[0] == 400  # too few to compare with
