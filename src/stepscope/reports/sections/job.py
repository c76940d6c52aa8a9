"""The ranks of a job beside each other: who makes the others wait, in which groups, by which clocks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from stepscope.language import listing, pattern, said
from stepscope.model.amounts import listed, plural
from stepscope.reports.blocks import Grid, Line, Section
from stepscope.reports.contents import Contents
from stepscope.reports.sections.budget import has_steps
from stepscope.reports.sections.slowest import even, told_apart, world_of
from stepscope.reports.sections.tables import grid_of
from stepscope.reports.text import visible
from stepscope.reports.units import duration

#: Ranks and kinds of collectives shown, and groups named.
_RANKS: Final = 6
_GROUPS: Final = 4
#: What costs less of a step is not worth looking for.
_LEAST: Final = 0.01
#: Columns and what they are called here.
_SLOW: Final = {
    "rank": pattern("Rank"), "reason": pattern("slow"), "caused_ns": pattern("others wait"),
    "last": pattern("came last"), "collectives": pattern("of"), "waited_ns": pattern("it waits"),
    "compute_ratio": pattern("computing × median"), "idle_excess": pattern("idles more"), "host": pattern("host"),
}  # fmt: skip
_CAPTION: Final = pattern("Collectives over all ranks")
_COMM: Final = {
    "collective": pattern("collective"), "group": pattern("group"), "transfer_ns": pattern("transfer"),
    "wait_ns": pattern("wait"), "count": pattern("count"), "participants": pattern("ranks"),
    "last_rank": pattern("last: rank"), "last_share": pattern("in"), "imbalance": pattern("imbalance"),
}  # fmt: skip
#: The same where nothing tells waiting from transfer: what the shortest one at hand takes, and the others beyond it.
_UNTOLD: Final = {**_COMM, "transfer_ns": pattern("shortest"), "wait_ns": pattern("others longer")}
#: Why a rank is slow; of one that is not, no.
_REASONS: Final = {
    "compute": pattern("compute"), "host": pattern("host"), "copies": pattern("copies"), "link": pattern("link"),
    "start": pattern("start"), None: pattern("no"),
}  # fmt: skip


def job(report: Contents, top: int) -> Section:
    """A table of ranks and one of collectives, a line for each kind of parallelism and one for clocks."""
    ranks, comm = report.rows("slow_ranks"), report.rows("communication_ranks")
    if len(ranks) < 2:
        return Section("Ranks beside each other", ())
    groups = report.rows("parallel_groups")
    missing = world_of(report) > len(report.sources)
    labels = _labels(groups, missing)
    for row in comm:
        row["group"] = labels.get(row["group"], row["group"])
    awaited = [row for row in ranks if row["slow"] or (row["caused_ns"] or 0) >= _LEAST * (row["step_ns"] or 1)]
    for row in ranks:
        row["reason"] = said(_REASONS.get(row["reason"], row["reason"]))
    steps = has_steps(report)
    grids = [_grid(report, "slow_ranks", ranks, _SLOW, min(top, _RANKS))] if awaited else []
    known = told_apart(ranks)
    names = _COMM if known else _UNTOLD
    grids += [_grid(report, "communication_ranks", comm, names, min(top, _RANKS), _CAPTION)] if comm else []
    lines = (*_groups(groups, missing), *_clocks(report.rows("clock_offsets")))
    aside = said("means per typical step") if steps else said("no steps are known")
    none = (even(ranks, steps),) if comm and known and not awaited else ()
    return Section("Ranks beside each other", (*none, *grids, *lines), aside)


def _grid(
    report: Contents, table: str, rows: Sequence[dict[str, Any]], names: dict[str, str], top: int, caption: str = ""
) -> Grid:
    """Some columns of a table under other headings; those without a value are left out."""
    schema = report.tables[table].schema
    columns = [schema[name] for name in names if any(row[name] is not None for row in rows[:top])]
    grid = grid_of(rows, columns, caption, top, table)
    headings = []
    for at, (column, heading) in enumerate(zip(columns, grid.headings, strict=True)):
        unit = heading.text.rsplit(" ", 1)[-1] if column.unit in ("ns", "fraction") else ""
        name = said(names[column.name])
        text = said("{heading} {unit}", heading=name, unit=unit) if unit else name
        headings.append(replace(heading, text=text, number=bool(at) and heading.number))
    return replace(grid, headings=tuple(headings))


def _labels(groups: Sequence[dict[str, Any]], missing: bool) -> dict[str, str]:
    """Groups by what they are for and their ranks, where that distinguishes them."""
    known = {
        row["group"]: said(
            "{parallelism} of {members}",
            parallelism=row["parallelism"] or said("group"),
            members=_members(row, missing),
        )
        for row in groups
        if row["ranks"]
    }
    several = [*known.values()]
    return {group: label for group, label in known.items() if several.count(label) == 1}


def _members(row: dict[str, Any], missing: bool) -> str:
    if missing and row["size"] is None:
        return said("ranks {ranks} at hand", ranks=listed(row["ranks"], _GROUPS))
    return (
        said("ranks {ranks}", ranks=listed(row["ranks"], _GROUPS))
        if len(row["ranks"]) > 1
        else said("rank {number}", number=row["ranks"][0])
    )


def _groups(groups: Sequence[dict[str, Any]], missing: bool) -> Iterator[Line]:
    """What the groups are for that ranks communicate in; of one without a size, those at hand may not be all."""
    of: dict[str, list[str]] = defaultdict(list)
    called = [row for row in groups if row["calls"] and row["ranks"]]
    for row in called:
        ranks = listed(row["ranks"], _GROUPS)
        if missing and row["size"] is None:
            ranks = said("{ranks} at hand", ranks=ranks)
        of[row["parallelism"] or said("of unknown purpose")].append(ranks)
    each = [
        said("{kind} ({ranks})", kind=kind, ranks=listing(shown[:_GROUPS], "; "))
        if len(shown) <= _GROUPS
        else said(
            "{kind} ({ranks}; {left} more)",
            kind=kind, ranks=listing(shown[:_GROUPS], "; "), left=len(shown) - _GROUPS,
        )
        for kind, shown in of.items()
    ]  # fmt: skip
    lacking = sum(row["at_hand"] < (row["size"] or 0) for row in called)
    if each:
        yield Line(
            said("groups of ranks: {each}", each=listing(each)),
            said("ranks of {groups} are not all at hand", groups=plural(lacking, "group")) if lacking else "",
        )


def _clocks(clocks: Sequence[dict[str, Any]]) -> Iterator[Line]:
    """By how much clocks differ at most, with the residual."""
    known = [row for row in clocks if row["offset_ns"] is not None]
    if len(known) < 2 or not any(row["compared"] for row in known):
        return
    residual = duration(max(row["residual_ns"] for row in known))
    most = max(known, key=lambda row: abs(row["offset_ns"]))
    if not most["sure"] or not most["offset_ns"]:
        yield Line(said("clocks agree to within {residual}, by the ends of collectives", residual=residual))
        return
    host = said(" ({host})", host=visible(str(most["host"]))) if most["host"] else ""
    way = said("ahead of") if most["offset_ns"] > 0 else said("behind")
    yield Line(
        said(
            "the clock of rank {rank}{host} is {offset} {way} that of rank {other}, the largest offset: "
            "aligned by the ends of collectives, with a residual of up to "
            "{residual}",
            rank=most["rank"], host=host, offset=duration(abs(most["offset_ns"])), way=way, other=clocks[0]["rank"],
            residual=residual,
        )
    )  # fmt: skip
