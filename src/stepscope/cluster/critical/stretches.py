"""The decisive chains of a rank that lead to its calls with other ranks, each told once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from stepscope.analyses.stepgraph.building.build import Built
from stepscope.analyses.stepgraph.building.nodes import NODE
from stepscope.analyses.stepgraph.path import DecisivePath, Segment
from stepscope.cluster.critical.matched_calls import MatchedCall


class PathStretch(NamedTuple):
    """A node and what led up to it; segments are the last first.

    Attributes:
        node: The node; -1 for the end of the step.
        start: Its start in ns.
        own: Segments of the node itself.
        before: Segments back to the end of node `then`.
        then: The node at which the next stretch ends; 0 if this one reaches the start of the step.
        left: When it begins, ns.
    """

    node: int
    start: int
    own: list[Segment]
    before: list[Segment]
    then: int
    left: int


def stretches(
    built: Built, matched: Mapping[int, MatchedCall], rank: int, last: int, lo: int, hi: int
) -> list[PathStretch]:
    """The stretches of a step that the path across ranks can come through, that of the step's end first.

    Each leads to the stretch before it. Those that come together are told apart only up to there.

    Args:
        built: The graph of the rank.
        matched: Its calls with others, by node.
        rank: The rank.
        last: The node at which the step ends.
        lo: Start of the step, ns.
        hi: Its end.
    """
    path = DecisivePath(built)
    #: At the others the path leaves this rank.
    through = [node for node, call in matched.items() if call.message or call.other == rank]
    stops = set(matched) | _joints(path, matched, [last, *through], lo)
    found: list[PathStretch] = []
    if last in stops:
        after = [(path.ends[last], hi, 0, NODE)] if path.ends[last] < hi else []
        found.append(PathStretch(-1, hi, [], after, last, min(path.ends[last], hi)))
    else:
        found.append(PathStretch(-1, hi, [], *path.back(last, lo, hi, stops)))
    leaving = set(matched) - set(through)
    for node in sorted(stops - leaving):
        own = _own(path, node)
        found.append(PathStretch(node, path.starts[node], own, *path.back(node, lo, path.starts[node], stops)))
    # Of the calls at which the path leaves, most are not come to.
    for node in sorted(leaving & {one.then for one in found}):
        start = path.starts[node]
        found.append(PathStretch(node, start, _own(path, node), [], 0, start))
    return found


def _own(path: DecisivePath, node: int) -> list[Segment]:
    """The node's own segment, if it takes time."""
    start, end = path.starts[node], path.ends[node]
    return [(start, end, node, NODE)] if end > start else []


def _joints(path: DecisivePath, matched: Mapping[int, MatchedCall], ends: Iterable[int], lo: int) -> set[int]:
    """Nodes other than calls at which chains that lead to several of these ends come together."""
    passed: set[int] = set()
    joints: set[int] = set()
    for node in ends:
        at = node if node in matched or not node else _pass(passed, joints, node)
        while (at := path.on[at]) and at not in matched and path.ends[at] > lo:
            if _pass(passed, joints, at) in joints:
                break
    return joints


def _pass(passed: set[int], joints: set[int], node: int) -> int:
    """Note that a chain goes through a node."""
    if node in passed:
        joints.add(node)
    passed.add(node)
    return node
