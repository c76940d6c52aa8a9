"""How well the device was used while it ran."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from stepscope.language import listing, said
from stepscope.reports.blocks import Line, Section
from stepscope.reports.contents import Contents
from stepscope.reports.sections.tables import grids
from stepscope.reports.sections.views import EFFICIENCY
from stepscope.reports.text import visible
from stepscope.reports.units import duration, percent, quantity
from stepscope.rules.wording import tensor_cores

#: Share of the time of matrix kernels whose FLOPs must be known for an MFU to be meaningful.
_COVERED: Final = 0.8


def efficiency(report: Contents, top: int) -> Section:
    """MFU, tensor cores and short kernels in a line each, then the roofline."""
    lines = (*_mfu(report), *_tensor_cores(report), *_short_kernels(report))
    return Section("How well it ran", (*lines, *grids(report, EFFICIENCY, top)), "sums of the whole recording")


def _mfu(report: Contents) -> Iterator[Line]:
    """MFU of the typical steps: FLOPs done over the FLOPs of the peak in their time."""
    rows = report.rows("mfu")
    of_steps = [row for row in rows if row["step"] is not None]
    typical = {(row["rank"], row["step"]) for row in report.rows("step_budget") if row.get("typical")}
    rows = [row for row in of_steps if (row["rank"], row["step"]) in typical] or of_steps or rows
    where = " in the typical steps" if len(rows) < len(of_steps) else ""
    time = sum(row["total_ns"] for row in rows)
    flops = sum(row["flops"] for row in rows if row["flops"] is not None)
    peaks = {(row["peak"], row["peak_flop_rate"]) for row in rows if row["peak_flop_rate"]}
    if not time or not flops:
        return
    covered = min((row["covered"] for row in rows if row["covered"] is not None), default=0.0)
    if covered < _COVERED:
        yield Line(
            said(
                "MFU unknown: FLOPs are known for only {covered} of the time of matrix kernels",
                covered=percent(covered),
            )
        )
        return
    rate, used = quantity(1e9 * flops / time, "FLOP/s"), flops * 1e9 / time
    if len(peaks) != 1:
        yield Line(
            said("{rate} over the typical steps", rate=rate) if where else said("{rate} over the steps", rate=rate)
        )
        return
    [(name, peak)] = peaks
    yield Line(
        said(
            "MFU {used}{where}: {rate} of {peak}",
            used=percent(used / peak), where=where, rate=rate, peak=quantity(peak, "FLOP/s"),
        ),
        visible(f"{name}"),
    )  # fmt: skip


def _tensor_cores(report: Contents) -> Iterator[Line]:
    rows = [row for row in report.rows("tensor_cores") if row["op_class"] is None and row["available"] is not False]
    total = sum(row["total_ns"] for row in rows)
    used = sum(row["used_ns"] for row in rows)
    unused = sum(row["unused_ns"] for row in rows)
    unknown = total - used - unused
    if total and not used + unused:
        yield Line(said("use of {units} unknown: no kernel name shows it", units=_units(report, rows)))
    elif total:
        least = said("at least ") if percent(used / total) != percent((used + unknown) / total) else ""
        notes = [said("{unused} ran without", unused=duration(unused))] if unused else []
        notes += [said("of {unknown} it is not known", unknown=duration(unknown))] if least else []
        yield Line(
            said(
                "{units} were used in {least}{used} of the time of kernels that could use them ({time} of {total})",
                units=_units(report, rows), least=least, used=percent(used / total), time=duration(used),
                total=duration(total),
            ),
            listing(notes),
        )  # fmt: skip


def _units(report: Contents, rows: Sequence[Mapping[str, Any]]) -> str:
    """What the vendor calls units that multiply matrices."""
    return tensor_cores(report.programs[rows[0]["rank"]].platform)


def _short_kernels(report: Contents) -> Iterator[Line]:
    rows = report.rows("short_kernels")
    number = sum(row["count"] for row in rows)
    short = [row for row in rows if row["to_ns"] is not None and row["to_ns"] <= 10_000]
    time = sum(row["total_ns"] for row in rows)
    if number and short:
        share = sum(row["count"] for row in short) / number
        of_time = sum(row["total_ns"] for row in short) / time if time else 0.0
        yield Line(
            said(
                "{share} of the kernels are shorter than 10 µs and take {of_time} of kernel time",
                share=percent(share), of_time=percent(of_time),
            )
        )  # fmt: skip
