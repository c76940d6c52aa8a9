"""Floating-point operations and bytes of operators, given to the kernels that do the work.

A kernel's launch lies in several operators at once (`linear` > `addmm`), which cost the same work. The innermost one
with a cost model counts. An operator that contains it counts only for other work: composed attention must not be
added to the matrix products it consists of.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa

from stepscope.model.opcost import KNOWN, cost
from stepscope.store.staging import Staging

#: Their cost is that of the products inside them, whatever name those have.
_PRODUCTS: Final = "('gemm', 'attention', 'convolution')"

#: No call moves more bytes than this, 35 TB; shapes that say so are wrong.
_MOST_BYTES: Final = 2**45

#: Operators around each operator that launched compute, with itself as level 0.
_AROUND_SQL: Final = """
CREATE TEMP TABLE cost_chain AS
SELECT * FROM op_chain SEMI JOIN (SELECT op FROM kernels WHERE kind = 'compute') USING (op)
"""

_CALLS_SQL: Final = """
CREATE TEMP TABLE cost_calls AS
SELECT c.around AS op, c.name_id, i.texts
FROM (SELECT DISTINCT around, name_id FROM cost_chain SEMI JOIN cost_names USING (name_id)) c
JOIN input_calls i ON i.event = c.around
JOIN input_texts t ON t.texts = i.texts
WHERE t.shapes IS NOT NULL
"""

_SIGNATURES_SQL: Final = """
SELECT name_id, texts, name, shapes, dtypes, "values"
FROM (SELECT DISTINCT name_id, texts FROM cost_calls) JOIN names USING (name_id) JOIN input_texts USING (texts)
"""

_COSTED_SQL: Final = """
CREATE TEMP TABLE costed AS
SELECT c.op, k.kind, k.flops, k.bytes FROM cost_calls c JOIN cost_kinds k USING (name_id, texts)
"""

#: The innermost operator with a cost around each launching one.
_CHOSEN_SQL: Final = """
CREATE TEMP TABLE cost_chosen AS
SELECT c.op, arg_min(c.around, c.level) AS chosen, min(c.level) AS level
FROM cost_chain c JOIN costed k ON k.op = c.around GROUP BY c.op
"""

#: Chosen operators that consist, at least in part, of others that are chosen.
_COMPOSED_SQL: Final = f"""
CREATE TEMP TABLE cost_composed AS
SELECT DISTINCT outside.op
FROM cost_chosen h
JOIN cost_chain c ON c.op = h.op AND c.level > h.level
JOIN costed inside ON inside.op = h.chosen
JOIN costed outside ON outside.op = c.around
WHERE outside.kind NOT IN {_PRODUCTS} OR inside.kind IN {_PRODUCTS}
"""

#: The kernel that does the work: a convolution may first change the layout of its inputs.
_FIRST_SQL: Final = """
CREATE TEMP TABLE cost_first AS
SELECT h.chosen AS op, arg_min(k.event, (k.op_class <> c.kind)::BIGINT * 4294967296 + k.nth) AS event
FROM kernels k JOIN cost_chosen h ON h.op = k.op JOIN costed c ON c.op = h.chosen
ANTI JOIN cost_composed p ON p.op = h.chosen
WHERE k.kind = 'compute' GROUP BY h.chosen
"""

_COSTS_SQL: Final = (
    "INSERT INTO kernel_costs SELECT f.event, c.flops, c.bytes FROM cost_first f JOIN costed c USING (op)"
)


def find_costs(staging: Staging) -> None:
    """Table `kernel_costs`: FLOPs and bytes of one compute kernel of every operator that has a cost model.

    It is the operator's first kernel of the class that its cost is of, or its first if there is none.
    """
    connection = staging.connection
    connection.execute("CREATE TABLE kernel_costs (event BIGINT, flops DOUBLE, bytes BIGINT)")
    if staging.one("SELECT count(*) FROM input_texts") == (0,):
        return
    connection.execute(_AROUND_SQL)
    connection.execute("CREATE TEMP TABLE cost_known (name VARCHAR)")
    staging.insert("cost_known", pa.table({"name": sorted(KNOWN)}))
    connection.execute(
        "CREATE TEMP TABLE cost_names AS SELECT name_id FROM names n "
        "SEMI JOIN cost_known k ON k.name = n.name OR k.name = split_part(n.name, '.', 1)"
    )
    connection.execute(_CALLS_SQL)
    _cost_signatures(staging)
    for query in (_COSTED_SQL, _CHOSEN_SQL, _COMPOSED_SQL, _FIRST_SQL, _COSTS_SQL):
        connection.execute(query)


def _cost_signatures(staging: Staging) -> None:
    """Table `cost_kinds`: the cost of each distinct call that has one."""
    staging.connection.execute(
        "CREATE TEMP TABLE cost_kinds (name_id INTEGER, texts INTEGER, kind VARCHAR, flops DOUBLE, bytes BIGINT)"
    )
    rows = staging.connection.execute(_SIGNATURES_SQL).fetchall()
    columns: dict[str, list[Any]] = {"name_id": [], "texts": [], "kind": [], "flops": [], "bytes": []}
    for name_id, texts, name, shapes, dtypes, concrete in rows:
        found = cost(name, _parsed(shapes), _parsed(dtypes), _parsed(concrete))
        if found is None:
            continue
        known = found.bytes is not None and found.bytes <= _MOST_BYTES
        values = (name_id, texts, found.kind, float(found.flops), found.bytes if known else None)
        for column, value in zip(columns.values(), values, strict=True):
            column.append(value)
    types = (pa.int32(), pa.int32(), pa.string(), pa.float64(), pa.int64())
    arrays = [pa.array(values, kind) for values, kind in zip(columns.values(), types, strict=True)]
    staging.insert("cost_kinds", pa.Table.from_arrays(arrays, names=list(columns)))


@lru_cache(maxsize=4096)
def _parsed(text: str | None) -> list[Any]:
    """A recorded list; empty if it is missing or no list. The result is shared, not to be changed."""
    try:
        value = json.loads(text) if text else []
    except (ValueError, RecursionError):
        return []
    return value if isinstance(value, list) else []
