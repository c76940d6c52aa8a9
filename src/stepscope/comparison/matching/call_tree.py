"""The tree of modules, ranges and operators of a side, with what each of them launched or allocated itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.host.modules import MARK, forward_modules, paths_of
from stepscope.analyses.memory.memory_operators import enclosing
from stepscope.analyses.shared.grouping import Groups
from stepscope.analyses.shared.host_tree import HostTree, host_trees
from stepscope.comparison.parts.allocations import StepAllocations
from stepscope.comparison.parts.amounts import Amount
from stepscope.comparison.parts.batches import StepBatches
from stepscope.comparison.parts.charged import BUSY, ChargedWork
from stepscope.comparison.side import ComparedSide
from stepscope.model.events.columns import Spans, names_by_id

_CATEGORIES: Final = ("module", "annotation", "op")
_MODULE_SQL: Final = "SELECT event, coalesce(module, -1) AS module FROM kernels"
#: Ranges are numbered by what they repeat: `batch 17` of one step is `batch 18` of the next.
_NUMBER: Final = re.compile(r"\d+")
#: Ranges that some profilers list among the operators.
_RANGE: Final = re.compile(r"Optimizer\.(?:step|zero_grad)#")


@dataclass(slots=True, eq=False)
class CallNode:
    """Calls of one name below the same calls.

    Attributes:
        name: Name; numbers in names of ranges are `#`.
        kind: module, annotation or op.
        children: By name and kind, in the order of their first call.
        own: What it launched or allocated itself, in no module, range or operator inside it; how many.
        kernels: Names of kernels that it launched itself, with their part of `own`.
        backward: Of a module or range: the backward pass of its operators that lie in no inner one.
        calls: How often it was called in the side's steps.
        event: Its first call; -1 for the root.
        stack: Python stack of that, outermost line first; empty where not recorded, or not asked for.
        shapes: Shapes of the inputs of that; likewise.
        dtypes: Their types; likewise.
    """

    name: str
    kind: str
    children: dict[tuple[str, str], CallNode] = field(default_factory=dict)
    own: Amount = field(default_factory=Amount)
    kernels: dict[str, Amount] = field(default_factory=dict)
    backward: Amount = field(default_factory=Amount)
    calls: int = 0
    event: int = -1
    stack: str = ""
    shapes: str = ""
    dtypes: str = ""

    def total(self) -> int:
        """What was launched or allocated in it, over all steps."""
        return self.own.ns + sum(child.total() for child in self.children.values())

    def total_backward(self) -> int:
        """Backward pass of its operators, inner ones included, over all steps."""
        return self.backward.ns + sum(child.total_backward() for child in self.children.values())

    def walk(self) -> Iterator[CallNode]:
        """The node and all below it, outer ones first."""
        yield self
        for child in self.children.values():
            yield from child.walk()


@dataclass(frozen=True, slots=True, eq=False)
class CallCharges:
    """What n kernels or allocations are charged to the calls around them.

    Attributes:
        holder: int64[n], event that launched or made it; -1 if unknown.
        amount: int64[n], ns or bytes.
        count: int64[n], 1 where it counts.
        name: int64[n], `name_id` of the kernel; -1 for none.
        forward: int64[n], in the backward pass the module or range whose operator it belongs to; else -1.
        batch: int64[n], batch of steps that it belongs to.
        batches: The batches.
    """

    holder: NDArray[np.int64]
    amount: NDArray[np.int64]
    count: NDArray[np.int64]
    name: NDArray[np.int64]
    forward: NDArray[np.int64]
    batch: NDArray[np.int64]
    batches: StepBatches


def compute_charges(side: ComparedSide, work: ChargedWork) -> CallCharges:
    """The compute kernels of a side's steps."""
    chosen = np.flatnonzero((work.part == BUSY.index("compute")) & (work.inside | (work.ns > 0)))
    op = work.work.op[chosen]
    rows = side.trace.columns(_MODULE_SQL)
    order = np.argsort(rows["event"], kind="stable")
    at = order[np.searchsorted(rows["event"], work.work.event[chosen], sorter=order)]
    holder = np.where(op >= 0, op, rows["module"][at]).astype(np.int64)
    count = work.inside[chosen].astype(np.int64)
    forward = np.full(chosen.size, -1, np.int64)
    launching, module = side.trace.once(forward_modules)
    if launching.size:
        found = np.minimum(np.searchsorted(launching, op), launching.size - 1)
        forward = np.where(launching[found] == op, module[found], -1)
    name = work.work.name[chosen].astype(np.int64)
    return CallCharges(holder, work.ns[chosen], count, name, forward, work.batch[chosen], work.batches)


