"""The program's properties as a table, each with the evidence that it rests on."""

from __future__ import annotations

from typing import Final

from stepscope.analyses.program.decide import program_of
from stepscope.analyses.registry import Analysis
from stepscope.model.schema import TableSchema, text
from stepscope.model.table import Table
from stepscope.model.tables import RANK
from stepscope.model.trace import Trace

#: A name in a recording may be thousands of letters long.
_LONGEST: Final = 160

PROGRAM: Final = TableSchema(
    "program",
    "The program that ran: one row per known fact.",
    (
        RANK,
        text("aspect", "kind, framework, language, offload, platform, library, network, compiled, graphs, parallel or "
             "executable."),
        text("value", "What is known."),
        text("evidence", "What it is read from: names in the recording, or a share; null where the recording as a "
             "whole tells.", nullable=True),
    ),
)  # fmt: skip


def program(trace: Trace) -> Table:
    """The program's properties, one per row."""
    one = program_of(trace)
    evidence = dict(one.evidence)
    rows = (
        ("kind", one.kind),
        ("framework", one.framework),
        ("language", one.language),
        ("offload", one.offload),
        ("platform", one.platform),
        ("library", ", ".join(one.libraries)),
        ("network", one.network),
        ("compiled", "" if one.compiled is None else "yes" if one.compiled else "no"),
        ("graphs", "yes" if one.graphs else ""),
        ("parallel", ", ".join(sorted(one.parallel))),
        ("executable", one.executable),
    )
    known = [(aspect, value) for aspect, value in rows if value not in ("", "unknown", "other")]
    [rank] = trace.ranks
    return Table.from_rows(
        PROGRAM, [(rank, aspect, value, evidence.get(aspect, "")[:_LONGEST] or None) for aspect, value in known]
    )


ANALYSES = (Analysis(PROGRAM, program),)
