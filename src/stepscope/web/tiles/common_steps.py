"""Steps of several ranks as ranges of the common time axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from stepscope.model.events.steps import Steps
from stepscope.web.tiles.timeline import Timeline

#: Steps that are listed, the first.
_MOST: Final = 500


def steps_of(timeline: Timeline, ranks: Sequence[int]) -> list[dict[str, Any]]:
    """Steps that all of these ranks have, in time order.

    Returns:
        Of each its number, `step`; `from` and `to`, in ns on the common axis, from where the first rank's devices begin
        it to where the last one's end it; and whether it is `typical` on all ranks.

    Raises:
        UserError: There is no such rank.
    """
    found: dict[int, tuple[int, int, bool, int]] = {}
    for rank in ranks:
        steps, shift = Steps.of(timeline.trace_of(rank)), timeline.axis.shift[rank]
        rows = zip(
            steps.step.tolist(), steps.start.tolist(), steps.end.tolist(), steps.typical.tolist(), steps.found.tolist(),
            strict=True,
        )  # fmt: skip
        for step, start, end, typical, marked in rows:
            if marked and end > start:
                first, last, usual, number = found.get(step, (start + shift, end + shift, True, 0))
                found[step] = min(first, start + shift), max(last, end + shift), usual and typical, number + 1
    common = [(step, *one) for step, one in found.items() if one[3] == len(ranks)]
    return [
        {"step": step, "from": first, "to": last, "typical": typical}
        for step, first, last, typical, _ in sorted(common, key=lambda one: one[1])[:_MOST]
    ]
