"""What there is to ask about, and the first page of a recording."""

from __future__ import annotations

from typing import Any, Final

from stepscope.agents.amounts import time_of
from stepscope.agents.bounds import short
from stepscope.agents.opened import Recordings
from stepscope.reports.sections import facts, title

#: Findings and ranks on the first page, and lines of health.
_FIRST: Final = 5
_RANKS: Final = 16
_LINES: Final = 40
_PARTS: Final = ("compute", "exposed_comm", "exposed_copy", "idle")


class OverviewTools:
    """Tools to begin with."""

    def __init__(self, recordings: Recordings) -> None:
        self._recordings = recordings

    def recordings(self) -> Any:
        """List the recordings that can be asked about, by the name that all other tools take; nothing else can be read.

        Call this first, then `overview`.
        """
        return {
            "recordings": [one.name for one in self._recordings.offered],
            "next": "overview(recording=NAME)",
        }

    def overview(self, recording: str = "") -> Any:
        """What ran, how long its typical step is and where that goes, and the findings that cost most.

        Args:
            recording: Name from `recordings`; may be left out where there is one alone.
        """
        opened = self._recordings.get(recording)
        report = opened.report
        found = report.diagnosis.shown if report.diagnosis else ()
        return {
            "recording": opened.name,
            "title": title(report),
            "facts": facts(report),
            "ranks": [
                {"rank": one.rank, "device": one.name, "world_size": one.world_size} for one in report.ranks[:_RANKS]
            ],
            "step": time_of(report.diagnosis.step_ns if report.diagnosis else None),
            "budget": [
                {
                    "rank": row["rank"], "device": row["device"], "step": time_of(row["total_ns"]),
                    **{part: time_of(row[f"{part}_ns"], row[f"{part}_ns"] / row["total_ns"]) for part in _PARTS},
                }
                for row in _means(report.rows("step_budget"))[:_RANKS]
                if row["total_ns"]
            ],
            "findings": [
                {"code": one.code, "title": one.title, "price": time_of(one.cost_ns, one.share)}
                for one in found[:_FIRST]
            ],
            "findings_in_all": len(found),
            "wrong_with_the_recording": [line.message for line in report.health if line.severity != "info"][:10],
            "next": f"finding(recording={opened.name!r}, code=CODE) for evidence and remedy; health; tables",
        }  # fmt: skip

    def health(self, recording: str = "") -> Any:
        """What is wrong with a recording or missing from it, what that makes impossible, and what to record next time.

        Args:
            recording: Name from `recordings`.
        """
        report = self._recordings.get(recording).report
        lacking = [one for one in report.abstentions if one.applies]
        return {
            "lines": [
                {
                    "severity": line.severity, "code": line.code, "rank": line.rank, "count": line.count,
                    "message": short(line.message), "effect": short(line.effect),
                }
                for line in report.health[:_LINES]
            ],
            "lines_in_all": len(report.health),
            "tables_without_input": {one.table: short(f"{one.message}; {one.hint}") for one in lacking},
        }  # fmt: skip


def _means(budget: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The mean of the steps of each rank and device; the whole recording where no steps are known."""
    groups: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
    for row in budget:
        groups.setdefault((row["rank"], row["device"]), []).append(row)
    found = []
    for rows in groups.values():
        steps = [row for row in rows if row["step"] is not None] or rows
        summed = {name: sum(row[name] for row in steps) // len(steps) for name in steps[0] if name.endswith("_ns")}
        found.append({**steps[0], **summed})
    return found
