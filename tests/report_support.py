"""A small report, made by hand, that every output is tested with."""

from __future__ import annotations

from stepscope.model.recording import Recording
from stepscope.model.schema import Column, TableSchema, ns, summary_columns, text
from stepscope.model.table import Table
from stepscope.reports import html
from stepscope.reports.contents import RankLine
from stepscope.reports.health import Abstention, HealthLine, abstention_lines
from stepscope.reports.html_tables import tables_html
from stepscope.reports.outline import outline
from stepscope.reports.report import Report
from stepscope.rules.diagnosis import Diagnosis
from stepscope.rules.finding import Action, Evidence, Finding

#: Names that a recording may hold to do harm: to a page, a workbook, a terminal, a reader.
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "two\nlines\r\nand\ttab",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b31m",
    "right\u202eto left \u2066isolate\u2069",
    "zero\u200bwidth\ufeff",
    "| pipe | `code` | [link](http://example.com)",
    "nul\x00and bell\x07",
    "x" * 40_000,
    "",
)

BUDGET = TableSchema(
    "step_budget",
    "The budget.",
    (
        Column("rank", "int32", "Rank."),
        Column("device", "int32", "Device.", "", True),
        Column("step", "int32", "Step.", "", True),
        *(ns(f"{part}_ns", part) for part in ("total", "compute", "exposed_comm", "exposed_copy", "idle")),
        Column("typical", "bool", "Typical.", "", True),
        Column("role", "string", "Role.", "", True),
    ),
)
CAUSES = TableSchema(
    "idle_causes",
    "The causes.",
    (
        Column("rank", "int32", "Rank."),
        Column("step", "int32", "Step.", "", True),
        text("cause", "Cause."),
        text("detail", "Detail.", nullable=True),
        ns("total_ns", "Time."),
        Column("count", "int64", "Gaps.", "count"),
    ),
)
KERNELS = TableSchema(
    "kernels", "The kernels.", (*summary_columns("kernel", "all kernels"), Column("rank", "int32", "Rank."))
)


def plain_page(report: Report, top: int = 10) -> str:
    """The document without the built page, as sweeps are written."""
    return html.document(outline(report, top), tables_html(report, "All tables"))


def sample_report(names: tuple[str, ...] = ("gemm", "add"), source: str = "run/trace.json") -> Report:
    """Two steps of 10 ms and 8 ms on one device."""
    budget = [
        (0, 0, 0, 10_000_000, 6_000_000, 1_000_000, 500_000, 2_500_000, True, None),
        (0, 0, 1, 8_000_000, 6_000_000, 1_000_000, 0, 1_000_000, True, None),
        (0, 0, None, 18_500_000, 12_000_000, 2_000_000, 500_000, 4_000_000, None, None),
    ]
    causes = [
        (0, 0, "data_wait", None, 2_000_000, 1),
        (0, 0, "host_dispatch", "python", 400_000, 3),
        (0, 0, "host_dispatch", "op_overhead", 100_000, 5),
        (0, 1, "data_wait", None, 1_000_000, 1),
        (0, None, "data_wait", None, 3_000_000, 2),
    ]
    total = 1_000_000 * sum(range(1, len(names) + 1))
    kernels = [
        (name, 4, 1_000_000 * k, 250_000 * k, 250_000 * k, 100_000, 400_000 * k, 1_000_000 * k / total, 0)
        for name, k in zip(names, range(len(names), 0, -1), strict=True)
    ]
    abstentions = (Abstention("copies", "nothing was copied", "record a job that copies", False, (0,)),)
    copies = TableSchema("copies", "The copies.", KERNELS.columns)
    return Report(
        sources={0: Recording(source, "kineto", rank=0, world_size=2, events=1234)},
        health=(
            HealthLine("truncated", "error", f"the recording {names[0]} ends early", "sums are too low", 1, 0),
            HealthLine("renamed", "info", "events were renamed", "none", 12, 0),
            *abstention_lines(abstentions),
        ),
        ranks=(RankLine(0, 0, "Device X", 2),),
        tables={
            "step_budget": Table.from_rows(BUDGET, budget),
            "idle_causes": Table.from_rows(CAUSES, causes),
            "kernels": Table.from_rows(KERNELS, kernels),
            "copies": Table.empty(copies),
        },
        abstentions=abstentions,
        diagnosis=Diagnosis((_waits(names[0]), _advice()), asked=7, step_ns=9_000_000),
    )


def _waits(name: str) -> Finding:
    action = Action(
        f"Load {name} in worker processes", "DataLoader(data)", "DataLoader(data,\n  num_workers=8)", "loading"
    )
    return Finding(
        "DAT001", "loader-wait", "data", "high", f"The step waits for {name}", f"1.50 ms go to {name}.",
        1_500_000, 0.2, 0.9, Evidence((0, 1), events=(3,)), (action,), (f"idle {name}",),
        share=1 / 6,
    )  # fmt: skip


def _advice() -> Finding:
    return Finding(
        "REC001", "no-shapes", "recording", "advice", "Shapes were not recorded", "Nobody knows.", None, None, 0.5,
        Evidence((0,)), (Action("Record shapes"),),
    )  # fmt: skip
