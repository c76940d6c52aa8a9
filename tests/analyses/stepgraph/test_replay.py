"""The replay of a graph agrees with going from node to node and edge to edge, whatever follows what."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.analyses.stepgraph.building.nodes import DEVICE, HOST, Edges, Graph, Nodes, connect
from stepscope.analyses.stepgraph.plan import plan
from stepscope.analyses.stepgraph.replay import Late, Timing, replay

#: By node: on the device or not, how long it takes, whether it waits for other ranks, and its edges (how many nodes
#: before, and time).
NODES = st.lists(
    st.tuples(
        st.booleans(),
        st.integers(0, 50),
        st.booleans(),
        st.lists(st.tuples(st.integers(1, 30), st.integers(-5, 20)), min_size=1, max_size=4),
    ),
    max_size=30,
)


def one_by_one(origin: int, graph: Graph, times: Timing) -> list[int]:
    ends = [origin]
    for node in range(1, times.took.size):
        edges = range(graph.first[node], graph.first[node + 1])
        start = max(ends[times.on[edge]] + int(times.lag[edge]) for edge in edges)
        if node in times.late:
            part, lag, together, apart = times.late[node]
            ready = max(ends[before] + wait for before, wait in part)
            later = min(lag * max(ready - ends[together], 0) // apart, 4 * lag) if apart else lag
            start = max(start, ready + later)
        ends.append(start + int(times.took[node]))
    return ends


@given(NODES)
def test_is_that_of_node_after_node(found: list[tuple[bool, int, bool, list[tuple[int, int]]]]) -> None:
    size = len(found) + 1
    kind = np.array([HOST, *(DEVICE if device else HOST for device, *_ in found)], np.int8)
    took = np.array([0, *(took for _, took, *_ in found)], np.int64)
    end = 100 * np.arange(size)
    nodes = Nodes(kind, end - took, end, np.full(size, -1), np.arange(size))
    edges = {(node, max(node - back, 0)): lag for node, (*_, edges) in enumerate(found, start=1) for back, lag in edges}
    pairs = np.array(list(edges), np.int64).reshape(-1, 2).T
    graph = connect(nodes, Edges.of(0, pairs[0], pairs[1], np.array(list(edges.values()), np.int64)))
    late: Late = {
        node: (((max(node - back, 0), lag),), took, 0, node % 2)
        for node, (device, took, waits, [(back, lag), *_]) in enumerate(found, start=1)
        if device and waits
    }
    for times in (
        Timing(graph.on, graph.lag, took, {}),
        Timing(graph.on, graph.lag // 2, took * 3, late),
    ):
        assert replay(7, plan(graph), times).tolist() == one_by_one(7, graph, times)


def test_unchanged_is_as_recorded() -> None:
    nodes = Nodes(np.full(4, HOST, np.int8), np.arange(4) * 10, np.arange(4) * 10, np.full(4, -1), np.arange(4))
    graph = connect(nodes, Edges.of(0, np.array([1, 2, 3]), np.array([0, 1, 2]), 99))
    layout = plan(graph)
    assert not layout.node.size
    assert [hop.tolist() for hop in layout.hops] == [[3, 0, 1, 3], [3, 3, 0, 3]]
    assert replay(5, layout, Timing(graph.on, graph.lag, np.zeros(4, np.int64), {})).tolist() == [5, 15, 25, 35]
