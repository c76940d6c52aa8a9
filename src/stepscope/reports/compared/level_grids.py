"""Tables that a page has where their level is asked for, and that of collectives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from stepscope.comparison.result import Comparison
from stepscope.language import listing, said
from stepscope.model.amounts import NONE, percent, quantity
from stepscope.reports.blocks import Block, Grid, Heading, Section
from stepscope.reports.compared.cells import (
    beside_headings,
    beside_row,
    calls_words,
    certain_heading,
    certain_words,
    headed,
    ratio_between,
    ratio_words,
    row_half,
    signed,
)
from stepscope.reports.text import visible
from stepscope.reports.units import Scale, time_scale

_CALLS: Final = (Heading(said("calls"), rank=4), Heading(said("new"), rank=4))

#: What makes steps other work or work of other kernels, as `comparable` calls it.
_OTHER_WORK: Final = {"what was run", "batch", "model shape", "operators", "devices"}


def level_sections(
    comparison: Comparison, levels: Sequence[str], top: int, per: str, scale: Scale | None
) -> tuple[Section, ...]:
    """Sections of the levels that were asked for by name; `scale` is how times of whole recordings are written."""
    asked = {
        "overall": Section("Whole recordings", _overall(comparison, scale), "rows as in the Ascend compare tool"),
        "memory": Section("Allocations", _allocations(comparison, top), _about(per, said("by the innermost operator"))),
        "api": Section(
            "Host", _host(comparison, top), _about(per, said("operators with inner ones, which count in both"))
        ),
    }
    return tuple(section for level, section in asked.items() if level in levels)


def _about(*parts: str) -> str:
    return listing(parts, "; ")


def communication_grid(comparison: Comparison, top: int) -> tuple[Block, ...]:
    """Collectives, the parts of each below it where they are recorded."""
    listed = _records(comparison, "communication")
    collectives = [one for one in listed if one["task"] is None]
    whole = sum(one["base_ns"] for one in collectives)
    one = _scale(listed)
    rows = []
    for each in collectives[:top]:
        rows.append(_cells(visible(each["name"]), each, one, whole))
        tasks = [task for task in listed if task["name"] == each["name"] and task["task"] is not None]
        rows += [_cells(f"  {visible(task['task'])}", task, one, whole) for task in tasks]
    what = (*beside_headings(said("collective"), one, said("communication")), certain_heading(one))
    return _grid((*what, *_CALLS), rows, "communication", max(0, len(collectives) - top))


def per_call_grid(comparison: Comparison, top: int) -> tuple[Block, ...]:
    """Times of one call, where the sides do other work or are no steps of one kind; else the splits say as much."""
    if not unlike(comparison):
        return ()
    grids: list[Block] = []
    for kind, what in (("operator", said("operator")), ("kernel", said("kernel"))):
        listed = [each for each in _records(comparison, "times_per_call") if each["kind"] == kind]
        listed = [each for each in listed if each["ratio"] is not None]
        one = time_scale([each[side] for each in listed[:top] for side in ("base_ns", "new_ns")])
        headings = (
            Heading(what, number=False), Heading(headed(said("base"), one)), Heading(headed(said("new"), one)),
            Heading(said("ratio")), Heading(said("interval"), rank=1), Heading(said("shapes"), number=False, rank=2),
            *_CALLS,
        )  # fmt: skip
        rows = [
            (
                visible(each["name"]), one.write(each["base_ns"]), one.write(each["new_ns"]), f"{each['ratio']:.2f}",
                ratio_between(each["low"], each["high"]), each["shapes"] or NONE,
                calls_words(each["base_calls"]), calls_words(each["new_calls"]),
            )
            for each in listed[:top]
        ]  # fmt: skip
        grids += _grid(headings, rows, "times_per_call", max(0, len(listed) - top))
    return tuple(grids)


def unlike(comparison: Comparison) -> bool:
    """Whether times of steps say little: the sides do other work on other devices, or have no steps of one kind."""
    said = {one.what for one in comparison.comparable if one.tone == "warning" or one.what == "devices"}
    return comparison.base.unit != comparison.new.unit or bool(said & _OTHER_WORK)


def _overall(comparison: Comparison, scale: Scale | None) -> tuple[Block, ...]:
    listed = _records(comparison, "overall")
    whole = max((one["base_ns"] for one in listed if one["level"] == 0), default=0)
    one = scale or _scale(listed)
    rows = [_cells("  " * each["level"] + visible(each["index"].strip()), each, one, whole) for each in listed]
    return _grid(
        (*beside_headings(said("row"), one, "E2E"), Heading(said("number"), rank=4), _CALLS[1]), rows, "overall", 0
    )


def _host(comparison: Comparison, top: int) -> tuple[Block, ...]:
    listed = _records(comparison, "api")
    one = _scale(listed[:top])
    whole = sum(each["base_self_ns"] for each in listed)
    rows = [_cells(visible(each["name"]), each, one, whole) for each in listed[:top]]
    headings = (*beside_headings(said("operator"), one, said("host time")), certain_heading(one), *_CALLS)
    return _grid(headings, rows, "api", max(0, len(listed) - top))


def _allocations(comparison: Comparison, top: int) -> tuple[Block, ...]:
    listed = _records(comparison, "memory")
    whole = sum(each["base_bytes"] for each in listed)
    headings = (
        Heading(said("operator"), number=False), Heading(said("base")), Heading(said("new")), Heading(said("diff")),
        Heading(said("ratio"), rank=2), Heading(said("of allocations"), rank=3), Heading("±", rank=1), *_CALLS,
    )  # fmt: skip
    rows = [
        (
            visible(each["name"]), quantity(each["base_bytes"], "bytes"), quantity(each["new_bytes"], "bytes"),
            signed(quantity(each["diff_bytes"], "bytes")),
            ratio_words(each["base_bytes"], each["new_bytes"], _there(each)),
            signed(percent(each["diff_bytes"] / whole)) if whole else "", _bytes_half(each),
            calls_words(each["base_count"]), calls_words(each["new_count"]),
        )
        for each in listed[:top]
    ]  # fmt: skip
    return _grid(headings, rows, "memory", max(0, len(listed) - top))


def _records(comparison: Comparison, table: str) -> list[dict[str, Any]]:
    return comparison.tables[table].records() if table in comparison.tables else []


def _scale(listed: Sequence[dict[str, Any]]) -> Scale:
    return time_scale([each[side] for each in listed for side in ("base_ns", "new_ns")])


def _there(each: dict[str, Any]) -> tuple[bool, bool]:
    return bool(each["base_count"]), bool(each["new_count"])


def _bytes_half(each: dict[str, Any]) -> str:
    """Half of the interval of a difference of bytes; in brackets where the difference is within it."""
    if each["low_bytes"] is None:
        return NONE
    words = quantity((each["high_bytes"] - each["low_bytes"]) / 2, "bytes")
    return words if each["sure"] or not each["diff_bytes"] else f"({words})"


def _cells(name: str, each: dict[str, Any], one: Scale, whole: int) -> tuple[str, ...]:
    there = (bool(each["base_count"] or each["base_ns"]), bool(each["new_count"] or each["new_ns"]))
    counts = [calls_words(count) if count else NONE for count in (each["base_count"], each["new_count"])]
    sure = (certain_words(row_half(each), each["diff_ns"], one),) if "low_ns" in each else ()
    return (*beside_row(name, each["base_ns"], each["new_ns"], one, whole, there), *sure, *counts)


def _grid(headings: tuple[Heading, ...], rows: Sequence[tuple[str, ...]], table: str, hidden: int) -> tuple[Block, ...]:
    return (Grid(headings, tuple(rows), hidden=hidden, table=table, whole=True),) if rows else ()
