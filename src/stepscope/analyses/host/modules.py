"""Time by module and annotation, as a tree: on the host, on the device, and in the backward pass."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.grouping import Groups, nullable, ordered_table, shares, texts
from stepscope.analyses.shared.host_tree import HostTree, host_tree
from stepscope.analyses.shared.needs import need_host
from stepscope.model.intervals import Times
from stepscope.model.schema import Column, TableSchema, count, ns, summary_columns, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

MODULES = TableSchema(
    "modules",
    "The tree of modules and annotations on the host's threads; calls with the same path are one row. Durations are "
    "those on the host; device times are sums of durations of device activities, concurrent ones each in full. Of the "
    "rows with the same parent, total_ns and device_ns add up to at most those of the parent.",
    (
        *summary_columns("module or annotation", "the time of all outermost ones"),
        RANK,
        text("path", "Names from the outermost to this one, joined by ` / `."),
        text("parent", "Path of the enclosing one; null for an outermost one.", nullable=True),
        Column("depth", "int32", "How many enclose it."),
        text("kind", "module or annotation."),
        ns("self_ns", "The part of total_ns in none of those inside it."),
        ns("device_ns", "Device activities launched inside it."),
        ns("self_device_ns", "Device activities launched inside it and in none of those inside it."),
        ns("backward_ns", "Device activities launched by the backward pass of the operators inside it, as far as the "
           "recording links the two. Not part of device_ns."),
        count("kernels", "Device activities in device_ns."),
    ),
)  # fmt: skip

_CATEGORIES: Final = ("module", "annotation")
#: PyTorch's mark of a module's frame, which says nothing in a path of modules.
MARK: Final = "nn.Module: "

_KERNELS_SQL: Final = "SELECT module, dur FROM kernels WHERE module IS NOT NULL AND kind <> 'sync'"
_FLOWS_SQL: Final = """
SELECT source, target FROM flows WHERE kind = 'forward_backward' AND source IS NOT NULL AND target IS NOT NULL
ORDER BY target, source
"""
_OPERATORS_SQL: Final = (
    "SELECT op, sum(dur)::BIGINT AS dur FROM kernels WHERE op IS NOT NULL AND kind <> 'sync' GROUP BY 1 ORDER BY 1"
)
_LAUNCHING_SQL: Final = "SELECT DISTINCT op FROM kernels WHERE op IS NOT NULL AND kind <> 'sync' ORDER BY 1"


def modules(trace: Trace) -> Table:
    """Sum the tree of modules and annotations up.

    Raises:
        MissingInputError: The recording has neither.
    """
    need_host(trace, _CATEGORIES, "modules")
    tree = host_tree(trace, _CATEGORIES)
    path, parent = paths_of(tree)
    direct, kernels = np.zeros(tree.id.size, np.int64), np.zeros(tree.id.size, np.int64)
    rows = trace.columns(_KERNELS_SQL)
    position = tree.positions(rows["module"])
    known = position >= 0
    np.add.at(direct, position[known], rows["dur"][known])
    np.add.at(kernels, position[known], 1)
    groups = Groups.by(path)
    first = groups.first
    names = [str(name).removeprefix(MARK) for name in texts(trace, tree.name[first])]
    full = _full_paths(names, parent)
    total = groups.sum(tree.kept)
    columns = {
        **groups.summary(tree.kept),
        "name": names,
        "share": shares(total, int(total[parent < 0].sum())),
        "rank": np.full(first.size, trace.ranks[0]),
        "path": full,
        "parent": nullable(np.array([full[i] for i in parent], object), parent < 0),
        "depth": tree.depth[first],
        "kind": [_CATEGORIES[i] for i in tree.category[first].tolist()],
        "self_ns": groups.sum(_own(tree)),
        "device_ns": groups.sum(tree.roll_up(direct)),
        "self_device_ns": groups.sum(direct),
        "backward_ns": groups.sum(tree.roll_up(_backward(trace, tree))),
        "kernels": groups.sum(tree.roll_up(kernels)),
    }
    return ordered_table(MODULES, columns, ("path", "kind"))


def paths_of(tree: HostTree) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The path of each event as a number, and the path around each path, -1 if there is none.

    Events with the same names around them, of the same categories, have the same path; paths count from 0, outer ones
    first.
    """
    path = np.full(tree.id.size, -1, np.int64)
    parents: list[NDArray[np.int64]] = []
    paths = 0
    for depth in range(int(tree.depth.max(initial=-1)) + 1):
        here = np.flatnonzero(tree.depth == depth)
        around = np.where(tree.parent[here] < 0, -1, path[tree.parent[here]])
        groups = Groups.by(around, tree.name[here], tree.category[here])
        path[here] = paths + groups.index
        parents.append(around[groups.first])
        paths += groups.first.size
    return path, np.concatenate(parents)


def _full_paths(names: list[str], parent: NDArray[np.int64]) -> list[str]:
    full: list[str] = []
    for name, around in zip(names, parent.tolist(), strict=True):
        full.append(name if around < 0 else f"{full[around]} / {name}")
    return full


def _own(tree: HostTree) -> Times:
    """Host time of each event in none of those inside it."""
    own: Times = tree.kept.copy()
    inner = np.flatnonzero(tree.parent >= 0)
    np.subtract.at(own, tree.parent[inner], tree.kept[inner])
    return own


def forward_modules(trace: Trace) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Operators that launch device work of the backward pass, and the modules that they belong to.

    Returns:
        int64[k], events that launch, ascending; and int64[k], the innermost module or annotation around the forward
        operator of each. Only those that the recording links to one.
    """
    none = np.zeros(0, np.int64), np.zeros(0, np.int64)
    flows = trace.columns(_FLOWS_SQL)
    if not flows["source"].size:
        return none
    forward = host_tree(trace, _CATEGORIES, also="SELECT source FROM flows WHERE kind = 'forward_backward'")
    around = forward.nearest(forward.category >= 0)[forward.positions(flows["source"])]
    module = np.where(around < 0, -1, forward.id[around])
    wanted = "SELECT target FROM flows WHERE kind = 'forward_backward' UNION SELECT op FROM kernels"
    backward = host_tree(trace, (), also=wanted)
    targets, first = np.unique(backward.positions(flows["target"]), return_index=True)
    is_target = np.zeros(backward.id.size, np.bool_)
    is_target[targets[targets >= 0]] = True
    launching = trace.columns(_LAUNCHING_SQL)["op"]
    at = backward.positions(launching)
    launching, at = launching[at >= 0], at[at >= 0]
    target = backward.nearest(is_target)[at]
    launching, target = launching[target >= 0], target[target >= 0]
    owner = module[first[np.searchsorted(targets, target)]]
    return launching[owner >= 0].astype(np.int64), owner[owner >= 0].astype(np.int64)


def _backward(trace: Trace, tree: HostTree) -> Times:
    """Device time of backward operators, at the innermost event around the forward operator of each."""
    found = np.zeros(tree.id.size, np.int64)
    launching, module = trace.once(forward_modules)
    if launching.size:
        work = trace.columns(_OPERATORS_SQL)
        at = np.searchsorted(work["op"], launching)
        position = tree.positions(module)
        np.add.at(found, position[position >= 0], work["dur"][at][position >= 0])
    return found


ANALYSES = (Analysis(MODULES, modules),)