def allocation_charges(side: ComparedSide, made: StepAllocations) -> CallCharges:
    """The allocations of a side's steps, each charged to the innermost call around it."""
    at = enclosing(side.trace, made.owner, *_CATEGORIES)
    holder = np.full(at.size, -1, np.int64)
    holder[at >= 0] = Spans(side.trace).id[at[at >= 0]]
    none = np.full(made.bytes.size, -1, np.int64)
    return CallCharges(holder, made.bytes, np.ones_like(made.bytes), none, none, made.batch, made.batches)


def call_tree(side: ComparedSide, charges: CallCharges) -> CallNode:
    """The tree below a root, whose own amount is what no call accounts for as far as the recording shows."""
    root = CallNode("", "root")
    names, spans = side.trace.once(names_by_id), Spans(side.trace)
    left = np.ones(charges.holder.size, np.bool_)
    for tree in host_trees(side.trace, _CATEGORIES):
        if not tree.id.size:
            continue
        nodes, node_of = _add(root, tree, names)
        inside = np.isin(spans.step[spans.rows(tree.id)], side.steps)
        calls = np.bincount(node_of[inside], minlength=len(nodes))
        for node, number in zip(nodes, calls.tolist(), strict=True):
            node.calls += number
        position = np.where(left, tree.positions(charges.holder), -1)
        here = np.flatnonzero(position >= 0)
        left[here] = False
        _charge(nodes, node_of[position[here]], charges, here, names)
        position = tree.positions(charges.forward)
        for i in np.flatnonzero(position >= 0).tolist():
            nodes[int(node_of[position[i]])].backward += Amount(int(charges.amount[i]), int(charges.count[i]))
    _charge([root], np.zeros(int(left.sum()), np.int64), charges, np.flatnonzero(left), names)
    return root


def _charge(
    nodes: list[CallNode], owner: NDArray[np.int64], charges: CallCharges, at: NDArray[np.int64], names: dict[int, str]
) -> None:
    if not at.size:
        return
    groups = Groups.by(owner, charges.name[at])
    amounts = charges.batches.amounts(
        groups.index, charges.batch[at], charges.amount[at], groups.sum(charges.count[at])
    )
    kernels = charges.name[at][groups.first].tolist()
    for node, kernel, mine in zip(owner[groups.first].tolist(), kernels, amounts, strict=True):
        nodes[node].own += mine
        if kernel >= 0:
            name = names.get(kernel, "")
            nodes[node].kernels[name] = nodes[node].kernels.get(name, Amount()) + mine


def _add(root: CallNode, tree: HostTree, names: dict[int, str]) -> tuple[list[CallNode], NDArray[np.int64]]:
    """Add a tree's paths below the root; returns a node per path, and the path of each event."""
    path, parent = paths_of(tree)
    first = np.full(parent.size, tree.id.size)
    np.minimum.at(first, path, np.arange(tree.id.size))
    nodes: list[CallNode] = [root] * parent.size
    by_depth = np.lexsort((first, tree.depth[first]))
    for one in by_depth.tolist():
        at = int(first[one])
        name = names.get(int(tree.name[at]), "").removeprefix(MARK)
        kind = "annotation" if _RANGE.match(name) else _CATEGORIES[int(tree.category[at])]
        name = _NUMBER.sub("#", name) if kind == "annotation" else name
        around = root if parent[one] < 0 else nodes[int(parent[one])]
        nodes[one] = around.children.setdefault((name, kind), CallNode(name, kind, event=int(tree.id[at])))
    return nodes, path
