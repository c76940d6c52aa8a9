"""The page of a comparison as one file, with its tables and what its timelines show inside."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any, Final

from stepscope.comparison.result import Comparison
from stepscope.reports import html
from stepscope.reports.compared.outline import outline
from stepscope.reports.html_tables import listed_html
from stepscope.web.compared.comparing import SIDES
from stepscope.web.compared.head import head, shown_table
from stepscope.web.enclosed import MOST_BYTES, Answer, enclosing, fitting, packed
from stepscope.web.tiles.timeline import TILE_BITS, Timeline
from stepscope.web.viewing import Viewing

if TYPE_CHECKING:
    from stepscope.model.trace import Trace

#: Rows of a table, and those shown without a script.
_MOST_ROWS: Final = 2000
_PLAIN_ROWS: Final = 50
#: Tiles of each side; pixels of the narrowest drawing; and what it shows beyond the step on either side, as its share.
_MOST_TILES: Final = 600
_NARROWEST: Final = 256
_MARGIN: Final = 0.1


def document(comparison: Comparison, base: Trace, new: Trace, top: int = 10, most: int = MOST_BYTES) -> str:
    """A whole HTML document of at most `most` bytes.

    Args:
        comparison: What it shows.
        base: One side, still open.
        new: The other.
        top: Rows of each small table, where it is read without a script.
        most: Bytes that it may have; what is largest and least asked for is left out beyond that.
    """
    shown = outline(comparison, top)
    plain = "".join(html.plain(shown, listed_html(comparison.tables, "All tables", _PLAIN_ROWS)))
    told = head(comparison, base, new)
    answers = chain(_tables(comparison), _timelines(told["sides"], {"base": base, "new": new}))
    return enclosing(shown.title, plain, lambda room: fitting(told, answers, room), most)


def _tables(comparison: Comparison) -> Iterator[Answer]:
    for name, table in comparison.tables.items():
        answer = shown_table(table, _MOST_ROWS)
        yield f"api/tables/{name}", answer, len(json.dumps(answer))


def _timelines(sides: Mapping[str, Any], traces: Mapping[str, Trace]) -> Iterator[Answer]:
    """Tiles of both sides about their typical step, level by level, a tile of each side in turn."""
    both = [_of_side(name, sides[name], traces[name]) for name in SIDES if sides[name]["typical"] is not None]
    for pair in zip_longest(*both):
        yield from (one for one in pair if one is not None)


def _of_side(name: str, side: Mapping[str, Any], trace: Trace) -> Iterator[Answer]:
    timeline = Timeline(trace)
    _, first, last = side["moments"][side["typical"]]
    shift, margin = timeline.axis.shift[side["rank"]], int((last - first) * _MARGIN)
    tracks = [i for i, track in enumerate(timeline.tracks) if track.rank == side["rank"] and track.form != "line"]
    return iter(packed(Viewing(trace), _addresses(tracks, first + shift - margin, last + shift + margin), f"{name}/"))


def _addresses(tracks: Sequence[int], first: int, last: int) -> Iterator[str]:
    """Of the tracks, and of the tiles of some between two moments, level by level."""
    yield "api/timeline"
    left = _MOST_TILES
    for level in range(max(0, ((last - first) // _NARROWEST).bit_length()), -1, -1):
        tiles = range(first >> level + TILE_BITS, (last >> level + TILE_BITS) + 1)
        left -= len(tiles) * len(tracks)
        if left < 0:
            return
        yield from (f"api/timeline/tiles?level={level}&tile={i}&tracks={track}" for i in tiles for track in tracks)
