"""Groups of kernels, copies or collectives that differ for sure where the whole part that they belong to may not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from stepscope.comparison.causes.changed import Row, calls_alike
from stepscope.comparison.noise.ratio import ASSUMED_DRIFT
from stepscope.comparison.parts.amounts import Amount, StepCounts, certainties
from stepscope.comparison.parts.splits import NO_OPERATOR
from stepscope.model.kernel_names import classify

#: Share of the step that a group takes on either side to be looked at, and by which it differs to be said.
LEAST: Final = 0.004
#: Sums of the base and of the new side by operator, kernel and class.
SideSums = tuple[Mapping[Any, Amount], Mapping[Any, Amount]]
#: The same by part of the step.
WorkSums = Mapping[str, SideSums]


@dataclass(frozen=True, slots=True)
class SureGroup:
    """Activities of one kind that differ by more than their spread between steps explains.

    Attributes:
        part: The part of the step that they are in.
        name: Their class, kernel or operator.
        rows: Both sides of each operator and kernel, per step.
        base_ns: Time per step of the base.
        new_ns: The same of the new side.
        half: Half of the interval of the difference, all groups that were looked at in mind.
    """

    part: str
    name: str
    rows: tuple[Row, ...]
    base_ns: int
    new_ns: int
    half: float

    @property
    def diff_ns(self) -> int:
        """New minus base."""
        return self.new_ns - self.base_ns


def sure_groups(sums: WorkSums, counts: StepCounts, step_ns: int, drift: float = 0.0) -> list[SureGroup]:
    """The groups of each part that differ for sure, the largest difference first; none shares an activity with another.

    Activities are grouped by class, by kernel, by operator, and those of a class of which there are more or fewer than
    before. That none of n groups is called different by chance takes n times the certainty (Bonferroni). None is
    called so that differs by no more than two runs of one program do.

    Args:
        sums: Sums by part.
        counts: What they are divided by, and the certainty.
        step_ns: Length of a step.
        drift: By how much all of the new side may be off together, as a share, beyond what single times tell.
    """
    tried = [
        (part, name, keys, sides)
        for part, (base, new) in sums.items()
        for name, keys in _groups(base, new, counts)
        if max(_means(sides := _sides(keys, base, new), counts)) >= LEAST * step_ns
    ]
    among = counts._replace(confidence=1 - (1 - counts.confidence) / max(1, len(tried)))
    found = []
    halves = certainties([sides for *_, sides in tried], among)
    for (part, name, keys, sides), half in zip(tried, halves, strict=True):
        first, second = _means(sides, counts)
        half = None if half is None else half + drift * second
        if half is not None and abs(second - first) > max(half, LEAST * step_ns, ASSUMED_DRIFT * max(first, second)):
            rows = tuple(_row(key, *sums[part], counts) for key in keys)
            found.append(SureGroup(part, name, rows, round(first), round(second), half))
    # What replaces something is said with it, before its parts, and is no cause where it takes as long.
    swapped = {(part, name): {*keys} for part, name, keys, _ in tried if _swapped(keys, *sums[part], counts)}
    found = [one for one in found if not any(part == one.part and _of_swap(one, keys)
                                             for (part, _), keys in swapped.items())]  # fmt: skip
    whole = {(part, frozenset(keys)) for (part, _), keys in swapped.items()}
    found.sort(key=lambda one: ((one.part, _members(one)) not in whole, -abs(one.diff_ns), len(one.rows)))
    kept: list[SureGroup] = []
    taken: set[tuple[str, ...]] = set()
    for one in found:
        members = {(one.part, *key) for key in _members(one)}
        if not members & taken:
            kept.append(one)
            taken |= members
    return sorted(kept, key=lambda one: -abs(one.diff_ns))


def _groups(
    base: Mapping[Any, Amount], new: Mapping[Any, Amount], counts: StepCounts
) -> Iterator[tuple[str, list[Any]]]:
    by: defaultdict[tuple[str, str], list[Any]] = defaultdict(list)
    none = Amount()
    for key in dict.fromkeys((*base, *new)):
        operator, kernel, op_class = key
        by["class", op_class].append(key)
        by["kernel", classify(kernel).short].append(key)
        if operator != NO_OPERATOR:
            by["operator", operator].append(key)
        if not calls_alike(base.get(key, none).count / counts.base, new.get(key, none).count / counts.new):
            by["other calls", op_class].append(key)
    seen: set[tuple[Any, ...]] = set()
    for (_, name), keys in by.items():
        if (same := tuple(keys)) not in seen:
            seen.add(same)
            yield name, keys


def _swapped(keys: list[Any], base: Mapping[Any, Amount], new: Mapping[Any, Amount], counts: StepCounts) -> bool:
    """Whether these are all activities of a class of other numbers, of which either side has some alone."""
    none = Amount()
    numbers = [(base.get(key, none).count / counts.base, new.get(key, none).count / counts.new) for key in keys]
    if any(calls_alike(*each) for each in numbers) or len({key[2] for key in keys}) > 1:
        return False
    gone, come = (any(pair[i] and not pair[1 - i] for pair in numbers) for i in (0, 1))
    return bool(gone and come)


def _of_swap(one: SureGroup, keys: set[tuple[str, str, str]]) -> bool:
    """Whether most of what differs in a group is some, not all, of activities that replace each other."""
    members = _members(one)
    if members >= keys:
        return False
    inside = [row["new_ns"] - row["base_ns"] for row in one.rows if _key(row) in keys]
    return bool(abs(sum(inside)) > abs(one.diff_ns) / 2)


def _members(one: SureGroup) -> frozenset[tuple[str, str, str]]:
    return frozenset(map(_key, one.rows))


def _key(row: Row) -> tuple[str, str, str]:
    return row["operator"], row["kernel"], row["op_class"]


def _sides(keys: list[Any], base: Mapping[Any, Amount], new: Mapping[Any, Amount]) -> tuple[Amount, Amount]:
    first, second = Amount(), Amount()
    for key in keys:
        first, second = first + base.get(key, Amount()), second + new.get(key, Amount())
    return first, second


def _means(sides: tuple[Amount, Amount], counts: StepCounts) -> tuple[float, float]:
    return sides[0].ns / counts.base, sides[1].ns / counts.new


def _row(key: tuple[str, str, str], base: Mapping[Any, Amount], new: Mapping[Any, Amount], counts: StepCounts) -> Row:
    first, second = base.get(key, Amount()), new.get(key, Amount())
    return {
        "operator": key[0], "kernel": key[1], "op_class": key[2],
        "base_ns": round(first.ns / counts.base), "new_ns": round(second.ns / counts.new),
        "base_count": first.count / counts.base, "new_count": second.count / counts.new,
    }  # fmt: skip
