"""What the page of a sweep shows: the most per second, what it costs, and what steps are made of."""

from __future__ import annotations

from typing import Any, Final

from stepscope.comparison.comparable import Tone, items_words
from stepscope.comparison.sweep.result import Sweep
from stepscope.language import listing, recalled, said
from stepscope.model.amounts import NONE, percent, plural, quantity
from stepscope.reports.blocks import Block, Grid, Heading, Line, Outline, Section
from stepscope.reports.compared.cells import headed
from stepscope.reports.compared.outline import recording_name, side_words
from stepscope.reports.text import visible
from stepscope.reports.units import time_scale

_PARTS: Final = (
    ("compute_ns", said("compute")), ("exposed_comm_ns", said("exposed comm")),
    ("exposed_copy_ns", said("exposed copy")), ("idle_ns", said("idle")),
)  # fmt: skip
_ORDERED: Final = {
    "batch": said("by batch size"), "ranks": said("by number of ranks"),
    "input": said("in the order given: neither batch sizes nor numbers of ranks are known to differ"),
}  # fmt: skip


def outline(sweep: Sweep) -> Outline:
    """The page."""
    rows = sweep.table("sweep").records()
    ordered: str = _ORDERED[sweep.axis.name]
    if sweep.axis.given:
        ordered = listing((ordered, said("as given")))
    elif sweep.axis.name != "input":
        ordered = listing((ordered, said("as recorded")))
    sections = (
        Section("Sweep", (_best(sweep, rows), *_gaps(sweep, rows))),
        Section("Can they be compared?", _different(sweep)),
        Section("Throughput and memory", _rates(sweep, rows), "efficiency: of linear scaling from the first row"),
        Section("What a step is made of", _steps(sweep, rows), "means per step; the parts add up to it"),
    )
    facts = (
        side_words(sweep.points[0].summary.facts, said("first")),
        side_words(sweep.points[-1].summary.facts, said("last")),
    )
    title = said("{count} recordings, {ordered}", count=len(sweep.points), ordered=ordered)
    return Outline(title, facts, tuple(section for section in sections if section.blocks))


def _best(sweep: Sweep, rows: list[dict[str, Any]]) -> Line:
    """The recording with the highest throughput."""
    timed = [row for row in rows if row["throughput"] is not None]
    if not timed:
        return Line("no steps are known: nothing tells how much is done per second", tone="info")
    best = max(timed, key=lambda row: row["throughput"])
    rate = f"{_rate(best['throughput'])} {best['items']}/s"
    most = said("most per second at {place}: {rate}", place=_place(sweep, best["at"]), rate=rate)
    if best["speedup"] is None or best is rows[0]:
        return Line(most)
    return Line(listing((most, said("{speedup:.2f} times the first", speedup=best["speedup"]))))


def _gaps(sweep: Sweep, rows: list[dict[str, Any]]) -> tuple[Line, ...]:
    """What is not known of some recordings, and what to do about it; what contradicts the numbers given."""
    found = []
    read = [(at, point.items, point.unit) for at, point in zip(sweep.axis.at, sweep.points, strict=True) if point.items]
    if sweep.axis.given and sweep.axis.name == "batch" and len({items / at for at, items, _ in read}) > 1:
        batches = listing(
            said("{number} per step at {at}", number=items_words(items, unit), at=_at(at)) for at, items, unit in read
        )
        other = said("the recordings tell another batch than --at: {batches}", batches=batches)
        found.append(Line(other, "throughput counts these", "warning"))
    if rows[0]["items"] == "batches":
        unknown = said("batch sizes are not recorded: every rank's batch counts as one, as if all were as large")
        shapes = said("record shapes of inputs")
        if sweep.axis.name == "input":
            shapes = said("record shapes of inputs, or give --at")
        found.append(Line(unknown, shapes, "info"))
    if lacking := [row["source"] for row in rows if row["peak_bytes"] is None and row["peak_reserved_bytes"] is None]:
        names = ", ".join(map(recording_name, lacking)) if len(lacking) < len(rows) else said("any recording")
        memory = said("device memory of {recordings} is not recorded", recordings=names)
        found.append(Line(memory, "record with profile_memory=True", "info"))
    return tuple(found)


def _different(sweep: Sweep) -> tuple[Block, ...]:
    """A line for each thing that differs, with the recordings that it differs on."""
    found: dict[tuple[str, str, str], list[str]] = {}
    tones: dict[tuple[str, str, str], Tone] = {}
    for i, one in sweep.different:
        differs: str = said(
            "{what}: {new} instead of {base}", what=one.what, new=recalled(one.new), base=recalled(one.base)
        )
        key = (differs, one.effect, one.what)
        found.setdefault(key, []).append(_at(sweep.axis.at[i]))
        tones[key] = one.tone
    return tuple(
        Line(
            said("at {places}, {difference}", places=", ".join(dict.fromkeys(at)), difference=visible(words)),
            effect,
            tones[words, effect, what],
        )
        for (words, effect, what), at in found.items()
    )


def _rates(sweep: Sweep, rows: list[dict[str, Any]]) -> tuple[Block, ...]:
    ranks = sweep.axis.name != "ranks"
    headings = (
        Heading(sweep.axis.label), *([Heading(said("ranks"), rank=5)] * ranks), Heading(f"{rows[0]['items']}/s"),
        Heading(said("speedup")), Heading(said("efficiency"), rank=1), Heading(said("peak memory"), rank=2),
        Heading(said("reserved"), rank=3), Heading(said("recording"), number=False, rank=4),
    )  # fmt: skip
    listed = tuple(
        (
            _at(row["at"]), *([f"{row['ranks']:,}"] * ranks), _rate(row["throughput"]),
            NONE if row["speedup"] is None else f"{row['speedup']:.2f}", percent(row["efficiency"], 0),
            quantity(row["peak_bytes"], "bytes"), quantity(row["peak_reserved_bytes"], "bytes"),
            recording_name(row["source"]),
        )
        for row in rows
    )  # fmt: skip
    return (Grid(headings, listed, table="sweep"),)


def _steps(sweep: Sweep, rows: list[dict[str, Any]]) -> tuple[Block, ...]:
    if all(row["step_ns"] is None for row in rows):
        return ()
    one = time_scale([row["step_ns"] for row in rows])
    headings = (
        Heading(sweep.axis.label), Heading(headed(said("step"), one)), *(Heading(name) for _, name in _PARTS),
        Heading(said("steps"), rank=3),
    )  # fmt: skip
    listed = tuple(
        (_at(row["at"]), one.write(row["step_ns"]), *(one.write(row[column]) for column, _ in _PARTS),
         f"{row['steps']:,}")
        for row in rows
    )  # fmt: skip
    return (Grid(headings, listed, table="sweep"),)


def _at(at: float) -> str:
    return f"{at:,.0f}" if at == int(at) else f"{at:,.1f}"


def _place(sweep: Sweep, at: float) -> str:
    if sweep.axis.name == "input" or (sweep.axis.name == "batch" and sweep.axis.given):
        return said("{axis} {number}", axis=sweep.axis.label, number=_at(at))
    if sweep.axis.name == "ranks":
        return plural(int(at), "rank")
    return said("{number} {axis}", axis=sweep.axis.label, number=_at(at))


def _rate(value: float | None) -> str:
    return NONE if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
