"""How the work of passes reached the device: replayed from a graph, from several, or launched one by one; and why."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np

from stepscope.analyses.serving.passes import ServedPass, served_passes
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.trace import Trace

#: A graph holds a pass if it has at least this share of its kernels: inputs are prepared and tokens chosen outside.
_WHOLE: Final = 0.5
#: Operators of layers whose first input has a row for each token of the batch, padded as the graph is.
_SHAPES_SQL: Final = """
SELECT s.ts, i.shapes FROM op_inputs i JOIN spans s ON s.id = i.event JOIN names n USING (name_id)
WHERE i.shapes IS NOT NULL AND regexp_matches(n.name,
    '^aten::(linear|mm|addmm)$|(^|::)unified_attention(_with_output)?$|rms_?norm|rotary_embedding') ORDER BY s.ts
"""


def execution(one: ServedPass, work: DeviceWork) -> tuple[str | None, int]:
    """`graph`, `piecewise` or `eager`, and the number of graphs replayed; None where nothing was computed."""
    mine = one.work[work.are("compute")[one.work]]
    if not mine.size:
        return None, 0
    replayed = work.in_graph[mine]
    graphs = np.unique(work.launch[mine[replayed]]).size
    if not graphs:
        return "eager", 0
    whole = np.bincount(np.unique(work.launch[mine[replayed]], return_inverse=True)[1]).max()
    return ("graph" if whole >= _WHOLE * mine.size else "piecewise"), graphs


def reason(at: int, passes: Sequence[ServedPass], ways: Sequence[str | None]) -> str | None:
    """Why a pass was launched kernel by kernel, as far as the other passes of the recording tell."""
    if ways[at] != "eager":
        return None
    replayed = [i for i, way in enumerate(ways) if way in ("graph", "piecewise")]
    if not replayed:
        return "no pass of this recording is replayed"
    batch = passes[at].batch
    if batch.phase != "decode":
        same = any(passes[i].batch.phase == batch.phase for i in replayed)
        return None if same else f"only other phases than {batch.phase} are replayed"
    sizes = [passes[i].batch.requests for i in replayed if passes[i].batch.phase == "decode"]
    if sizes and batch.requests > max(sizes):
        return f"more requests than in any replayed batch ({max(sizes):,})"
    return None


def padded_tokens(trace: Trace) -> list[int | None]:
    """Rows that the layers of each pass computed, padding included; None where shapes do not tell.

    Ask for it with `Trace.once`.
    """
    rows = trace.rows(_SHAPES_SQL)
    ts = np.array([row["ts"] for row in rows], np.int64)
    found: list[int | None] = []
    for one in trace.once(served_passes):
        first, last = np.searchsorted(ts, (one.start, one.stop))
        counted = Counter(leading for row in rows[first:last] if (leading := _leading(row["shapes"])) is not None)
        usual, times = counted.most_common(1)[0] if counted else (0, 0)
        tokens = one.batch.tokens
        # The rows of most layers; what has fewer rows than tokens is not the whole batch.
        told = times > 1 and tokens is not None and usual >= tokens and times * 2 > counted.total()
        found.append(usual if told else None)
    return found


def _leading(shapes: str) -> int | None:
    """Size of the first dimension of the first input with two or more."""
    try:
        dims = next(one for one in json.loads(shapes) if isinstance(one, list) and len(one) > 1)
        return int(dims[0])
    except (ValueError, TypeError, StopIteration):
        return None
