"""How long the job waited for its data loaders."""

from __future__ import annotations

import numpy as np

from stepscope.analyses.registry import Analysis
from stepscope.analyses.shared.grouping import Groups, ordered_table, shares, texts
from stepscope.analyses.shared.host_waits import loader_waits
from stepscope.analyses.shared.needs import need_host
from stepscope.model.events.columns import Spans
from stepscope.model.events.steps import Steps
from stepscope.model.schema import Column, TableSchema, count, fraction, ns, summary_columns
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

DATALOADER = TableSchema(
    "dataloader",
    "One row per data loader; a call is the wait for one batch. Steps are measured on the host.",
    (
        *summary_columns("loader", "the durations of all steps"),
        RANK,
        count("steps", "Steps in which it was called."),
        ns("per_step_ns", "Wait inside steps over the number of all steps, rounded down."),
        fraction("share_of_steps", "Wait inside steps as a share of the durations of all steps."),
        ns("first_ns", "Wait for the first batch, which often starts the workers."),
        Column("later_median_ns", "int64", "Median wait for the later batches; null if there is none.", "ns", True),
        Column("later_max_ns", "int64", "Longest wait for a later batch; null if there is none.", "ns", True),
    ),
)


def dataloader(trace: Trace) -> Table:
    """Sum up the waits for each data loader.

    Raises:
        MissingInputError: The recording shows no data loader.
    """
    need_host(trace, ("dataloader",), "loader")
    spans, every, at = Spans(trace), Steps.of(trace), loader_waits(trace)
    name, dur, step = spans.name[at], np.maximum(spans.dur[at], 0), spans.step[at]
    groups = Groups.by(name)
    steps_ns = int((every.stop - every.ts).sum())
    total, inside = groups.sum(dur), groups.sum(np.where(step >= 0, dur, 0))
    others = np.ones(dur.size, np.bool_)
    others[groups.first] = False
    later = groups.summary_of(others, dur[others])
    pairs = Groups.by(groups.index, step)
    in_steps = pairs.first[step[pairs.first] >= 0]
    columns = {
        **groups.summary(dur),
        "name": texts(trace, name[groups.first]),
        "share": shares(total, steps_ns),
        "rank": np.full(total.size, trace.ranks[0]),
        "steps": np.bincount(groups.index[in_steps], minlength=total.size),
        "per_step_ns": inside // max(every.ts.size, 1),
        "share_of_steps": shares(inside, steps_ns),
        "first_ns": dur[groups.first],
        "later_median_ns": later["median_ns"],
        "later_max_ns": later["max_ns"],
    }
    return ordered_table(DATALOADER, columns)


ANALYSES = (Analysis(DATALOADER, dataloader),)
