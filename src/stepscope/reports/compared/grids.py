"""Tables of a comparison as grids: base beside new, the difference, and its share of the base's step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, Final

from stepscope.comparison.result import Comparison
from stepscope.language import listing, recalled, said
from stepscope.language.part_words import in_words
from stepscope.model.amounts import NONE, quantity
from stepscope.reports.blocks import Block, Grid, Heading
from stepscope.reports.compared.cells import (
    beside_headings,
    beside_row,
    calls_words,
    certain_heading,
    certain_words,
    headed,
    ratio_words,
    row_half,
    signed,
)
from stepscope.reports.compared.kernel_grid import TABLE, kernel_grid
from stepscope.reports.text import visible
from stepscope.reports.units import Scale, time_scale

#: Splits of compute: table, key columns, what a row is.
_SPLITS: Final = (
    ("compute_classes", ("op_class", "phase"), said("kernel class")),
    ("compute_module_classes", ("name",), said("module")),
    ("compute_operators", ("operator",), said("operator")),
)
#: Ways in which the peak of memory is split, in the order of pages.
_BY: Final = {
    "purpose": said("purpose"), "operator": said("operator"), "module": said("module"), "line": said("line"),
}  # fmt: skip
_PEAK: Final = tuple(_BY)
#: What became of findings.
_CHANGES: Final = {
    "new": said("new"), "gone": said("gone"), "grown": said("grown"), "shrunk": said("shrunk"), "same": said("same"),
    "unknown": said("unknown"),
}  # fmt: skip
#: Parts of less than this share of both steps are not shown.
_LEAST: Final = 0.0005


def parts_grid(comparison: Comparison) -> tuple[Block, ...]:
    """The step and its parts, idle causes with their details."""
    if not comparison.parts:
        return ()
    whole = [sum(row.base_ns for row in comparison.parts), sum(row.new_ns for row in comparison.parts)]
    one = time_scale(whole)
    details: dict[str, list[dict[str, Any]]] = {}
    for row in comparison.table("step_parts").records():
        details.setdefault(row["part"], []).append(row)
    name = _whole(comparison)
    rows = [(*beside_row(name, whole[0], whole[1], one, whole[0]), _step_certain(comparison, one))]
    for part in comparison.parts:
        if max(part.base_ns, part.new_ns) < _LEAST * max(whole):
            continue
        sure = certain_words(part.half, part.diff_ns, one)
        rows.append((*beside_row(_words(part.key), part.base_ns, part.new_ns, one, whole[0]), sure))
        if len(details[part.key]) > 1:
            rows += [
                (
                    *beside_row(_below(_words(row["detail"] or "other")), row["base_ns"], row["new_ns"], one, whole[0]),
                    certain_words(row_half(row), row["diff_ns"], one),
                )
                for row in details[part.key]
                if max(row["base_ns"], row["new_ns"]) >= _LEAST * max(whole)
            ]
    return (Grid((*beside_headings(said("part"), one, name), certain_heading(one)), tuple(rows), table="step_parts"),)


def _step_certain(comparison: Comparison, one: Scale) -> str:
    """The same of the step."""
    found = next((each for each in comparison.metrics if each.name == "step_time"), None)
    if found is None or not isfinite(found.high):
        return NONE
    return certain_words((found.high - found.low) / 2, round(found.diff), one)


def phases_grid(comparison: Comparison, scale: Scale | None = None) -> tuple[Block, ...]:
    """Phases, device work and idle time apart; `scale` as of `split_grids`."""
    if "step_phases" not in comparison.tables:
        return ()
    listed = comparison.table("step_phases").records()
    whole = sum(row["base_ns"] for row in listed)
    largest = max((max(row["base_ns"], row["new_ns"]) for row in listed), default=0)
    one = scale or time_scale([largest])
    rows = [
        (
            *beside_row(_phase(row), row["base_ns"], row["new_ns"], one, whole),
            certain_words(row_half(row), row["diff_ns"], one),
        )
        for row in listed
        if max(row["base_ns"], row["new_ns"]) >= _LEAST * max(whole, 1)
    ]
    headings = (*beside_headings(said("phase"), one, _whole(comparison)), certain_heading(one))
    return (Grid(headings, tuple(rows), table="step_phases"),) if rows else ()


def findings_grid(comparison: Comparison, top: int) -> tuple[Block, ...]:
    """Findings that are new, gone, grown or shrunk."""
    changed = [one for one in comparison.findings if one.change != "same"]
    if not changed:
        return ()
    shown = changed[:top]
    one = time_scale(cost for each in shown for cost in (each.base_cost_ns, each.new_cost_ns))
    headings = (
        Heading(said("finding"), number=False), Heading(said("change"), number=False),
        Heading(headed(said("base"), one)), Heading(headed(said("new"), one)),
        Heading(said("rule"), number=False, rank=3),
    )  # fmt: skip
    rows = tuple(
        (
            visible(recalled(each.title)),
            _CHANGES[each.change],
            one.write(each.base_cost_ns),
            one.write(each.new_cost_ns),
            each.code,
        )
        for each in shown
    )
    return (Grid(headings, rows, hidden=len(changed) - len(shown), table="findings", whole=True),)


def memory_grids(comparison: Comparison, top: int) -> tuple[Block, ...]:
    """Peaks of device memory, and what they are made of."""
    found = [one for one in comparison.metrics if one.unit == "bytes"]
    headings = (
        Heading("", number=False), Heading(said("base")), Heading(said("new")), Heading(said("diff")),
        Heading(said("ratio")),
    )  # fmt: skip
    rows = tuple(
        (
            _words(one.name), quantity(one.base, "bytes"), quantity(one.new, "bytes"),
            signed(quantity(one.diff, "bytes")),
            f"{one.new / one.base:.2f}" if one.base else NONE,
        )
        for one in found
    )  # fmt: skip
    made_of = comparison.tables["memory_peak"].records() if "memory_peak" in comparison.tables else []
    by = dict.fromkeys(row["by"] for row in made_of)
    splits = [
        _peak_split([row for row in made_of if row["by"] == one], one, top) for one in sorted(by, key=_PEAK.index)
    ]
    return (*([Grid(headings, rows)] if rows else ()), *filter(None, splits))


def _peak_split(listed: Sequence[dict[str, Any]], by: str, top: int) -> Grid | None:
    """A way in which the peak is split; none where both sides hold the same, or it is one row."""
    if len(listed) < 2 or not any(row["diff_bytes"] for row in listed):
        return None
    headings = (
        Heading(_BY[by], number=False), Heading(said("base")), Heading(said("new")), Heading(said("diff")),
        Heading(said("ratio"), rank=2), Heading(said("number"), rank=4), Heading(said("new"), rank=4),
    )  # fmt: skip
    rows = tuple(
        (
            visible("/".join(row["name"].split("/")[-2:])),
            quantity(row["base_bytes"], "bytes"), quantity(row["new_bytes"], "bytes"),
            signed(quantity(row["diff_bytes"], "bytes")), ratio_words(row["base_bytes"], row["new_bytes"]),
            calls_words(row["base_count"]), calls_words(row["new_count"]),
        )
        for row in listed[:top]
    )  # fmt: skip
    return Grid(
        headings, rows, said("the peak by {what}", what=_BY[by]), max(0, len(listed) - top), "memory_peak", whole=True
    )


def step_scale(comparison: Comparison) -> Scale | None:
    """How times are written where all tables of a page have one unit: as the step is; None where no parts are known."""
    whole = [sum(row.base_ns for row in comparison.parts), sum(row.new_ns for row in comparison.parts)]
    return time_scale(whole) if any(whole) else None


def split_grids(comparison: Comparison, top: int, scale: Scale | None = None) -> tuple[Block, ...]:
    """The splits of compute, the largest differences first.

    Args:
        comparison: What they are of.
        top: Rows shown of each.
        scale: How times are written; None for each split by its own times.
    """
    found = []
    for name, keys, caption in _SPLITS:
        listed = comparison.tables[name].records() if name in comparison.tables else []
        listed = [row for row in listed if any(_there(row))]
        if len(listed) > (name == "compute_module_classes"):
            found.append(_split(listed, keys, caption, top, name, scale))
    kernels = comparison.tables[TABLE].records() if TABLE in comparison.tables else []
    return (*found, *([kernel_grid(kernels, top)] if kernels else ()))


def _split(listed: Sequence[dict[str, Any]], keys: Iterable[str], caption: str, top: int, table: str,
           scale: Scale | None) -> Grid:  # fmt: skip
    whole = sum(row["base_ns"] for row in listed)
    shown = listed[:top]
    one = scale or time_scale(row[side] for row in shown for side in ("base_ns", "new_ns"))
    headings = (
        *beside_headings(caption, one, said("compute")), certain_heading(one), Heading(said("calls"), rank=4),
        Heading(said("new"), rank=4),
    )  # fmt: skip
    names = [listing(_key(row, key) for key in keys if row[key]) for row in shown]
    rows = tuple(
        (
            *beside_row(name, row["base_ns"], row["new_ns"], one, whole, _there(row)),
            certain_words(row_half(row), row["diff_ns"], one),
            calls_words(row["base_count"]), calls_words(row["new_count"]),
        )
        for name, row in zip(names, shown, strict=True)
    )  # fmt: skip
    return Grid(headings, rows, caption, len(listed) - len(shown), table, whole=True)


def _key(row: Mapping[str, Any], key: str) -> str:
    return in_words(row[key]) if key == "phase" else _end(visible(row[key]))


def _whole(comparison: Comparison) -> str:
    """What parts are parts of."""
    return said("step") if comparison.of_steps else said("whole")


def _there(row: Mapping[str, Any]) -> tuple[bool, bool]:
    """Whether either side has any of it."""
    return bool(row["base_count"] or row["base_ns"]), bool(row["new_count"] or row["new_ns"])


def _words(name: str) -> str:
    """A part or phase in words: `idle.data_wait` is `idle: data wait`."""
    head, dot, tail = name.partition(".")
    return visible(said("idle: {cause}", cause=in_words(tail)) if dot and head == "idle" else in_words(name))


def _below(words: str) -> str:
    """A row that belongs to the one above it."""
    return said("  {row}", row=words)


def _phase(row: Mapping[str, Any]) -> str:
    return said("{phase}, {kind}", phase=_words(row["phase"]), kind=_words(row["kind"]))


def _end(path: str) -> str:
    """The last two names of a path, which are what differs between rows."""
    names = path.split(" / ")
    return path if len(names) < 4 else "… / " + " / ".join(names[-2:])
