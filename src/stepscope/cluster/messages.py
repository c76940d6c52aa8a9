"""Sends and receives of a rank, which match those of the rank at the other end by their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from stepscope.model.events.steps import Steps
from stepscope.model.trace import Trace

#: Of each pair of ranks so many are enough to tell how fast their link is, and keep small what is sent of a rank.
_MOST: Final = 256
_SQL: Final = """
SELECT c.event, c.collective, c."group", c.peer, coalesce(c.ranks, g.ranks) AS ranks, c.bytes, k.step, k.dur
FROM collectives c JOIN kernels k ON k.event = c.event
LEFT JOIN (SELECT "group", any_value(ranks) AS ranks FROM groups GROUP BY 1) g ON g."group" = c."group"
WHERE c.collective IN ('send', 'recv', 'send_recv') AND k.step IS NOT NULL ORDER BY k.step, k.ts, c.event
"""


class MessageKey(NamedTuple):
    """What a send and its receive have in common.

    Attributes:
        kind: send, or send_recv where each rank does both at once.
        group: Process group.
        src: Rank that data leaves; of send_recv the lower one.
        dst: Rank that data enters.
        step: Step.
        number: Their order in the step, from 1 on.
    """

    kind: str
    group: str
    src: int
    dst: int
    step: int
    number: int


class Message(NamedTuple):
    """A send or receive on one rank.

    Attributes:
        key: What it has in common with the other rank's.
        event: Its event.
        other: The rank at the other end.
        bytes: Size; 0 if not recorded.
        ns: Duration, the wait for the other rank included.
    """

    key: MessageKey
    event: int
    other: int
    bytes: int
    ns: int


#: Size and shorter duration of messages by what their two ends have in common.
MessageTimes = Mapping[MessageKey, tuple[int, int]]


def messages(trace: Trace, steps: Collection[int]) -> list[Message]:
    """Sends and receives of a rank in some steps whose other rank is recorded, or is the only one of its group."""
    rank = trace.ranks[0]
    numbers = Counter[tuple[object, ...]]()
    found: list[Message] = []
    for row in trace.rows(_SQL):
        others = [row["peer"]] if row["peer"] is not None else [one for one in row["ranks"] or () if one != rank]
        if row["step"] not in steps or len(others) != 1:
            continue
        other, kind = others[0], row["collective"]
        src, dst = (rank, other) if kind == "send" else (other, rank) if kind == "recv" else sorted((rank, other))
        key = ("send_recv" if kind == "send_recv" else "send", row["group"], src, dst, row["step"])
        numbers[key] += 1
        found.append(Message(MessageKey(*key, numbers[key]), row["event"], other, row["bytes"] or 0, row["dur"]))
    return found


def message_times(trace: Trace) -> MessageTimes | None:
    """Messages of typical steps in one direction, with size and duration on this rank; None without any."""
    found: dict[MessageKey, tuple[int, int]] = {}
    numbers = Counter[tuple[int, int]]()
    for one in messages(trace, set(Steps.of(trace).typical_steps.tolist())):
        pair = one.key.src, one.key.dst
        if one.key.kind == "send" and numbers[pair] < _MOST:
            numbers[pair] += 1
            found[one.key] = one.bytes, one.ns
    return found or None
