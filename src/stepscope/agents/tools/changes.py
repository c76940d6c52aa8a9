"""What a change would bring, and what one has brought."""

from __future__ import annotations

from typing import Any, Final

from stepscope.agents.amounts import time_of
from stepscope.agents.bounds import short
from stepscope.agents.opened import Recordings
from stepscope.analyses.communication.decisive_rank import decisive_rank
from stepscope.analyses.stepgraph.whatif.predictions import predictions
from stepscope.comparison.build import CompareOptions, refuse_itself
from stepscope.jobs.compare import compare_inputs
from stepscope.model.errors import UserError
from stepscope.reports.selection import chosen_ranks

#: Tables of a comparison of which the largest differences are given, and how many of each.
_TABLES: Final = ("compute_classes", "compute_operators", "compute_kernels", "compute_modules", "communication")
_ROWS: Final = 8


class ChangeTools:
    """Tools about other programs than the recorded one."""

    def __init__(self, recordings: Recordings) -> None:
        self._recordings = recordings

    def what_if(
        self, recording: str = "", remove: list[str] | None = None, scale: list[str] | None = None,
        overlap: list[str] | None = None, rank: int | None = None,
    ) -> Any:  # fmt: skip
        """Predict the step with some work gone, faster or overlapped; without any of these, what each part is worth.

        Args:
            recording: Name from `recordings`.
            remove: For example ["data_wait"], ["kernel:gemm"], ["sync"].
            scale: For example ["kernel:attention=0.5"], ["op:aten::linear=0.7"].
            overlap: ["comm"] or ["copy"]: what would be hidden behind compute.
            rank: Rank to predict for; empty for the one that waits least for the others.
        """
        trace = self._recordings.get(recording).trace
        chosen = decisive_rank(trace) if rank is None else chosen_ranks(trace, [rank])[0]
        words = {"scale": scale or [], "remove": remove or [], "overlap": overlap or []}
        return {
            "rank": chosen,
            "changes": [
                {
                    "change": name, "step_now": time_of(found.base_ns), "step_then": time_of(found.new_ns),
                    "saved": time_of(found.saved_ns, found.saved_ns / found.base_ns if found.base_ns else None),
                }
                for name, found in predictions(trace.rank(chosen), words)[:40]
            ],
        }  # fmt: skip

    def compare(self, base: str, new: str) -> Any:
        """Whether one recording is faster than another, how sure that is, and what the difference is made of.

        Args:
            base: Name of a recording: what it was before.
            new: Name of another one: what it is now.
        """
        if self._recordings.path(base) == self._recordings.path(new):
            raise UserError("base and new are the same recording", hint="call `recordings`")
        one, other = self._recordings.get(base).trace, self._recordings.get(new).trace
        options = CompareOptions()
        refuse_itself(one, other, options)
        found = compare_inputs(one, other, options)
        return {
            "verdict": found.verdict,
            "reason": found.step_time.reason,
            "step_time": found.step_time.to_json(),
            "parts": [
                {
                    "part": row.key, "base": time_of(row.base_ns), "new": time_of(row.new_ns),
                    "difference": time_of(row.diff_ns),
                }
                for row in found.parts
            ],
            "largest_differences": {
                name: _largest(found.tables[name].records()) for name in _TABLES if name in found.tables
            },
            "doubtful": [short(f"{difference.what}: {difference.effect}") for difference in found.comparable],
            "findings": [one.to_json() for one in found.findings][:_ROWS],
        }  # fmt: skip


def _largest(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that differ most, without what is empty."""
    ordered = sorted(rows, key=lambda row: -abs(row.get("diff_ns") or 0))[:_ROWS]
    return [{key: short(value) for key, value in row.items() if value not in (None, "")} for row in ordered]
