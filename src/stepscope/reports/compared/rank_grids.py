"""Two jobs on the page of a comparison: their worst and typical ranks, ranks beside each other, and their groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from stepscope.comparison.result import Comparison
from stepscope.language import pattern, recalled, said
from stepscope.model.amounts import NONE, percent
from stepscope.reports.blocks import Block, Grid, Heading
from stepscope.reports.compared.cells import headed, ratio_between, ratio_words, signed
from stepscope.reports.text import visible
from stepscope.reports.units import Scale, time_scale

Row = dict[str, Any]
#: Parts shown beside a rank's own time; the rest of them is in the files.
_PARTS: Final = (
    ("compute_ns", said("compute")), ("transfer_ns", said("transfer")), ("exposed_copy_ns", said("copies")),
    ("idle_ns", said("idle")), ("waited_ns", said("waits")),
)  # fmt: skip
#: The worst and the typical rank, of the whole job or of a stage.
_WHICH: Final = {
    ("worst", True): pattern("the worst: {ranks}, {base} and {new} ranks"),
    ("typical", True): pattern("the typical: {ranks}, {base} and {new} ranks"),
    ("worst", False): pattern("the worst of stage {stage}: {ranks}"),
    ("typical", False): pattern("the typical of stage {stage}: {ranks}"),
}


def rank_grids(comparison: Comparison, top: int) -> tuple[Block, ...]:
    """The worst and the typical rank of each job, the ranks that differ most, and groups; none of single ranks."""
    worst, ranks, groups = (
        comparison.tables[name].records() if name in comparison.tables else []
        for name in ("job_worst", "job_ranks", "job_groups")
    )
    if not worst:
        return ()
    one = time_scale([row[f"{side}_own_ns"] for row in worst for side in ("base", "new")])
    found = [
        Grid(_headings(said("rank"), one), tuple(_cells(_place(row), row, one) for row in worst), table="job_worst"),
        Grid(
            _headings(said("ranks"), one), tuple(_cells(_pair(row), row, one) for row in ranks[:top]),
            hidden=max(0, len(ranks) - top), table="job_ranks", whole=True,
        ),
    ]  # fmt: skip
    if groups:
        found.append(_groups(groups, comparison.of_steps))
    return tuple(found)


def _headings(what: str, one: Scale) -> tuple[Heading, ...]:
    return (
        Heading(what, number=False), Heading(headed(said("base"), one)), Heading(headed(said("new"), one)),
        Heading(said("ratio")), Heading(said("interval"), rank=1),
        *(Heading(words, rank=2 + i) for i, (_, words) in enumerate(_PARTS)),
    )  # fmt: skip


def _cells(name: str, row: Row, one: Scale) -> tuple[str, ...]:
    times = [NONE if row[f"{side}_own_ns"] is None else one.write(row[f"{side}_own_ns"]) for side in ("base", "new")]
    ratio = NONE if row["ratio"] is None else f"{row['ratio']:.2f}"
    interval = NONE if row["low"] is None else ratio_between(row["low"], row["high"])
    if row["sure"] is False:
        interval = said("({interval})", interval=interval)
    diffs = []
    for part, _ in _PARTS:
        base, new = row[f"base_{part}"], row[f"new_{part}"]
        diffs.append(NONE if base is None or new is None else signed(one.write(new - base)))
    return (name, *times, ratio, interval, *diffs)


def _place(row: Row) -> str:
    values = {"ranks": _numbers(row), "base": row["base_ranks"], "new": row["new_ranks"], "stage": row["stage"]}
    text = _WHICH[row["which"], row["stage"] is None]
    return said(text, **{name: value for name, value in values.items() if f"{{{name}}}" in text})


def _pair(row: Row) -> str:
    if row["stage"] is None:
        return _numbers(row)
    return said("{ranks} (stage {stage})", ranks=_numbers(row), stage=row["stage"])


def _numbers(row: Row) -> str:
    base, new = row["base_rank"], row["new_rank"]
    if base == new:
        return f"{base}"
    return f"{NONE if base is None else base} → {NONE if new is None else new}"


def _groups(groups: Sequence[Row], per_step: bool) -> Grid:
    what = said("groups, exposed per step") if per_step else said("groups, exposed")
    one = time_scale([row[name] for row in groups for name in ("base_most_ns", "new_most_ns")])
    headings = (
        Heading(what, number=False), Heading(said("number")), Heading(said("new")),
        Heading(headed(said("base"), one)), Heading(headed(said("new"), one)), Heading(said("ratio")),
        Heading(said("growth"), rank=2), Heading(said("most, base"), rank=1), Heading(said("most, new"), rank=1),
    )  # fmt: skip
    rows = []
    for row in groups:
        base, new = row["base_ns"], row["new_ns"]
        times = [
            NONE if row[name] is None else one.write(row[name])
            for name in ("base_ns", "new_ns", "base_most_ns", "new_most_ns")
        ]
        growth = signed(percent(new / base - 1)) if base and new is not None else NONE
        ratio = ratio_words(base or 0, new or 0, (base is not None, new is not None))
        number = str(row["base_groups"]), str(row["new_groups"])
        rows.append((recalled(visible(row["purpose"])), *number, *times[:2], ratio, growth, *times[2:]))
    return Grid(headings, tuple(rows), table="job_groups")
