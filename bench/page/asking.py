"""How long the server of a timeline takes for tiles, for all that is known of an event, and for a search."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

import duckdb

from bench.page.quantiles import quantiles


def measured(store: Path, address: str, number: int) -> Iterator[tuple[str, str]]:
    """What was asked for and how long it took: at first, and so many times at random."""
    chance = random.Random(1)
    base, query = address.split("?")
    info = json.loads(urlopen(f"{base}api/timeline?{query}").read())
    yield (
        "tile requests at random places and zooms, median and p95",
        quantiles(_tiles(info, base, query, number, chance)),
    )
    events, names = _drawn(store, number)
    details = [f"{base}api/timeline/event?{query}&rank={info['ranks'][0]['rank']}&event={event}" for event in events]
    yield "the first click on an event", f"{_took(details[0]):.0f} ms"
    yield "details of events at random, median and p95", quantiles([_took(one) for one in details[1:]])
    flows = [one.replace("/event?", "/flows?") for one in details]
    yield "flows of the same events, median and p95", quantiles([_took(one) for one in flows[1:]])
    at = [f"&at={chance.randint(info['first'], info['last'])}&direction={one}" for one in ("next", "previous") * number]
    searches = [
        f"{base}api/timeline/search?{query}&text={quote(name[:40])}{where}"
        for name, where in zip(names, at, strict=False)
    ]
    yield "the first search", f"{_took(searches[0]):.0f} ms"
    yield "searches for names at random, median and p95", quantiles([_took(one) for one in searches[1:]])


def _drawn(store: Path, number: int) -> tuple[list[int], list[str]]:
    """Events, and names, each as likely as any other."""
    connection = duckdb.connect()
    found = connection.execute(
        f"SELECT id FROM read_parquet('{store}/events-*.parquet') USING SAMPLE reservoir({number} ROWS) REPEATABLE (1)"
    ).fetchall()
    names = connection.execute(
        f"SELECT name FROM read_parquet('{store}/names.parquet') WHERE length(name) > 1 "
        f"USING SAMPLE reservoir({min(number, 100)} ROWS) REPEATABLE (1)"
    ).fetchall()
    return [event for (event,) in found], [name for (name,) in names]


def _tiles(info: dict, base: str, query: str, number: int, chance: random.Random) -> list[float]:  # type: ignore[type-arg]
    tracks = [track["index"] for track in info["tracks"] if track["form"] != "shares"][:24]
    listed, length = ",".join(map(str, tracks)), info["last"] - info["first"]
    took = []
    for _ in range(number):
        level = chance.randint(8, max(8, length.bit_length() - info["tile_bits"]))
        tile = chance.randint(info["first"], info["last"]) >> level + info["tile_bits"]
        took.append(_took(f"{base}api/timeline/tiles?{query}&level={level}&tile={tile}&tracks={listed}"))
    return took


def _took(address: str) -> float:
    """Milliseconds until the answer is whole."""
    since = time.perf_counter()
    urlopen(address).read()
    return 1000 * (time.perf_counter() - since)
