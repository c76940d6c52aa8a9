"""A recording beside a baseline, as a page and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from stepscope.comparison.baseline import BaselineComparison
from stepscope.comparison.gates import GateResult
from stepscope.comparison.metrics import growth_interval, metric_words
from stepscope.language import said
from stepscope.model.amounts import NONE, percent
from stepscope.reports.blocks import Grid, Heading, Outline, Section
from stepscope.reports.compared.outline import comparable_lines, recording_name, side_words, verdict_line


def outline(found: BaselineComparison) -> Outline:
    """Verdict, what differs between the recordings, and every metric."""
    rows = tuple(
        (
            one.name, metric_words(one.base, one.unit), metric_words(one.new, one.unit),
            percent(one.diff / one.base) if one.base else NONE,
            growth_interval(one, one.base) if one.base and one.method != "untold" else NONE,
        )
        for one in found.metrics
    )  # fmt: skip
    headings = (
        Heading(said("metric"), number=False), Heading(said("base")), Heading(said("new")), Heading(said("growth")),
        Heading(said("interval")),
    )  # fmt: skip
    sections = (
        Section("Can they be compared?", comparable_lines(found.comparable)),
        Section("Verdict", (verdict_line(found.step_time),)),
        Section("Metrics", (Grid(headings, rows),) if rows else (), "means of typical steps; of memory the peak"),
    )
    base, new = found.base.facts, found.new.facts
    title = f"{recording_name(base.source, new.source)} → {recording_name(new.source, base.source)}"
    return Outline(title, (side_words(base, said("baseline")), side_words(new, said("new"))), sections)


def json_text(found: BaselineComparison, results: Sequence[GateResult]) -> str:
    """The comparison with the results of gates, as JSON."""
    values = {**found.to_dict(), "gates": [asdict(one) for one in results]}
    return json.dumps(values, indent=1, allow_nan=False) + "\n"
