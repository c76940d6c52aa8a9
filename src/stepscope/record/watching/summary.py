"""What is to be said about a watched job when it has ended."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from pathlib import Path

from stepscope.language import said
from stepscope.model.amounts import plural
from stepscope.record.retold import retold
from stepscope.record.ring.reader import Ring
from stepscope.record.triggers.keeping import recordings_in
from stepscope.record.triggers.request import REASON
from stepscope.record.triggers.trigger import Trigger


def reason_of(folder: Path) -> str:
    """Why a recording was made, in a sentence without a full stop; empty if it can't be read."""
    try:
        return retold(Trigger.of_values(json.loads((folder / REASON).read_text(encoding="utf-8"))).sentence())
    except (OSError, ValueError, RecursionError):
        return ""


def watched(output: Path, rings: Sequence[Ring], before: Collection[Path] = ()) -> list[str]:
    """Sentences without a full stop: how much was watched, and which recordings there are.

    Args:
        output: The folder of the recordings.
        rings: Those of the job's processes.
        before: Recordings that lay there before the job started.
    """
    made = max((ring.recordings for ring in rings), default=0)
    found = [one for one in recordings_in(output) if one not in before]
    steps = sum(ring.count for ring in rings)
    gone = said(", of which the {kept} newest are kept", kept=len(found)) if made > len(found) else ""
    lines: list[str] = [
        said(
            "watched {steps:,} steps of {processes} and recorded {made} times{gone}: {output}",
            steps=steps, processes=plural(len(rings), "process", "processes"), made=made, gone=gone, output=output,
        )
    ]  # fmt: skip
    lines += [said("{folder}: {reason}", folder=folder.name, reason=reason_of(folder)) for folder in found]
    return lines
