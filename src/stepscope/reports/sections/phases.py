"""Phases of the step: on the host, busy on the devices, and idle."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from stepscope.language import said
from stepscope.language.part_words import in_words
from stepscope.reports.blocks import Grid, Heading, Section
from stepscope.reports.contents import Contents
from stepscope.reports.sections.budget import has_steps, step_rows
from stepscope.reports.units import NONE, duration, percent

_HEADINGS: Final = (
    Heading(said("phase"), number=False),
    Heading(said("device busy")),
    Heading(said("idle")),
    Heading(said("of the step")),
    Heading("", number=False, rank=5, bar=True),
    Heading(said("host"), rank=1),
    Heading(said("meaning"), number=False, rank=6),
)
_DESCRIPTIONS: Final = {
    "data_loading": said("the loop waited for its next batch"),
    "preprocessing": said("preparing inputs and copying them to the device"),
    "optimizer": said("with zeroing, scaling and clipping of gradients"),
    "recomputation": said("computing activations anew that were not kept"),
    "saving": said("writing the model to disk"),
    "mixed": said("prefill and decode in one batch"),
    "rest": said("outside of all phases"),
}
#: Without device activity.
_ON_HOST: Final = (_HEADINGS[0], Heading(said("host")), _HEADINGS[3], _HEADINGS[4], _HEADINGS[6])
#: What is less than this share of a step, on the device and on the host, is left out.
_LEAST: Final = 0.0005


def phases(report: Contents, top: int) -> Section:
    """A row per phase, in the order of the time on the device and idle in it; times are means of the steps."""
    del top
    nothing = Section("Phases", ())
    steps = {(row["rank"], row["step"]) for row in step_rows(report)}
    if "phases" not in report.tables:
        return nothing
    rows = [row for row in report.tables["phases"].records() if not steps or (row["rank"], row["step"]) in steps]
    if not {row["phase"] for row in rows} - {"rest"}:
        return nothing
    count = len({(row["rank"], row["device"], row["step"]) for row in rows})
    sums: dict[str, tuple[int, int, int]] = {}
    for row in rows:
        host, busy, idle = sums.get(row["phase"], (0, 0, 0))
        sums[row["phase"]] = (host + row["host_ns"], busy + (row["device_ns"] or 0), idle + (row["idle_ns"] or 0))
    total = sum(busy + idle for _, busy, idle in sums.values())
    hosts = sum(host for host, _, _ in sums.values())
    shown = {phase: parts for phase, parts in sums.items()
             if parts[1] + parts[2] > _LEAST * total or parts[0] > _LEAST * hosts}  # fmt: skip
    ordered = sorted(shown.items(), key=lambda item: (-(item[1][1] + item[1][2]), -item[1][0], item[0]))
    of = said("of the step") if has_steps(report) else said("of the time")
    chosen = _HEADINGS if total else _ON_HOST
    headings = tuple(replace(heading, text=of) if heading.text == "of the step" else heading for heading in chosen)
    return Section(
        "Phases", (Grid(headings, tuple(_row(*item, count, total, hosts) for item in ordered), table="phases"),)
    )


def _row(phase: str, parts: tuple[int, int, int], count: int, total: int, hosts: int) -> tuple[str | float, ...]:
    host, busy, idle = parts
    called, description = in_words(phase), _DESCRIPTIONS.get(phase, "")
    if not total:
        share = host / hosts
        return (called, duration(host / count), percent(share), share, description)
    share = (busy + idle) / total
    times = (duration(busy / count), duration(idle / count), percent(share))
    # A phase that shows by its kernels alone has no time of the host that is known.
    on_host = duration(host / count) if host or not busy else NONE
    return (called, *times, share, on_host, description)
