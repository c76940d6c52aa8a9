"""Assign FLOPs and bytes of operators to the kernels that do the work.

A kernel's launch lies in several operators at once (`linear` > `addmm`), which cost the same work. The innermost one
with a cost model counts. An operator that contains it counts only for other work: composed attention must not be
added to the GEMMs it consists of.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from stepscope.ingest.derive.inputs import texts_of
from stepscope.ingest.derive.names.classes import names_of
from stepscope.model.events.lookup import match
from stepscope.model.intervals import distinct
from stepscope.model.kernel_names import OP_CLASSES
from stepscope.model.opcost import KNOWN, cost
from stepscope.store.staging import Staging

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]

#: Their cost is that of the GEMMs inside them, whatever name those have.
_MATRIX_CLASSES: Final = [OP_CLASSES.index(name) for name in ("gemm", "attention", "convolution")]

#: Most bytes of a call (35 TB); shapes that imply more are wrong.
_MOST_BYTES: Final = 2**45

_COSTS: Final = pa.schema([("kind", pa.int64()), ("flops", pa.float64()), ("bytes", pa.int64())])
_SIGNATURES_SQL: Final = """
SELECT nth, shapes, dtypes, "values" FROM cost_calls JOIN input_texts USING (texts) WHERE shapes IS NOT NULL
"""


def find_costs(staging: Staging, recorded: pa.Table, event: Ids, op: Ids, op_class: NDArray[np.int8]) -> pa.Table:
    """FLOPs and bytes of one compute kernel of every operator with a cost model, and of kernels that have their own.

    It is the operator's first kernel of the cost's class, or its first kernel if there is none.

    Args:
        staging: Where names and inputs of operators are.
        recorded: The operators around each, see `CHAIN`.
        event: int64[n], compute kernels by time.
        op: int64[n], their operators; -1 for none.
        op_class: int8[n], their classes, as positions in `OP_CLASSES`.

    Returns:
        event, flops and bytes of those that have a cost.
    """
    chain = _Chain.read(staging, recorded, distinct(op[op >= 0]))
    # The innermost operator with a cost around each launching one.
    first = np.append(True, chain.op[1:] != chain.op[:-1])[: chain.op.size]
    innermost = np.flatnonzero(first)[np.cumsum(first) - 1]
    # Chosen operators that consist, at least in part, of others that are chosen.
    is_matrix = np.isin(chain.kind, _MATRIX_CLASSES)
    composed = chain.around[~first & (~is_matrix | is_matrix[innermost])]

    at = match(chain.op[first], op)
    kernel = np.flatnonzero(at >= 0)
    chosen = innermost[first][at[kernel]]
    alone = match(distinct(composed), chain.around[chosen]) < 0
    kernel, chosen = kernel[alone], chosen[alone]
    # The kernel that does the work: a convolution may first change the layout of its inputs.
    other = op_class[kernel] != chain.kind[chosen]
    order = np.lexsort((other, chain.around[chosen]))
    around = chain.around[chosen[order]]
    order = order[np.append(True, around[1:] != around[:-1])[: around.size]]
    costs = chain.costs.take(pa.array(chain.cost[chosen[order]]))
    found = pa.table({"event": event[kernel[order]], "flops": costs["flops"], "bytes": costs["bytes"]})
    return _with_own(staging, found, event, np.isin(op, chain.op))


def _with_own(staging: Staging, found: pa.Table, event: Ids, costed: NDArray[np.bool_]) -> pa.Table:
    """Add the costs that kernels have of their own, where no operator around them has one."""
    if not staging.may_have("raw_costs"):
        return found
    with staging.connect() as connection:
        own = connection.sql("SELECT event, flops, bytes FROM raw_costs").to_arrow_table()
    own = own.filter(pa.array(np.isin(own["event"].to_numpy(), event[~costed])))
    return pa.concat_tables([found.cast(own.schema), own])


@dataclass(frozen=True, slots=True)
class _Chain:
    """n operators with a cost around operators that launched compute, by the latter and from the inside out.

    Attributes:
        op: int64[n], the operator that launched.
        around: int64[n], the one with a cost.
        kind: int64[n], what its cost is of, as a position in `OP_CLASSES`; -1 for anything else.
        cost: int64[n], position of its cost.
        costs: kind, flops and bytes of the distinct calls.
    """

    op: Ids
    around: Ids
    kind: Ids
    cost: Ids
    costs: pa.Table

    @classmethod
    def read(cls, staging: Staging, recorded: pa.Table, ops: Ids) -> _Chain:
        """All around these operators."""
        all_ops, name_id = recorded["op"].to_numpy(), recorded["name_id"].to_numpy()
        named, names = _with_models(staging, name_id)
        chosen = np.flatnonzero(named[name_id] & (match(ops, all_ops) >= 0))
        op, around = all_ops[chosen], recorded["around"].to_numpy()[chosen]
        # Those around each operator are recorded from the inside out.
        order = np.argsort(op, kind="stable")
        op, around, name_id = op[order], around[order], name_id[chosen[order]]
        texts = texts_of(staging, around)
        has_texts = texts >= 0
        op, around, name_id, texts = op[has_texts], around[has_texts], name_id[has_texts], texts[has_texts]
        cost, costs = _costs(staging, names, name_id.astype(np.int64), texts.astype(np.int64))
        known = cost >= 0
        return cls(op[known], around[known], costs["kind"].to_numpy()[cost[known]], cost[known], costs)


def _with_models(staging: Staging, name_id: NDArray[np.int32]) -> tuple[NDArray[np.bool_], dict[int, str]]:
    """Whether there is a model for each name, by number, and the names for which there is one."""
    used = np.bincount(name_id)
    numbers = np.flatnonzero(used)
    names = zip(numbers.tolist(), names_of(staging.connection, numbers), strict=True)
    known = {number: name for number, name in names if name in KNOWN or name.split(".", 1)[0] in KNOWN}
    named = np.zeros(used.size, np.bool_)
    named[list(known)] = True
    return named, known


def _costs(staging: Staging, names: dict[int, str], name_id: Ids, texts: Ids) -> tuple[Ids, pa.Table]:
    """Position of the cost of each call, -1 where it has none, and kind, flops and bytes of the distinct calls."""
    keys = distinct(name_id << 32 | texts)
    position = np.full(keys.size, -1, np.int64)
    costs: list[dict[str, Any]] = []
    for nth, shapes, dtypes, concrete in _signatures(staging, keys & (2**32 - 1)):
        found = cost(names[int(keys[nth]) >> 32], _parsed(shapes), _parsed(dtypes), _parsed(concrete))
        if found is not None:
            position[nth] = len(costs)
            kind = OP_CLASSES.index(found.kind) if found.kind in OP_CLASSES else -1
            moved = found.bytes if found.bytes is not None and found.bytes <= _MOST_BYTES else None
            costs.append({"kind": kind, "flops": float(found.flops), "bytes": moved})
    return position[np.searchsorted(keys, name_id << 32 | texts)], pa.Table.from_pylist(costs, _COSTS)


def _signatures(staging: Staging, texts: Ids) -> list[tuple[int, str, str | None, str | None]]:
    """Position, shapes, types and values of the calls with these texts."""
    if not texts.size:
        return []
    staging.connection.register("cost_calls", pa.table({"nth": np.arange(texts.size), "texts": texts}))
    rows = staging.connection.execute(_SIGNATURES_SQL).fetchall()
    staging.connection.unregister("cost_calls")
    return rows


@lru_cache(maxsize=4096)
def _parsed(text: str | None) -> list[Any]:
    """A recorded list; empty if it is missing or no list. The result is shared, not to be changed."""
    try:
        value = json.loads(text) if text else []
    except (ValueError, RecursionError):
        return []
    return value if isinstance(value, list) else []
