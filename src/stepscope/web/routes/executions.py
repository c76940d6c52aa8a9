"""Every execution of a kernel, with what was recorded of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from stepscope.model.schema import Column, flag, fraction, ident, ns, number, size, text
from stepscope.model.trace import Trace
from stepscope.web.answers import columns_of, json_answer
from stepscope.web.asked import one_rank
from stepscope.web.viewing import Viewing

#: Executions beyond which only the longest are sent.
_MOST: Final = 5000
_COLUMNS: Final[tuple[Column, ...]] = (
    ident("event", "The event, a place in the timeline."),
    ns("ts", "Start."),
    ns("dur", "Duration."),
    ns("wait_ns", "From the start of its launch call to its own; null without a recorded launch.", nullable=True),
    Column("step", "int32", "Step, as in `steps`; null outside every step.", "id", True),
    Column("device", "int32", "Device index; null where not recorded.", "id", True),
    text("stream", "Queue as recorded.", nullable=True),
    text("operator", "Innermost operator around its launch; null if not recorded.", nullable=True),
    text("core", "Kind of core that it ran on, as recorded; null if not.", nullable=True),
    Column("grid", "int32[]", "Blocks in x, y and z; null if not recorded.", "", True),
    Column("block", "int32[]", "Threads per block in x, y and z; null if not recorded.", "", True),
    text("shapes", "Shapes of the operator's inputs; null if not recorded.", nullable=True),
    text("dtype", "Data type of the operands; null if unknown.", nullable=True),
    flag("tensor_core", "Whether it uses tensor cores, from the name; null if unknown.", nullable=True),
    Column("registers", "int32", "Registers per thread; null if not recorded.", "count", True),
    size("shared_bytes", "Shared memory per block; null if not recorded.", nullable=True),
    fraction("occupancy", "Estimated achieved occupancy; null if not recorded.", nullable=True),
    number("flops", "Floating-point operations of its operator; null if unknown.", "FLOP", nullable=True),
    size("bytes", "Bytes that it moved, or that its operator read and wrote; null if unknown.", nullable=True),
)
_SQL: Final = """
SELECT k.event, k.ts, k.dur, k.ts - l.ts AS wait_ns, k.step, k.device, k.stream, n.name AS operator, k.core, k.grid,
    k.block, i.shapes, k.dtype, k.tensor_core, k.registers, k.shared_bytes, k.occupancy, k.flops, k.bytes
FROM (SELECT * FROM kernels WHERE name = $name ORDER BY dur DESC, event LIMIT $most) k
LEFT JOIN spans l ON l.id = k.launch LEFT JOIN spans o ON o.id = k.op LEFT JOIN names n ON n.name_id = o.name_id
LEFT JOIN op_inputs i ON i.event = k.op ORDER BY k.dur DESC, k.event
"""
_METRICS_SQL: Final = """
SELECT m.event, m.metric, m.value FROM kernel_metrics m JOIN kernels k USING (event) WHERE k.name = $name
ORDER BY m.metric
"""


def routes(viewing: Viewing) -> Sequence[BaseRoute]:
    """`api/executions?name=NAME&rank=N`."""

    def executions(request: Request) -> Response:
        trace = one_rank(request, viewing.trace)
        name = request.query_params.get("name", "")
        rows = trace.rows(_SQL, {"name": name, "most": _MOST})
        metrics = _metrics(trace, name)
        for row in rows:
            row.update(metrics.get(row["event"], {}))
        recorded = dict.fromkeys(key for one in metrics.values() for key in one)
        known = (*_COLUMNS, *(number(key, "Counter, as the profiler calls it.", nullable=True) for key in recorded))
        columns = [column for column in known if any(row.get(column.name) is not None for row in rows)]
        found = [[_value(row.get(column.name)) for column in columns] for row in rows]
        in_all = trace.scalar("SELECT count(*) FROM kernels WHERE name = $name", {"name": name})
        return json_answer(request, {"description": "", "columns": columns_of(columns), "rows": found, "count": in_all})

    return [Route("/api/executions", executions)]


def _metrics(trace: Trace, name: str) -> dict[int, dict[str, float]]:
    """Recorded counters of each execution, by event."""
    found: dict[int, dict[str, float]] = {}
    for row in trace.rows(_METRICS_SQL, {"name": name}):
        found.setdefault(row["event"], {})[row["metric"]] = row["value"]
    return found


def _value(value: Any) -> Any:
    return list(value) if isinstance(value, (list, tuple)) else value
