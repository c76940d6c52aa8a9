"""Floating-point operations and bytes of operators, given to the kernels that do the work.

A kernel's launch lies in several operators at once (`linear` > `addmm`), which cost the same work. The innermost one
with a cost model counts. An operator that contains it counts only for other work: composed attention must not be
added to the matrix products it consists of.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from stepscope.model.intervals import distinct
from stepscope.model.kernel_names import OP_CLASSES
from stepscope.model.lookup import match
from stepscope.model.opcost import KNOWN, cost
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]

#: Their cost is that of the products inside them, whatever name those have.
_PRODUCTS: Final = [OP_CLASSES.index(name) for name in ("gemm", "attention", "convolution")]

#: No call moves more bytes than this, 35 TB; shapes that say so are wrong.
_MOST_BYTES: Final = 2**45

_NAMES_SQL: Final = """
CREATE TEMP TABLE cost_names AS SELECT name_id, name FROM names n
SEMI JOIN cost_known k ON k.name = n.name OR k.name = split_part(n.name, '.', 1)
"""
#: Operators that may have a cost around each operator that launched something, with itself as level 0.
_CHAIN_SQL: Final = "SELECT op, level, around, name_id FROM op_chain SEMI JOIN cost_names USING (name_id)"
_CALLS_SQL: Final = """
SELECT i.event, i.texts FROM input_calls i SEMI JOIN cost_around a ON a.event = i.event
SEMI JOIN (FROM input_texts WHERE shapes IS NOT NULL) t ON t.texts = i.texts
"""
_SIGNATURES_SQL: Final = """
SELECT name, shapes, dtypes, "values" FROM cost_calls JOIN cost_names USING (name_id) JOIN input_texts USING (texts)
ORDER BY nth
"""


def find_costs(staging: Staging, event: Ids, op: Ids, op_class: NDArray[np.int8]) -> pa.Table:
    """FLOPs and bytes of one compute kernel of every operator that has a cost model.

    It is the operator's first kernel of the class that its cost is of, or its first if there is none.

    Args:
        staging: Where operators and their inputs are.
        event: int64[n], compute kernels by time.
        op: int64[n], their operators; -1 for none.
        op_class: int8[n], their classes, as positions in `OP_CLASSES`.

    Returns:
        event, flops and bytes of those that have a cost.
    """
    chain = _Chain.read(staging, distinct(op[op >= 0]))
    # The innermost operator with a cost around each launching one.
    first = np.append(True, chain.op[1:] != chain.op[:-1])[: chain.op.size]
    innermost = np.flatnonzero(first)[np.cumsum(first) - 1]
    # Chosen operators that consist, at least in part, of others that are chosen.
    is_product = np.isin(chain.kind, _PRODUCTS)
    composed = chain.around[~first & (~is_product | is_product[innermost])]

    at = match(chain.op[first], op)
    kernel = np.flatnonzero(at >= 0)
    chosen = innermost[first][at[kernel]]
    alone = match(distinct(composed), chain.around[chosen]) < 0
    kernel, chosen = kernel[alone], chosen[alone]
    # The kernel that does the work: a convolution may first change the layout of its inputs.
    other = op_class[kernel] != chain.kind[chosen]
    order = np.lexsort((kernel, other, chain.around[chosen]))
    around = chain.around[chosen[order]]
    order = order[np.append(True, around[1:] != around[:-1])[: around.size]]
    costs = [chain.costs[number] for number in chain.cost[chosen[order]].tolist()]
    return pa.table(
        {
            "event": event[kernel[order]],
            "flops": pa.array([flops for _, flops, _ in costs], pa.float64()),
            "bytes": pa.array([moved for *_, moved in costs], pa.int64()),
        }
    )


@dataclass(frozen=True, slots=True)
class _Chain:
    """n operators with a cost around operators that launched compute, by the latter and from the inside out.

    Attributes:
        op: int64[n], the operator that launched.
        around: int64[n], the one with a cost.
        kind: int64[n], what its cost is of, as a position in `OP_CLASSES`; -1 for anything else.
        cost: int64[n], position of its cost.
        costs: Kind, FLOPs and bytes of the distinct calls.
    """

    op: Ids
    around: Ids
    kind: Ids
    cost: Ids
    costs: list[tuple[int, float, int | None]]

    @classmethod
    def read(cls, staging: Staging, ops: Ids) -> _Chain:
        """All around these operators."""
        connection = staging.connection
        connection.execute("CREATE TEMP TABLE cost_known (name VARCHAR)")
        staging.insert("cost_known", pa.table({"name": sorted(KNOWN)}))
        connection.execute(_NAMES_SQL)
        rows = connection.execute(_CHAIN_SQL).fetchnumpy()
        chosen = np.flatnonzero(match(ops, rows["op"]) >= 0)
        chosen = chosen[np.lexsort((rows["level"][chosen], rows["op"][chosen]))]
        op, around, name_id = (rows[name][chosen] for name in ("op", "around", "name_id"))
        connection.register("cost_around", pa.table({"event": distinct(around)}))
        calls = connection.execute(_CALLS_SQL).fetchnumpy()
        connection.unregister("cost_around")
        at = match(calls["event"], around)
        told = at >= 0
        op, around, name_id, texts = op[told], around[told], name_id[told], calls["texts"][at[told]]
        cost, costs = _costs(staging, name_id.astype(np.int64), texts.astype(np.int64))
        known = cost >= 0
        kind = np.array([kind for kind, *_ in costs] or [-1], np.int64)[cost[known]]
        return cls(op[known], around[known], kind, cost[known], costs)


def _costs(staging: Staging, name_id: Ids, texts: Ids) -> tuple[Ids, list[tuple[int, float, int | None]]]:
    """Position of the cost of each call, -1 where it has none, and the costs of the distinct calls."""
    keys = distinct(name_id << 32 | texts)
    calls = {"nth": np.arange(keys.size), "name_id": keys >> 32, "texts": keys & (2**32 - 1)}
    staging.connection.register("cost_calls", pa.table(calls))
    rows = staging.connection.execute(_SIGNATURES_SQL).fetchall()
    staging.connection.unregister("cost_calls")
    position = np.full(keys.size, -1, np.int64)
    costs: list[tuple[int, float, int | None]] = []
    for nth, (name, shapes, dtypes, concrete) in enumerate(rows):
        found = cost(name, _parsed(shapes), _parsed(dtypes), _parsed(concrete))
        if found is not None:
            position[nth] = len(costs)
            kind = OP_CLASSES.index(found.kind) if found.kind in OP_CLASSES else -1
            moved = found.bytes if found.bytes is not None and found.bytes <= _MOST_BYTES else None
            costs.append((kind, float(found.flops), moved))
    return position[np.searchsorted(keys, name_id << 32 | texts)], costs


@lru_cache(maxsize=4096)
def _parsed(text: str | None) -> list[Any]:
    """A recorded list; empty if it is missing or no list. The result is shared, not to be changed."""
    try:
        value = json.loads(text) if text else []
    except (ValueError, RecursionError):
        return []
    return value if isinstance(value, list) else []
