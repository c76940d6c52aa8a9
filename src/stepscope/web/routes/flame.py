"""The flame graph: stacks of the host with its own time, or with that of the device work that they launched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from stepscope.model.trace import Trace
from stepscope.reports.exports.folded import Time, timed_stacks
from stepscope.web.answers import json_answer
from stepscope.web.asked import one_rank
from stepscope.web.viewing import Viewing

#: Frames that are sent, those with the most time; at 1,280 pixels a page shows fewer.
_MOST: Final = 4000
#: Ranks whose graphs a saved page has.
_SAVED_RANKS: Final = 8


def routes(viewing: Viewing) -> Sequence[BaseRoute]:
    """`api/flame?time=host|device&rank=N`."""

    def flame(request: Request) -> Response:
        time: Time = "host" if request.query_params.get("time") == "host" else "device"
        return json_answer(request, largest_frames(one_rank(request, viewing.trace), time))

    return [Route("/api/flame", flame)]


def saved(viewing: Viewing) -> Iterator[str]:
    """The graphs of the first ranks."""
    for rank in viewing.trace.ranks[:_SAVED_RANKS]:
        for time in ("device", "host"):
            yield f"api/flame?time={time}&rank={rank}"


def largest_frames(trace: Trace, time: Time, most: int = _MOST) -> dict[str, Any]:
    """The largest frames of a rank's stacks, each after the one it is below.

    Returns:
        `names`, each once, those of kernels without their parameters; `whole`, by such a name one with them, the most
        costly; and for each frame `name` (its position there), `parent` (-1 for none), `self_ns`, `total_ns` and
        `first_ns`, when it was first there. Frames that are left out count in `total_ns` of those around them.
    """
    paths, own, first = timed_stacks(trace, time)
    from stepscope.model.kernel_names import classify  # slow to import

    total = list(own)
    for number in range(len(own) - 1, -1, -1):
        parent, _ = paths.frame(number)
        if parent >= 0:
            total[parent] += total[number]
            first[parent] = min(first[parent], first[number])
    largest = sorted(range(len(own)), key=lambda number: -total[number])[:most]
    kept = sorted(number for number in largest if total[number] > 0)
    place = {number: i for i, number in enumerate(kept)}
    known = {row["name_id"]: row["name"] for row in trace.rows("SELECT name_id, name FROM names")}
    kernels = {row["name"] for row in trace.rows("SELECT DISTINCT name FROM kernels")}
    names: dict[str, int] = {}
    short: dict[int, str] = {}
    whole: dict[str, tuple[int, str]] = {}
    name, parents = [], []
    for number in kept:
        above, name_id = paths.frame(number)
        said = known[name_id]
        if name_id not in short:
            short[name_id] = classify(said).short if said in kernels else said
        shown = short[name_id]
        if shown != said:  # kernels may differ in their parameters alone
            whole[shown] = max(whole.get(shown, (-1, "")), (own[number], said))
        name.append(names.setdefault(shown, len(names)))
        parents.append(place.get(above, -1))
    return {
        "names": list(names),
        "whole": {shown: said for shown, (_, said) in whole.items()},
        "name": name,
        "parent": parents,
        "self_ns": [own[number] for number in kept],
        "total_ns": [total[number] for number in kept],
        "first_ns": [first[number] for number in kept],
    }
