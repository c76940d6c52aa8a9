"""What compiled graphs plan to hold."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from stepscope.model.errors import MissingInputError
from stepscope.signals.shared.job import device
from stepscope.signals.signal import Signals, signal


@dataclass(frozen=True, slots=True)
class StaticGraph:
    """The graph that holds most.

    Attributes:
        graph: As recorded.
        peak_bytes: What it holds at the node where it holds most.
        kept_bytes: The part of that which is never given back before the graph ends.
        holders: Operators with what they hold then, the largest first.
        device_bytes: The device's memory.
    """

    graph: str
    peak_bytes: int
    kept_bytes: int
    holders: tuple[tuple[str, int], ...]
    device_bytes: int


@signal()
def largest_graph(s: Signals) -> StaticGraph:
    """The compiled graph with the largest peak, by its plan."""
    rows = s.table("static_memory").records()
    known = s.maybe(device)
    if known is None or not known.memory_bytes:
        raise MissingInputError("the size of the device's memory is not known", hint="state it with --memory")
    most = max(rows, key=lambda row: row["peak_bytes"])
    held = [row for row in rows if row["graph"] == most["graph"] and row["at_peak"]]
    holders: Counter[str] = Counter()
    for row in held:
        holders[row["name"]] += row["bytes"]
    return StaticGraph(
        most["graph"], most["peak_bytes"], sum(row["bytes"] for row in held if row["last_node"] is None),
        tuple(sorted(holders.items(), key=lambda one: (-one[1], one[0]))), known.memory_bytes,
    )  # fmt: skip
