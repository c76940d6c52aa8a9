"""Which operator tells what device work does: the innermost around its launch whose name is known.

Recorders show calls of a vendor's library as operators too (`aclnnMm` inside `aten::mm`). They have no inputs of their
own; what they do it on is recorded with the framework's operator around them.
"""

from __future__ import annotations

from typing import Any, Final

from stepscope.model.trace import Trace
from stepscope.signals.roles import OTHER, role_of_operator

#: `telling` (op, told): for operators that launched work and whose names tell nothing, one around them that does. Two
#: calls up, since the library's call may lie in one of the vendor's own operators. Parameters are those of `telling`.
TELLING_SQL: Final = """
telling AS (
    SELECT o.id AS op, CASE WHEN p.name_id IN (SELECT unnest($known)) THEN p.id ELSE q.id END AS told
    FROM spans o JOIN spans p ON p.id = o.parent AND p.category = 'op'
    LEFT JOIN spans q ON q.id = p.parent AND q.category = 'op' AND q.name_id IN (SELECT unnest($known))
    WHERE o.name_id IN (SELECT unnest($untold)) AND (p.name_id IN (SELECT unnest($known)) OR q.id IS NOT NULL)
)
"""
_LAUNCHING_SQL: Final = "SELECT DISTINCT name_id FROM spans WHERE id IN (SELECT op FROM kernels)"


def telling(trace: Trace) -> dict[str, Any]:
    """Parameters of `TELLING_SQL`: names of operators that say what they do, and of launching ones that don't."""
    names = trace.rows("SELECT name_id, name FROM names")
    known = {row["name_id"] for row in names if role_of_operator(row["name"]) != OTHER}
    launching = trace.sql(_LAUNCHING_SQL)["name_id"].to_pylist()
    return {"known": sorted(known), "untold": sorted(set(launching) - known)}
