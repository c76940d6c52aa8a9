"""Passes of a server over its batches: phase, requests, tokens, and tokens per second."""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.recorded_events import names_of
from stepscope.model.events.columns import Spans, on_host
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.intervals import Intervals
from stepscope.model.schema import Column, TableSchema, count, ns, text
from stepscope.model.serving_names import Pass, served
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

#: A gap this many times as long as what follows parts a pass from what came before, if that is less than this part of
#: its work.
_LONG: Final = 0.5
_FEW: Final = 0.05

SERVING: Final = TableSchema(
    "serving",
    "One row per pass of a server over a batch, in time order, by the ranges that servers mark them with.",
    (
        RANK,
        ns("ts", "Start on the host."),
        text("phase", "prefill (prompts are read), decode (a token per request is made) or mixed."),
        count("requests", "Requests in the batch."),
        Column("tokens", "int64", "Tokens that are read or made; null if not told.", "count", True),
        ns("host_ns", "Duration on the host."),
        ns("device_ns", "From the first to the end of the last device work launched in it, without a few copies that "
           "lie long before the rest; null if there is none.",
           nullable=True),
        Column("tokens_per_s", "float64", "Tokens over device_ns; null if either is not known.", "", True),
    ),
)  # fmt: skip


def serving(trace: Trace) -> Table:
    """The passes of a server; no rows where no range is named as servers name theirs."""
    known = [(number, served(name)) for number, name in names_of(trace, ("annotation", "step"))]
    passes: dict[int, Pass] = {number: one for number, one in known if one is not None}
    spans, work = Spans(trace), DeviceWork.of(trace)
    at = np.flatnonzero(np.isin(spans.name, list(passes)) & (spans.dur > 0))
    at = at[on_host(trace, spans.track[at])]
    at = at[np.lexsort((-spans.dur[at], spans.ts[at]))]
    [rank] = trace.ranks
    rows = []
    end = -1
    for row in at.tolist():
        start, stop = int(spans.ts[row]), int(spans.ts[row] + spans.dur[row])
        # One server's range may lie in another's that says the same.
        if start < end:
            continue
        end = stop
        mine = work.launched & (work.called >= start) & (work.called < stop) & ~work.are("sync")
        span = _span(Intervals.union_of(work.ts[mine], work.ts[mine] + work.dur[mine]))
        one = passes[int(spans.name[row])]
        rate = one.tokens / span * 1e9 if one.tokens and span else None
        rows.append((rank, start, one.phase, one.requests, one.tokens, stop - start, span, rate))
    return Table.from_rows(SERVING, rows)


def _span(busy: Intervals) -> int | None:
    """Time from the start of a pass's device work to its end.

    A few copies before a long gap belong to the time before: profilers start late, and servers prepare a batch.
    """
    if not busy.starts.size:
        return None
    gaps = busy.starts[1:] - busy.ends[:-1]
    if gaps.size:
        after = int(gaps.argmax()) + 1
        rest = int(busy.ends[-1] - busy.starts[after])
        few = (busy.ends[:after] - busy.starts[:after]).sum() < _FEW * busy.total
        if gaps.max() > rest * _LONG and few:
            return rest
    return int(busy.ends[-1] - busy.starts[0])


ANALYSES = (Analysis(SERVING, serving),)
