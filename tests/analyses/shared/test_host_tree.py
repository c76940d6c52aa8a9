"""Sums over subtrees, and regions within regions of their name, against plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.analyses.shared.host_tree import HostTree, _order, host_tree, host_trees
from stepscope.model.events.nesting import nest
from stepscope.model.sizes import SIZES
from support import Facts

EVENTS = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 30), st.integers(0, 3), st.booleans()), max_size=25)


def tree_of(events: list[tuple[int, int, int, bool]]) -> HostTree:
    ts, dur, name, _ = (np.array([event[i] for event in sorted(events)], np.int64) for i in range(4))
    nesting = nest(ts, ts + dur)
    n = ts.size
    return HostTree(
        np.arange(n), np.zeros(n, np.int32), name.astype(np.int32), np.zeros(n, np.int8), ts, dur,
        nesting.end - ts, nesting.depth, nesting.parent,
    )  # fmt: skip


def ancestors(tree: HostTree, position: int) -> list[int]:
    found = []
    while (position := int(tree.parent[position])) >= 0:
        found.append(position)
    return found


@given(EVENTS)
def test_roll_up_adds_descendants(events: list[tuple[int, int, int, bool]]) -> None:
    tree = tree_of(events)
    values = np.arange(len(events)) * 7 % 5
    expected = values.tolist()
    for position in range(len(events)):
        for above in ancestors(tree, position):
            expected[above] += int(values[position])
    assert tree.roll_up(values).tolist() == expected


@given(EVENTS)
def test_outermost_of_each_name(events: list[tuple[int, int, int, bool]]) -> None:
    tree = tree_of(events)
    among = np.array([event[3] for event in sorted(events)], np.bool_)
    expected = [
        bool(among[position])
        and not any(among[above] and tree.name[above] == tree.name[position] for above in ancestors(tree, position))
        for position in range(len(events))
    ]
    assert tree.outermost(among).tolist() == expected


@settings(deadline=None, max_examples=5)
@given(st.permutations(range(6)))
def test_positions_of_events(order: list[int]) -> None:
    f = Facts()
    for number in order:
        f.host("op", f"op{number}", 10 * number, 5, thread=str(number % 2))
    tree = host_tree(f.trace(), ("op",))
    wanted = np.array([3, 99, 0, -1])
    found = tree.positions(wanted)
    assert np.where(found < 0, -1, tree.id[found]).tolist() == [3, -1, 0, -1]


def test_only_host_events_of_the_categories_and_those_asked_for() -> None:
    f = Facts()
    op = f.host("op", "aten::mm", 0, 100)
    call = f.host("launch", "cudaLaunchKernel", 10, 5)
    f.host("runtime", "cudaMalloc", 20, 5)
    f.kernel("k", 50, 10)
    tree = host_tree(f.trace(), ("op",), "SELECT $call::BIGINT", {"call": call})
    assert (tree.id.tolist(), tree.category.tolist(), tree.parent.tolist()) == ([op, call], [0, -1], [-1, 0])


def test_an_empty_recording_has_an_empty_tree() -> None:
    f = Facts()
    f.kernel("k", 0, 10)
    tree = host_tree(f.trace(), ("op",))
    none = np.zeros(0, np.int64)
    assert tree.roll_up(none).size == tree.outermost(none.astype(np.bool_)).size == 0
    assert tree.positions(np.array([1])).tolist() == [-1]


def test_events_of_other_categories_are_there_for_their_position_at_any_size() -> None:
    facts = Facts()
    operators = [facts.host("op", "aten::mm", 10 * i, 5) for i in range(6)]
    frame = facts.host("python", "train.py(3): step", 100, 5)
    query = "SELECT id FROM spans WHERE category = 'python'"
    trace = facts.trace()
    for tree in (host_tree(trace, ["op"], query), *host_trees(trace, ["op"], query)):
        others = np.flatnonzero(tree.category == -1)
        assert set(tree.id[others].tolist()) <= {frame}
        assert set(np.delete(tree.id, others).tolist()) <= set(operators)
    assert sum((tree.category == -1).sum() for tree in host_trees(trace, ["op"], query)) == 1


def test_trees_that_are_read_in_turns_have_each_their_own_events() -> None:
    facts = Facts()
    operators = [facts.host("op", "aten::mm", 10 * i, 5) for i in range(6)]
    frames = [facts.host("python", f"train.py({i}): step", 10 * i + 1, 2) for i in range(6)]
    trace = facts.trace()
    with SIZES.changed(nested_events=2):
        one, other = (host_trees(trace, ["op"], np.array(some, np.int64)) for some in (frames[:3], frames[3:]))
        found: tuple[list[int], list[int]] = [], []
        for trees in zip(one, other, strict=False):
            for ids, tree in zip(found, trees, strict=True):
                ids += tree.id.tolist()
        for ids, trees in zip(found, (one, other), strict=True):
            ids += [each for tree in trees for each in tree.id.tolist()]
    assert [sorted(ids) for ids in found] == [sorted(operators + frames[:3]), sorted(operators + frames[3:])]


def test_of_events_that_start_together_the_longest_is_first_then_the_first_recorded() -> None:
    rows = {
        "track": np.array([0, 0, 0, 0, 1]), "ts": np.array([0, 5, 5, 5, 5]), "dur": np.array([9, 1, 3, 3, 7]),
        "id": np.array([0, 1, 3, 2, 4]),
    }  # fmt: skip
    _order(rows)
    assert rows["id"].tolist() == [0, 2, 3, 1, 4]
    assert rows["dur"].tolist() == [9, 3, 3, 1, 7]
