"""Two call trees laid beside each other, so that what was renamed, wrapped or moved still meets its like.

The children of nodes that meet are matched level by level: equal names first (after `--map`); then what the other side
has within a wrapper; then, between children that keep their order on both sides (the longest common subsequence), what
has the same name but for numbers and prefixes, half of the children, or the same place and as many calls and children.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from stepscope.comparison.matching.call_tree import CallNode

#: How two nodes were found to belong together; nodes that do not are on one side only.
Match = Literal["same", "mapped", "renamed", "moved", "only base", "only new"]
#: Children that two nodes of other names must share, as a share of either's, to be the same.
_ALIKE: Final = 0.5
#: Levels of wrappers that are looked through.
_DEEPEST: Final = 4
#: Children of a level beyond which only names are matched.
_MOST: Final = 2000
_PLAIN: Final = re.compile(r"[\d_\W]+")


@dataclass(frozen=True, slots=True)
class AlignedPair:
    """Nodes that belong together, or one without a counterpart.

    Attributes:
        base: Node of the base; None if it has none.
        new: Node of the new side; None if it has none.
        base_path: Names from the outermost to the node, joined by ` / `; empty if it has none.
        new_path: The same of the new side.
        match: How they were found.
    """

    base: CallNode | None
    new: CallNode | None
    base_path: str
    new_path: str
    match: Match

    @property
    def node(self) -> CallNode:
        """The node of the base, else of the new side."""
        one = self.base or self.new
        assert one is not None
        return one


def aligned(base: CallNode, new: CallNode, names: Mapping[str, str] | None = None) -> list[AlignedPair]:
    """All nodes of two trees below their roots, outer ones first.

    Args:
        base: Root of the base's tree.
        new: Root of the new side's tree.
        names: Names of the new side by those of the base, for what was renamed.
    """
    return list(_below(base, new, "", "", names or {}))


def _below(
    base: CallNode, new: CallNode, base_path: str, new_path: str, names: Mapping[str, str]
) -> Iterator[AlignedPair]:
    left, right = list(base.children.values()), list(new.children.values())
    pairs = _named(left, right, names)
    found = {id(one) for pair in pairs for one in pair[:2]}
    left_over, right_over = ([one for one in side if id(one) not in found] for side in (left, right))
    within_new = _within(left_over, right_over, names)
    within_base = [] if within_new else _within(right_over, left_over, _inverse(names))
    taken = {id(one) for wrapped in (*within_new, *within_base) for one in (wrapped[0], wrapped[3])}
    pairs += _between(left, right, pairs, taken, names)
    taken = {id(one) for one, *_ in (*within_new, *within_base)} | {id(one) for pair in pairs for one in pair[:2]}
    for one, other, match in pairs:
        yield from _pair(one, other, base_path, new_path, names, match)
    for one, other, around, _ in within_new:
        yield from _pair(one, other, base_path, _joined(new_path, *around), names, "moved")
    for other, one, around, _ in within_base:
        yield from _pair(one, other, _joined(base_path, *around), new_path, names, "moved")
    inner = {id(one) for _, other, *_ in (*within_new, *within_base) for one in other.walk()}
    for one in left_over:
        if id(one) not in taken:
            yield from _alone(one, base_path, "only base", inner)
    for one in right_over:
        if id(one) not in taken:
            yield from _alone(one, new_path, "only new", inner)


def _pair(
    one: CallNode, other: CallNode, base_path: str, new_path: str, names: Mapping[str, str], match: Match
) -> Iterator[AlignedPair]:
    first, second = _joined(base_path, one.name), _joined(new_path, other.name)
    yield AlignedPair(one, other, first, second, match)
    yield from _below(one, other, first, second, names)


def _alone(
    node: CallNode, path: str, match: Literal["only base", "only new"], inner: set[int]
) -> Iterator[AlignedPair]:
    """A node without a counterpart and all below it, but for what has one."""
    if id(node) in inner:
        return
    here = _joined(path, node.name)
    of_base = match == "only base"
    yield AlignedPair(node if of_base else None, None if of_base else node, here if of_base else "",
                      "" if of_base else here, match)  # fmt: skip
    for child in node.children.values():
        yield from _alone(child, here, match, inner)


def _named(
    left: Sequence[CallNode], right: Sequence[CallNode], names: Mapping[str, str]
) -> list[tuple[CallNode, CallNode, Match]]:
    """Children of the same name and kind; what `names` says comes first."""
    by_name = {(one.name, one.kind): one for one in right}
    found: list[tuple[CallNode, CallNode, Match]] = []
    for mapped in (True, False):
        for one in left:
            wanted = names.get(one.name) if mapped else one.name
            other = by_name.pop((wanted, one.kind), None) if wanted is not None else None
            if other is not None and not any(one is known for known, *_ in found):
                found.append((one, other, "mapped" if mapped else "same"))
            elif other is not None:
                by_name[other.name, other.kind] = other
    return found


def _between(
    left: Sequence[CallNode],
    right: Sequence[CallNode],
    pairs: Sequence[tuple[CallNode, CallNode, Match]],
    taken: set[int],
    names: Mapping[str, str],
) -> list[tuple[CallNode, CallNode, Match]]:
    """What lies between the same children on both sides and belongs together under another name."""
    if max(len(left), len(right)) > _MOST:
        return []
    at = {id(other): i for i, other in enumerate(right)}
    place = {id(one): at[id(other)] for one, other, _ in pairs}
    anchors = _longest_ascending([(i, place[id(one)]) for i, one in enumerate(left) if id(one) in place])
    found: list[tuple[CallNode, CallNode, Match]] = []
    used = taken | {id(one) for pair in pairs for one in pair[:2]}
    for (low, start), (high, stop) in zip([(-1, -1), *anchors], [*anchors, (len(left), len(right))], strict=True):
        ones = [one for one in left[low + 1 : high] if id(one) not in used]
        others = [one for one in right[start + 1 : stop] if id(one) not in used]
        found += [(one, other, "renamed") for one, other in _alike(ones, others, names)]
    return found


def _alike(
    ones: list[CallNode], others: list[CallNode], names: Mapping[str, str]
) -> Iterator[tuple[CallNode, CallNode]]:
    """Nodes of other names that are the same: by plain name, by children, by place and numbers."""
    for test in (_plainly, lambda a, b: _share(a, b, names) >= _ALIKE):
        for one in list(ones):
            other = next((each for each in others if each.kind == one.kind and test(one, each)), None)
            if other is not None:
                ones.remove(one)
                others.remove(other)
                yield one, other
    if len(ones) == len(others):
        for one, other in zip(ones, others, strict=True):
            if (one.kind, one.calls, len(one.children)) == (other.kind, other.calls, len(other.children)):
                yield one, other


def _plainly(one: CallNode, other: CallNode) -> bool:
    plain = _PLAIN.sub("", one.name.rpartition("::")[2]).lower()
    return bool(plain) and plain == _PLAIN.sub("", other.name.rpartition("::")[2]).lower()


def _share(one: CallNode, other: CallNode, names: Mapping[str, str]) -> float:
    """The children that two nodes have in common, as a share of all."""
    first = {names.get(name, name) for name, _ in one.children}
    second = {name for name, _ in other.children}
    return len(first & second) / len(first | second) if first and second else 0.0


def _within(
    ones: Sequence[CallNode], others: Sequence[CallNode], names: Mapping[str, str]
) -> list[tuple[CallNode, CallNode, tuple[str, ...], CallNode]]:
    """Nodes that the other side has within a wrapper: node, counterpart, names of the wrappers, the outermost one."""
    found: list[tuple[CallNode, CallNode, tuple[str, ...], CallNode]] = []
    taken: set[int] = set()
    for one in ones:
        for wrapper in others:
            for inner, around in _deeper(wrapper, (wrapper.name,), 1):
                key = (names.get(one.name, one.name), one.kind)
                if (inner.name, inner.kind) == key and one.children and id(inner) not in taken:
                    taken.add(id(inner))
                    found.append((one, inner, around, wrapper))
                    break
            else:
                continue
            break
    return found


def _deeper(node: CallNode, around: tuple[str, ...], depth: int) -> Iterator[tuple[CallNode, tuple[str, ...]]]:
    for child in node.children.values():
        yield child, around
    if depth < _DEEPEST:
        for child in node.children.values():
            yield from _deeper(child, (*around, child.name), depth + 1)


def _longest_ascending(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence of pairs, ascending in the first, that ascends in the second too.

    Where names are unique that is their longest common subsequence.
    """
    best: list[int] = []
    before = [-1] * len(pairs)
    for i, (_, second) in enumerate(pairs):
        low, high = 0, len(best)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if pairs[best[middle]][1] < second else (low, middle)
        before[i] = best[low - 1] if low else -1
        best[low : low + 1] = [i]
    found: list[tuple[int, int]] = []
    at = best[-1] if best else -1
    while at >= 0:
        found.append(pairs[at])
        at = before[at]
    return found[::-1]


def _inverse(names: Mapping[str, str]) -> dict[str, str]:
    return {new: base for base, new in names.items()}


def _joined(path: str, *names: str) -> str:
    return " / ".join(filter(None, (path, *names)))
