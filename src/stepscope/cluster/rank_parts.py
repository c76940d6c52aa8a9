"""What the tables of a job take from each rank: made where the rank is open, small, and sent to the first process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from stepscope.cluster.critical.rank_path import path_of
from stepscope.cluster.messages import message_times
from stepscope.cluster.operator_part import operators_of
from stepscope.cluster.part import times_of
from stepscope.cluster.step_part import steps_of
from stepscope.model.errors import MissingInputError
from stepscope.model.trace import Trace
from stepscope.signals import Signals
from stepscope.signals.communication.link_rates import Pair, pairs

#: What is sent of a rank, by name of the part; parts that the rank lacks are not there.
RankParts = Mapping[str, Any]


def links_of(trace: Trace) -> tuple[Pair, ...]:
    """What the rank's library moved between pairs of ranks, per step."""
    return Signals.of(trace).maybe(pairs) or ()


#: What makes each part of the trace of one rank; one that raises `MissingInputError` has none.
PARTS: Final[Mapping[str, Callable[[Trace], Any]]] = {
    "times": times_of,
    "links": links_of,
    "messages": message_times,
    "operators": operators_of,
    "steps": steps_of,
    "path": path_of,
}


def parts_of(trace: Trace, wanted: Iterable[str], failed: Callable[[str, Exception], None]) -> RankParts:
    """Parts of a rank.

    Args:
        trace: The rank.
        wanted: Names in `PARTS`.
        failed: Told of a part that can't be made, and why, where that is no lack of the recording.
    """
    found: dict[str, Any] = {}
    for name in wanted:
        try:
            part = PARTS[name](trace)
        except MissingInputError:
            continue
        except Exception as error:
            failed(name, error)
            continue
        if part is not None:
            found[name] = part
    return found
