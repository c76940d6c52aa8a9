"""Device time by launching operator, and by what is known of its origin."""

from __future__ import annotations

from stepscope.analyses.kernels.kernels import SHARE_OF
from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.grouping import SHARE_SQL, SUMMARY_SQL, by_name
from stepscope.analyses.shared.needs import need_device
from stepscope.model.schema import TableSchema, summary_columns, text
from stepscope.model.table import Table
from stepscope.model.tables import KERNELS as ACTIVITIES
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

_ATTRIBUTION = text(
    "attribution",
    "operator; `graph launch` (replayed by a graph outside every operator), `launch` (launched outside every "
    "operator) or `none` (no launch recorded).",
)

KERNELS_BY_OPERATOR = TableSchema(
    "kernels_by_operator",
    "One row per kernel name and operator that launched it (the innermost one around the launch).",
    (
        *summary_columns("kernel", SHARE_OF),
        RANK,
        text("operator", "Name of the operator; null if none is known.", nullable=True),
        _ATTRIBUTION,
        ACTIVITIES["op_class"],
        ACTIVITIES["kind"],
    ),
)
_ATTRIBUTED_SQL = """
SELECT k.*, n.name AS operator, CASE WHEN k.op IS NOT NULL THEN 'operator' WHEN k.graph IS NOT NULL THEN 'graph launch'
    WHEN k.launch IS NOT NULL THEN 'launch' ELSE 'none' END AS attribution
FROM kernels k LEFT JOIN spans s ON s.id = k.op LEFT JOIN names n USING (name_id) WHERE k.kind <> 'sync'
"""
_BY_OPERATOR_SQL = f"""
SELECT *, {SHARE_SQL} FROM (
    SELECT name, {SUMMARY_SQL}, operator, attribution, any_value(op_class ORDER BY ts) AS op_class, kind
    FROM ({_ATTRIBUTED_SQL}) GROUP BY name, kind, operator, attribution
) ORDER BY total_ns DESC, name, operator, attribution, kind
"""

KERNEL_ATTRIBUTION = TableSchema(
    "kernel_attribution",
    "How much device time is attributed to operators; `name` is as `attribution` of `kernels_by_operator`. What is "
    "not under `operator` is missing from every number by operator.",
    (*summary_columns("attribution", SHARE_OF), RANK),
)
_ATTRIBUTION_SQL = f"""
SELECT *, {SHARE_SQL} FROM (
    SELECT attribution AS name, {SUMMARY_SQL} FROM ({_ATTRIBUTED_SQL}) GROUP BY attribution
) ORDER BY total_ns DESC, name
"""


def kernels_by_operator(trace: Trace) -> Table:
    """Sum up device activities by name and launching operator.

    Raises:
        MissingInputError: The recording has no device activity.
    """
    need_device(trace)
    return by_name(trace, KERNELS_BY_OPERATOR, _BY_OPERATOR_SQL)


def kernel_attribution(trace: Trace) -> Table:
    """Sum up device activities by what is known of their origin.

    Raises:
        MissingInputError: The recording has no device activity.
    """
    need_device(trace)
    return by_name(trace, KERNEL_ATTRIBUTION, _ATTRIBUTION_SQL)


ANALYSES = (Analysis(KERNELS_BY_OPERATOR, kernels_by_operator), Analysis(KERNEL_ATTRIBUTION, kernel_attribution))
