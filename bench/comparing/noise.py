"""Pairs of one recording that differ by noise alone: what is said to have changed is a false alarm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import combinations, islice
from pathlib import Path

from bench.comparing.judging import LIMIT, compared, opened, reading
from stepscope.comparison.gates import growth_limit, judge


def versions(pairs: int) -> int:
    """How many versions of a recording make so many pairs, each of two other ones."""
    number = 2
    while number * (number - 1) // 2 < pairs:
        number += 1
    return number


def alarms(folder: Path, recordings: Sequence[str], pairs: int, place: Path) -> Counter[str]:
    """Print each alarm, and count them by kind: verdict, gate, cause.

    Args:
        folder: Where the recordings lie.
        recordings: Their paths in it; each gets its share of the pairs.
        pairs: How many in all.
        place: Where versions are written.
    """
    found: Counter[str] = Counter()
    for i, name in enumerate(recordings):
        share = pairs // len(recordings) + (i < pairs % len(recordings))
        whole = reading(folder / name)
        with ExitStack() as stack:
            sides = []
            for version in range(versions(share)):
                trace = whole.copy()
                trace.jitter(1000 + version)
                sides.append(stack.enter_context(opened(trace.save(place / f"{i}-{version}.json"))))
            for base, new in islice(combinations(sides, 2), share):
                told = compared(base, new)
                [gate] = judge([growth_limit(f"step_time>{LIMIT:.0%}")], told.metrics)
                sure = any(one.sure for one in told.causes)
                raised = {"verdict": told.verdict in ("faster", "slower"), "gate": gate.failed, "sure cause": sure}
                found["pairs"] += 1
                found.update(kind for kind, is_raised in raised.items() if is_raised)
                if any(raised.values()):
                    print(f"{name}: {told.verdict}, {told.step_time.reason} | {told.cause}", flush=True)
        print(f"{name}: {len(sides)} versions, {share} pairs, so far {dict(found)}", flush=True)
    return found
