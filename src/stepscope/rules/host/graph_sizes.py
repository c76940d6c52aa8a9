"""Decode batches miss the sizes that graphs were captured for.

## What it finds
A server that replays graphs for some decode batches and launches others kernel by kernel, or pads batches to sizes far
above theirs.

## Why it matters
A batch larger than any captured size runs without a graph, so that the device waits for the host; one that is padded
computes rows that nobody asked for.

## How it decides
Decode passes of both kinds are recorded (`serving.launched`, `serving.replayed`), and the former idle for a larger part
of their time: the difference, over all of them, must be `min_share` of the time of all decode passes, and is the price.
Passes of a size that others were replayed for do not count: what they missed is no size. Or the layers of at least
three replayed decode passes computed `min_padding` more rows than their batches have tokens, and `min_rows` more each,
by the shapes of their operators; that has no price, since few rows cost about as much as one.

## What to try
Name the batch sizes that occur when the server captures its graphs, up to the largest batch it admits; or admit no
batches beyond the largest captured size.

## Known limits
Sizes that were captured are not recorded; what is known is which batches were replayed. Operators inside a graph are
not recorded, so padding shows where several graphs make a pass. More captured sizes take memory and
a longer start-up.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.language import said
from stepscope.model.amounts import percent, plural
from stepscope.rules.host_advice import CAPTURE_SIZES
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.shared.job import recorded_steps
from stepscope.signals.shared.serving import Row, launched, replayed

_FEWEST = 3


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare decode passes that are replayed with those that are not, and rows with tokens."""
    graphs = s(replayed)
    sizes_replayed = {_size(row) for row in graphs}
    eager = [row for row in s(launched) if _size(row) not in sizes_replayed]
    if eager and graphs:
        usual = _share(graphs)
        length = sum(row["device_ns"] for row in (*s(launched), *graphs))
        saved = sum(row["idle_ns"] or 0 for row in eager) - usual * sum(row["device_ns"] for row in eager)
        if saved / length >= limits["min_share"]:
            largest = max(row["requests"] for row in graphs)
            sizes = sorted({row["requests"] for row in eager})
            yield Draft(
                title="Decode batches miss the sizes that graphs were captured for",
                summary=said(
                    "{passes} of {sizes:,} to {sizes_2:,} requests are launched kernel by kernel and idle for "
                    "{share} of their time; {passes_2} of up to {largest:,} requests are replayed and idle for "
                    "{usual}.",
                    passes=plural(len(eager), "decode pass", "decode passes"), sizes=sizes[0], sizes_2=sizes[-1],
                    share=percent(_share(eager)), passes_2=plural(len(graphs), "pass", "passes"), largest=largest,
                    usual=percent(usual),
                ),
                actions=CAPTURE_SIZES,
                cost_ns=round(saved / s(recorded_steps)),
                confidence=0.8,
                rows=({"table": "serving", "where": {"execution": "eager"}},),
                numbers={"saved share": saved / length, **limits},
            )  # fmt: skip
            return
    padded = [row for row in graphs if row["padded_tokens"] and row["tokens"]]
    if len(padded) < _FEWEST:
        return
    rows, tokens = (sum(row[name] for row in padded) for name in ("padded_tokens", "tokens"))
    if rows / tokens - 1 >= limits["min_padding"] and (rows - tokens) / len(padded) >= limits["min_rows"]:
        yield Draft(
            title="Decode batches are padded far beyond their size",
            summary=said(
                "The layers of {passes} computed {rows:,} rows for {tokens:,} tokens, {share} more than asked for.",
                passes=plural(len(padded), "decode pass", "decode passes"), rows=rows, tokens=tokens,
                share=percent(rows / tokens - 1),
            ),
            actions=CAPTURE_SIZES,
            confidence=0.7,
            rows=({"table": "serving", "where": {"phase": "decode"}},),
            numbers={"padding": rows / tokens - 1, **limits},
            key="padding",
        )  # fmt: skip


def _size(row: Row) -> int:
    """What graphs are captured for: tokens, which are more than requests where drafts are verified."""
    return int(row["tokens"] or row["requests"])


def _share(rows: list[Row]) -> float:
    """Idle time as a share of passes' time."""
    return float(sum(row["idle_ns"] or 0 for row in rows) / sum(row["device_ns"] for row in rows))


RULE = Rule(
    "HST023",
    "graph-sizes",
    thresholds=(
        Threshold("min_share", 0.05, "share", "Less is within what batches of different sizes differ by."),
        Threshold("min_padding", 0.5, "share", "Engines capture every eighth size, so that larger batches have less."),
        Threshold("min_rows", 16, "rows", "Within two tiles of 8 rows weights take longer to read than to multiply."),
    ),
    check=check,
)
