"""What the page's shell offers to choose from: runs, and the spans and workers of the one that is shown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from stepscope.reports.text import visible
from stepscope.web.runs.chosen import Chosen
from stepscope.web.runs.opened import OpenedRuns

if TYPE_CHECKING:
    from stepscope.model.trace import Trace


def choices(runs: OpenedRuns, chosen: Chosen | None) -> dict[str, Any]:
    """The runs by name, each with the address of its page; and of an open one its spans and workers.

    Args:
        runs: The runs.
        chosen: What is shown; None before anything is.

    Returns:
        `folder`; `runs` with `address`, `name`, `recordings`, `changed` (Unix seconds) and `error`; `more`, whether
        there are further ones; `run`, `spans` and `workers`, each with `address`, `name` and whether it is `chosen`.
    """
    found = runs.watching.found()
    opening = None if chosen is None else runs.known(chosen)
    trace = None if opening is None else opening.trace
    return {
        "folder": visible(runs.watching.root),
        "more": found.more,
        "run": None if chosen is None else chosen.key,
        "runs": [
            {
                "address": run.key, "name": visible(run.name), "recordings": len(run.paths),
                "changed": run.changed // 1_000_000_000, "error": visible(runs.error(run.key)),
            }
            for run in found.runs
        ],
        "spans": [] if trace is None or chosen is None else _spans(trace, chosen),
        "workers": [] if trace is None or chosen is None else _workers(trace, chosen),
    }  # fmt: skip


def _spans(trace: Trace, chosen: Chosen) -> list[dict[str, Any]]:
    shown = {place.span for place in trace.places if place.analysed and place.rank in trace.ranks}
    return [
        {"address": str(replace(chosen, span=span)), "name": f"{span}", "chosen": span == max(shown, default=None)}
        for span in sorted({place.span for place in trace.places} | shown)
    ]


def _workers(trace: Trace, chosen: Chosen) -> list[dict[str, Any]]:
    ranks = [
        {"address": str(replace(chosen, rank=rank)), "name": _worker(trace, rank), "chosen": rank == chosen.rank}
        for rank in trace.ranks
    ]
    everyone = {"address": str(replace(chosen, rank=None)), "name": "all", "chosen": chosen.rank is None}
    return [everyone, *ranks]


def _worker(trace: Trace, rank: int) -> str:
    host = trace.recordings[rank].host
    return f"rank {rank} ({visible(host)})" if host else f"rank {rank}"
