"""The timeline: its tracks, their tiles, and questions about one event, a name or a range."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal, cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.web.answers import bytes_answer, json_answer
from stepscope.web.tiles import path_track, places, selection
from stepscope.web.tiles.at_hand import lanes_at_hand
from stepscope.web.tiles.common_steps import steps_of
from stepscope.web.tiles.events import details, flows, longest, search
from stepscope.web.tiles.pyramid import COARSEST
from stepscope.web.tiles.timeline import TILE_BITS, Timeline
from stepscope.web.viewing import Viewing

#: No moment of a recording is further from its origin, ns.
_FURTHEST: Final = 1 << 62
#: Tiles that a saved page may have; those of a level are there as a whole.
_SAVED_TILES: Final = 800


def routes(viewing: Viewing) -> Sequence[BaseRoute]:
    """`api/timeline` and what is below it. Times are ns on the common axis of all ranks."""
    timeline = Timeline(viewing.trace)

    def tiles(request: Request) -> Response:
        asked = [_integer(one, "tracks") for one in request.query_params.get("tracks", "").split(",") if one]
        body = timeline.tiles(_number(request, "level"), _number(request, "tile"), asked)
        return bytes_answer(request, body, "application/octet-stream")

    def about(request: Request) -> Any:
        known = {"lanes": lanes_at_hand(timeline)} if "lanes" in request.query_params else {}
        return {**timeline.to_json(), **known}

    def event(request: Request) -> Any:
        return details.details_of(timeline, _number(request, "rank"), _number(request, "event"))

    def flow(request: Request) -> Any:
        rank = _number(request, "rank")
        if "event" in request.query_params:
            return flows.flows_of(timeline, rank, _number(request, "event"))
        return flows.flows_within(timeline, rank, _number(request, "from"), _number(request, "to"))

    def steps(request: Request) -> Any:
        asked = [_integer(one, "ranks") for one in request.query_params.get("ranks", "").split(",") if one]
        return {"steps": steps_of(timeline, asked)}

    def findings(request: Request) -> Response:
        found = {"places": places.places_of(timeline, json.loads(viewing.whole_report().head())["findings"])}
        return json_answer(request, found)

    def path(request: Request) -> Any:
        return path_track.path_of(timeline, _number(request, "rank"))

    def found(request: Request) -> Any:
        direction = request.query_params.get("direction", "next")
        if direction not in ("next", "previous"):
            raise UserError(said("`direction` is next or previous, not {direction!r}", direction=direction))
        at = (_number(request, "at", -_FURTHEST), _number(request, "event", -1), _number(request, "rank", 0))
        text = request.query_params.get("text", "")
        return search.search(timeline, text, *at, cast("Literal['next', 'previous']", direction))

    def of_row(request: Request) -> Any:
        given, table = request.query_params, request.query_params.get("table", "")
        step, dur = (_number(request, name) if name in given else None for name in ("step", "dur"))
        within = (_number(request, "from"), _number(request, "to")) if "from" in given else None
        rank, name = _number(request, "rank"), given.get("name", "")
        return longest.longest(timeline, rank, table, name, step=step, dur=dur, within=within)

    def budget(request: Request) -> Any:
        return selection.budget_of(timeline, *_range(request))

    def table(request: Request) -> Any:
        return selection.table_of_range(timeline, *_range(request), request.path_params["name"])

    def answering(call: Callable[[Request], Any]) -> Callable[[Request], Response]:
        return first(lambda request: json_answer(request, call(request)))

    def first(answer: Callable[[Request], Response]) -> Callable[[Request], Response]:
        def answer_first(request: Request) -> Response:
            with viewing.precedence.first():
                return answer(request)

        return answer_first

    return [
        Route("/api/timeline", answering(about)),
        Route("/api/timeline/tiles", first(tiles)),
        Route("/api/timeline/steps", answering(steps)),
        Route("/api/timeline/places", findings),
        Route("/api/timeline/path", answering(path)),
        Route("/api/timeline/event", answering(event)),
        Route("/api/timeline/flows", answering(flow)),
        Route("/api/timeline/search", answering(found)),
        Route("/api/timeline/longest", answering(of_row)),
        Route("/api/timeline/range", answering(budget)),
        Route("/api/timeline/range/{name}", answering(table)),
    ]


def saved(viewing: Viewing) -> Iterator[str]:
    """The tracks, and tiles of all of them from the whole recording to finer levels, level by level."""
    yield "api/timeline"
    yield "api/timeline/places"
    for group in viewing.whole_report().rows("parallel_groups"):
        known = [str(rank) for rank in group["ranks"] if rank in viewing.trace.ranks]
        if group["parallelism"] == "pipeline" and len(known) > 1:
            yield f"api/timeline/steps?ranks={','.join(known)}"
    timeline = Timeline(viewing.trace)
    first, last = timeline.axis.whole
    # The view of everything has one tile's buckets or more: a screen is one to four tiles wide.
    coarsest = max(0, (max(1, last - first) >> TILE_BITS).bit_length() + 1)
    left = _SAVED_TILES
    for level in range(min(coarsest, COARSEST), -1, -1):
        tiles = range(first >> level + TILE_BITS, (last >> level + TILE_BITS) + 1)
        left -= len(tiles) * len(timeline.tracks)
        if left < 0:
            return
        for tile in tiles:
            for track in range(len(timeline.tracks)):
                yield f"api/timeline/tiles?level={level}&tile={tile}&tracks={track}"


def _range(request: Request) -> tuple[int, int, int]:
    return _number(request, "rank"), _number(request, "from"), _number(request, "to")


def _number(request: Request, name: str, otherwise: int | None = None) -> int:
    text = request.query_params.get(name)
    if text is None:
        if otherwise is None:
            raise UserError(said("the address lacks `{name}`", name=name))
        return otherwise
    return _integer(text, name)


def _integer(text: str, name: str) -> int:
    """A whole number of at most 62 bits."""
    if len(text) > 20 or not text.removeprefix("-").isascii() or not text.removeprefix("-").isdigit():
        raise UserError(said("`{name}` must be a whole number, not {text!r}", name=name, text=text[:40]))
    number = int(text)
    if abs(number) > _FURTHEST:
        raise UserError(said("`{name}` is beyond any recording: {number}", name=name, number=number))
    return number
