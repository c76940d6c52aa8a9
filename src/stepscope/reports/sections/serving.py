"""Passes of a server by phase, and what the time of its tokens is made of."""

from __future__ import annotations

from statistics import median
from typing import Any, Final

from stepscope.language import said
from stepscope.language.part_words import in_words
from stepscope.reports.blocks import Grid, Heading, Section
from stepscope.reports.contents import Contents
from stepscope.reports.units import NONE, duration, percent

_PHASES: Final = (
    Heading(said("phase"), number=False),
    Heading(said("passes")),
    Heading(said("requests")),
    Heading(said("tokens"), rank=1),
    Heading(said("on the device")),
    Heading(said("idle")),
    Heading(said("gap before"), rank=2),
    Heading(said("scheduler"), rank=4),
    Heading(said("sampler"), rank=5),
    Heading(said("tokens/s")),
    Heading(said("run"), number=False, rank=3),
)
_PARTS: Final = (
    Heading(said("part"), number=False),
    Heading(said("each")),
    Heading(said("of it")),
    Heading("", number=False, rank=5, bar=True),
)
#: Parts of less than this share are left out.
_LEAST: Final = 0.0005


def serving(report: Contents, top: int) -> Section:
    """A row per phase, with means of its passes, then the parts of a token's time, of the rank that has most passes."""
    rows = report.rows("serving")
    if not rows:
        return Section("Serving", ())
    ranks = [row["rank"] for row in rows]
    rank = max(dict.fromkeys(ranks), key=ranks.count)
    mine = [row for row in rows if row["rank"] == rank]
    phases = dict.fromkeys(row["phase"] for row in mine)
    grids = [
        Grid(_PHASES, tuple(_phase([row for row in mine if row["phase"] == one]) for one in phases), table="serving")
    ]
    parts = [row for row in report.rows("serving_times") if row["rank"] == rank and row["share"] >= _LEAST]
    for of in dict.fromkeys(row["of"] for row in parts):
        largest = sorted((row for row in parts if row["of"] == of), key=lambda row: -row["total_ns"])
        times = tuple(
            (in_words(row["part"]), duration(row["token_ns"]), percent(row["share"]), row["share"])
            for row in largest[:top]
        )
        grids.append(Grid(_PARTS, times, said("Per {what}", what=in_words(of)), table="serving_times"))
    return Section("Serving", tuple(grids))


def _phase(rows: list[dict[str, Any]]) -> tuple[str | float, ...]:
    """Means of the passes of a phase."""
    ways = [row["execution"] for row in rows if row["execution"]]
    run = ", ".join(dict.fromkeys(ways))
    spent, tokens = _total(rows, "device_ns"), _total(rows, "tokens")
    rate = f"{tokens / spent * 1e9:,.0f}" if spent and tokens else NONE
    return (
        in_words(rows[0]["phase"]), f"{len(rows):,}", f"{median(row['requests'] for row in rows):,.4g}",
        f"{tokens / len(rows):,.0f}" if tokens is not None else NONE,
        *(_mean(rows, name) for name in ("device_ns", "idle_ns", "gap_ns", "scheduler_ns", "sampler_ns")), rate, run,
    )  # fmt: skip


def _total(rows: list[dict[str, Any]], name: str) -> int | None:
    """Sum of a column; None if a pass does not have it."""
    values = [row[name] for row in rows]
    return None if None in values else sum(values)


def _mean(rows: list[dict[str, Any]], name: str) -> str:
    """Mean over the passes that have it."""
    values = [row[name] for row in rows if row[name] is not None]
    return duration(sum(values) / len(values)) if values else NONE
