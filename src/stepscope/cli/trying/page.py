"""What the terminal shows of a trial."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from statistics import median
from typing import Final

from stepscope.language import listing, said
from stepscope.model.amounts import NONE, duration, percent, plural
from stepscope.reports.blocks import Block, Grid, Heading, Line, Outline, Section
from stepscope.reports.text import visible
from stepscope.reports.units import time_scale
from stepscope.trying.reasons import verdict_word
from stepscope.trying.result import Tried, TriedRemedy

_TONES: Final[dict[str, str]] = {
    "helps": "plain", "no gain": "info", "slower": "info", "failed": "warning", "changes numbers": "warning",
}  # fmt: skip


def outline(tried: Tried) -> Outline:
    """The page."""
    sections = (
        Section("Tried", (*_base(tried), *_table(tried)), "saved per step; intervals of 99 %"),
        Section("Why", _reasons(tried.remedies)),
        Section("Together", _together(tried)),
        Section("What to write", _lines(tried)),
        Section("Also", tuple(Line(visible(one), "", "info") for one in tried.notes)),
    )
    facts = (
        visible(shlex.join(tried.command)),
        said("output of the runs: {folder}", folder=visible(str(tried.folder))),
    )
    title = said("What helps") if tried.finished else said("What helps (not finished: run the same again to go on)")
    return Outline(title, facts, tuple(one for one in sections if one.blocks))


def _base(tried: Tried) -> tuple[Block, ...]:
    if tried.base_ns is None:
        return (Line("the unchanged program could not be timed", "", "warning"),)
    spread = (
        said(", which differ by {base_spread}", base_spread=percent(tried.base_spread))
        if tried.base_spread is not None
        else ""
    )
    load = listing((f"{one:.1f}" for one in tried.load), " to ")
    load = said("; load {load} on {cores}", load=load, cores=plural(tried.cores, "core")) if load else ""
    ranks = said(", {ranks}", ranks=plural(tried.ranks, "rank")) if tried.ranks > 1 else ""
    return (
        Line(
            said("unchanged: {base} per step on {device}{ranks}, mean of "
                 "{runs}{spread}{load}", base=duration(tried.base_ns), device=tried.device, ranks=ranks,
                 runs=plural(tried.base_runs, "run"), spread=spread, load=load),
            "", "plain",
        ),
    )  # fmt: skip


def _table(tried: Tried) -> tuple[Block, ...]:
    if not tried.remedies:
        if tried.base_ns is None:
            return ()
        hint = said("--all tries whatever can be applied")
        return (Line("no finding of the program names a remedy that can be applied from outside", hint, "info"),)
    times = [
        value
        for one in tried.remedies
        for value in (one.predicted_ns, one.measured.saved_ns, one.measured.low_ns, one.measured.high_ns)
        if value is not None
    ]
    scale = time_scale([abs(one) for one in times] or [0])
    unit = f" {scale.label}".rstrip()

    def write(value: int | None) -> str:
        return NONE if value is None else f"-{scale.write(-value)}" if value < 0 else scale.write(value)

    headings = (
        Heading(said("remedy"), number=False), Heading(said("rule"), number=False, rank=2),
        Heading(said("predicted{unit}", unit=unit)), Heading(said("measured")), Heading(said("from")),
        Heading(said("to")), Heading(said("of the step"), rank=1), Heading(said("verdict"), number=False),
    )  # fmt: skip
    rows = tuple(
        (
            one.name, one.rule or NONE, write(one.predicted_ns), write(one.measured.saved_ns),
            write(one.measured.low_ns), write(one.measured.high_ns), _share(one), verdict_word(one.measured.verdict),
        )
        for one in tried.remedies
    )  # fmt: skip
    return (Grid(headings, rows), *_earlier(tried.remedies))


def _share(one: TriedRemedy) -> str:
    saved, base = one.measured.saved_ns, one.measured.base_ns
    return NONE if saved is None or not base else percent(saved / base)


def _earlier(remedies: Sequence[TriedRemedy]) -> tuple[Line, ...]:
    return tuple(
        Line(
            said("{name}: in {trials} the median of measured over predicted was "
                 "{median:.2f}", name=one.name,
                 trials=plural(len(one.earlier), "earlier trial"), median=median(one.earlier)),
            "", "info",
        )
        for one in remedies
        if one.earlier
    )  # fmt: skip


def _reasons(remedies: Sequence[TriedRemedy]) -> tuple[Line, ...]:
    return tuple(
        Line(
            said("{name}: {verdict}", name=one.name, verdict=verdict_word(one.measured.verdict)),
            visible(one.measured.why), _TONES[one.measured.verdict],
        )
        for one in remedies
    )  # fmt: skip


def _together(tried: Tried) -> tuple[Line, ...]:
    if tried.combined is None or tried.base_ns is None:
        return (Line("no remedy was shown to help", "", "info"),) if tried.remedies else ()
    found = tried.combined
    now = duration(found.step_ns or 0)
    before = duration(found.base_ns or 0)
    return (
        Line(
            said(
                "{together}: {now} instead of {before} per step",
                together=" + ".join(tried.together),
                now=now,
                before=before,
            ),
            visible(found.why),
            "plain",
        ),
    )


def _lines(tried: Tried) -> tuple[Line, ...]:
    return tuple(Line(visible(line), "", "info") for one in tried.write for line in one.lines)
