"""Tables of aligned call trees: compute by module, and by operator within its module."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from stepscope.comparison.matching.alignment import AlignedPair, aligned
from stepscope.comparison.matching.call_tree import CallNode
from stepscope.comparison.parts.allocations import BESIDE_BYTES
from stepscope.comparison.parts.amounts import (
    BESIDE,
    CERTAIN,
    CERTAIN_BYTES,
    Amount,
    Beside,
    StepCounts,
    beside,
    certainty,
)
from stepscope.model.schema import Column, TableSchema, ns, text
from stepscope.model.table import Table

_MATCH: Final = text(
    "match",
    "same (the name), mapped (by --map), renamed (same place or children), moved (into or out of a wrapper), only base "
    "or only new; rest is what no call launched, as far as the recording shows.",
)
_PATHS: Final = (
    text("base_path", "Names from the outermost to it, joined by ` / `; null if the base has none.", nullable=True),
    text("new_path", "The same of the new side.", nullable=True),
)
_INPUTS: Final = tuple(
    text(f"{side}_{name}", f"{what} of the inputs of its first call {where}; null where not recorded.", nullable=True)
    for name, what in (("shapes", "Shapes"), ("dtypes", "Types"))
    for side, where in (("base", "on the base"), ("new", "on the new side"))
)
COMPUTE_MODULES: Final = TableSchema(
    "compute_modules",
    "Compute by module or range, aligned by the tree of calls. base_ns and new_ns are of operators and kernels in it "
    "and in no inner one, and add up to the part compute; totals include inner ones. The backward pass is on threads "
    "of its own: its operators are below no module, and their time is a column of its own.",
    (
        text("name", "The module or range; `(outside modules)` for what lies in none."), *_PATHS, _MATCH,
        Column("depth", "int32", "How many modules and ranges enclose it."),
        ns("base_total_ns", "Time per step of the base, inner ones included."),
        ns("new_total_ns", "The same of the new one."), *BESIDE,
        ns("base_backward_ns", "Backward pass of its operators per step of the base, inner modules' included, as far "
           "as the recording links the two; counted in `(outside modules)`."),
        ns("new_backward_ns", "The same of the new one."), *CERTAIN,
        text("base_stack", "Python stack of its first call on the base, outermost line first; null where not recorded.",
             nullable=True),
        text("new_stack", "The same of the new one.", nullable=True),
    ),
)  # fmt: skip
COMPUTE_MODULE_CLASSES: Final = TableSchema(
    "compute_module_classes",
    "`compute_modules` with modules of the same class in the same place as one row, such as the layers of a network. "
    "base_ns and new_ns add up to the part compute.",
    (
        text("name", "Classes from the outermost to it, joined by ` / `; `(outside modules)` for the rest."),
        *BESIDE,
        *CERTAIN,
    ),
)
COMPUTE_CALLS: Final = TableSchema(
    "compute_calls",
    "Compute by operator within the calls around it, aligned by the tree of calls. base_ns and new_ns are of kernels "
    "that it launched itself, and add up to the part compute. Rows without compute are left out.",
    (text("name", "The operator, module or range; `(no operator)` for kernels that none launched."), *_PATHS, _MATCH,
     *BESIDE,
     text("module", "Path of the innermost module or range around it, on the base if that has it; null outside.",
          nullable=True),
     Column("base_kernels", "string[]", "Kernels that it launched itself on the base, the eight that take longest: "
            "name, number and time per step."),
     Column("new_kernels", "string[]", "The same on the new side."), *CERTAIN, *_INPUTS),
)  # fmt: skip
MEMORY_CALLS: Final = TableSchema(
    "memory_calls",
    "Device memory allocated per step by operator within the calls around it, aligned by the tree of calls, the "
    "largest difference first. Rows add up to those of `memory`.",
    (text("name", "The operator, module or range; `(no operator)` for what none allocated."), *_PATHS, _MATCH,
     *BESIDE_BYTES, *CERTAIN_BYTES, *_INPUTS),
)  # fmt: skip
#: Kernels named of a call.
_MOST_KERNELS: Final = 8
#: PyTorch numbers the modules of a class.
_INSTANCE: Final = re.compile(r"_\d+(?= / |$)")
#: The row of what lies in no call.
_REST: Final = -1


def tree_tables(
    base: CallNode, new: CallNode, times: StepCounts, names: Mapping[str, str], wanted: Collection[str]
) -> dict[str, Table]:
    """Both tables.

    Args:
        base: Root of the base's tree.
        new: Root of the new side's tree.
        times: Steps times devices of either side.
        names: Names of the new side by those of the base.
        wanted: Names of tables.
    """
    pairs = aligned(base, new, names)
    found: dict[str, Table] = {}
    if COMPUTE_MODULE_CLASSES.name in wanted or COMPUTE_MODULES.name in wanted:
        found[COMPUTE_MODULES.name], found[COMPUTE_MODULE_CLASSES.name] = _modules(base, new, pairs, times)
    if COMPUTE_CALLS.name in wanted:
        found[COMPUTE_CALLS.name] = _calls(base, new, pairs, times)
    return {name: table for name, table in found.items() if name in wanted}


def memory_calls(base: CallNode, new: CallNode, times: StepCounts, names: Mapping[str, str]) -> Table:
    """Compare allocations by call.

    Args:
        base: Root of the base's tree, with bytes.
        new: Root of the new side's tree.
        times: Steps of either side.
        names: Names of the new side by those of the base.
    """
    pairs = aligned(base, new, names)
    rows = [
        (
            *_words(pairs, row.key, "(no operator)"),
            *row.values,
            *row.interval,
            *_inputs(*_nodes(base, new, pairs, row.key)),
        )
        for row in _own(base, new, pairs, times)
    ]
    return Table.from_rows(MEMORY_CALLS, rows)


def _own(base: CallNode, new: CallNode, pairs: Sequence[AlignedPair], times: StepCounts) -> list[Beside[int]]:
    """What each pair of calls accounts for itself, without those that account for nothing."""
    left = {_REST: base.own} | {i: pair.base.own for i, pair in enumerate(pairs) if pair.base is not None}
    right = {_REST: new.own} | {i: pair.new.own for i, pair in enumerate(pairs) if pair.new is not None}
    some = {key for side in (left, right) for key, one in side.items() if one.ns}
    left, right = ({key: one for key, one in side.items() if key in some} for side in (left, right))
    return beside(left, right, times)


def _calls(base: CallNode, new: CallNode, pairs: Sequence[AlignedPair], times: StepCounts) -> Table:
    modules = [{pair.base_path for pair in pairs if pair.node.kind != "op"},
               {pair.new_path for pair in pairs if pair.node.kind != "op"}]  # fmt: skip
    rows = []
    for row in _own(base, new, pairs, times):
        words = _words(pairs, row.key, "(no operator)")
        path, known = (words[1], modules[0]) if words[1] else (words[2], modules[1])
        nodes = _nodes(base, new, pairs, row.key)
        kernels = [_kernels(node, number) for node, number in zip(nodes, times[:2], strict=True)]
        rows.append((*words, *row.values, _module_of(path or "", known), *kernels, *row.interval, *_inputs(*nodes)))
    return Table.from_rows(COMPUTE_CALLS, rows)


def _module_of(path: str, modules: set[str]) -> str | None:
    """The longest beginning of a path that is a module's or range's."""
    while path and path not in modules:
        path = path.rpartition(" / ")[0]
    return path or None


def _nodes(
    base: CallNode, new: CallNode, pairs: Sequence[AlignedPair], key: int
) -> tuple[CallNode | None, CallNode | None]:
    return (base, new) if key == _REST else (pairs[key].base, pairs[key].new)


def _inputs(base: CallNode | None, new: CallNode | None) -> tuple[str | None, ...]:
    """The values of `_INPUTS`."""
    return (
        (base.shapes or None) if base else None, (new.shapes or None) if new else None,
        (base.dtypes or None) if base else None, (new.dtypes or None) if new else None,
    )  # fmt: skip


def _kernels(node: CallNode | None, times: int) -> list[str]:
    if node is None:
        return []
    longest = sorted(node.kernels, key=lambda name: (-node.kernels[name].ns, name))[:_MOST_KERNELS]
    amounts = [(name, node.kernels[name]) for name in longest]
    return [
        f"{name}, [number: {one.count / times:g}], [duration_us: {one.ns / times / 1e3:.3f}]" for name, one in amounts
    ]


def _modules(base: CallNode, new: CallNode, pairs: Sequence[AlignedPair], times: StepCounts) -> tuple[Table, Table]:
    of_base, of_new = _own_of_modules(base), _own_of_modules(new)
    if not any(pair.node.kind != "op" for pair in pairs):
        return Table.empty(COMPUTE_MODULES), Table.empty(COMPUTE_MODULE_CLASSES)
    left, right = {_REST: of_base[id(base)]}, {_REST: of_new[id(new)]}
    totals: dict[int, tuple[int, int, int, int]] = {_REST: (left[_REST].ns, right[_REST].ns, 0, 0)}
    for i, pair in enumerate(pairs):
        if pair.node.kind != "op":
            left[i] = of_base[id(pair.base)] if pair.base is not None else Amount()
            right[i] = of_new[id(pair.new)] if pair.new is not None else Amount()
            totals[i] = (
                pair.base.total() if pair.base else 0, pair.new.total() if pair.new else 0,
                pair.base.total_backward() if pair.base else 0, pair.new.total_backward() if pair.new else 0,
            )  # fmt: skip
    rows = []
    classes: dict[str, list[tuple[Beside[int], Amount, Amount]]] = {}
    for row in beside(left, right, times):
        words = _words(pairs, row.key, "(outside modules)")
        depth = 0 if row.key == _REST else _depth(pairs[row.key])
        if any(totals[row.key]):
            means = [total // (times.base, times.new)[i % 2] for i, total in enumerate(totals[row.key])]
            nodes = _nodes(base, new, pairs, row.key)
            stacks = [(node.stack or None) if node else None for node in nodes]
            rows.append((*words, depth, *means[:2], *row.values, *means[2:], *row.interval, *stacks))
            name = _INSTANCE.sub("", words[1] or words[2] or words[0])
            own = (row, left.get(row.key, Amount()), right.get(row.key, Amount()))
            classes.setdefault(name, []).append(own)
    return Table.from_rows(COMPUTE_MODULES, rows), _module_classes(classes, times)


def _module_classes(classes: Mapping[str, Sequence[tuple[Beside[int], Amount, Amount]]], times: StepCounts) -> Table:
    """Rows of the same class in the same place, those that differ most first."""
    rows = []
    for name, members in classes.items():
        base, new = sum((one for _, one, _ in members), Amount()), sum((one for _, _, one in members), Amount())
        mine = [one for one, _, _ in members]
        row = Beside(
            name, sum(one.base_ns for one in mine), sum(one.new_ns for one in mine),
            sum(one.base_count for one in mine), sum(one.new_count for one in mine), certainty(base, new, times),
        )  # fmt: skip
        rows.append(row)
    rows.sort(key=lambda row: (-abs(row.diff_ns), row.key))
    return Table.from_rows(COMPUTE_MODULE_CLASSES, [(row.key, *row.values, *row.interval) for row in rows])


def _words(pairs: Sequence[AlignedPair], key: int, rest: str) -> tuple[Any, ...]:
    if key == _REST:
        return rest, None, None, "rest"
    pair = pairs[key]
    name = pair.node.name
    if pair.base is not None and pair.new is not None and pair.base.name != pair.new.name:
        name = f"{pair.base.name} → {pair.new.name}"
    return name, pair.base_path or None, pair.new_path or None, pair.match


def _depth(pair: AlignedPair) -> int:
    return (pair.base_path or pair.new_path).count(" / ")


def _own_of_modules(root: CallNode) -> dict[int, Amount]:
    """Compute in each module or range and in no inner one, operators' included, by the node's identity."""
    found: dict[int, Amount] = {}

    def gather(node: CallNode, owner: CallNode) -> None:
        mine = owner if node.kind == "op" else node
        found[id(mine)] = found.get(id(mine), Amount()) + node.own
        for child in node.children.values():
            gather(child, mine)

    gather(root, root)
    return found
