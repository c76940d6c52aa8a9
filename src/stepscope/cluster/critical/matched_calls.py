"""Where ranks wait for each other: matched collectives, sends and receives."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from stepscope.analyses.communication.collective_transfers import calls_of, matching
from stepscope.analyses.communication.matching import by_kind, matched_size
from stepscope.cluster.critical.chosen import AskedStep
from stepscope.model.trace import Trace

#: What names one collective or message of the job on all its ranks.
CallKey = tuple[str | int, ...]

_MESSAGES_SQL: Final = """
SELECT c.event, c.collective, c."group", coalesce(c.ranks, g.ranks) AS ranks
FROM collectives c JOIN kernels k ON k.event = c.event
LEFT JOIN (SELECT "group", any_value(ranks) AS ranks FROM groups GROUP BY 1) g ON g."group" = c."group"
WHERE c.collective IN ('send', 'recv', 'send_recv') AND k.step = $step ORDER BY k.ts, c.event
"""


class MatchedCall(NamedTuple):
    """A collective or message on one rank.

    Attributes:
        key: Its name on all ranks.
        other: The rank that came last to the collective; of a message the other rank.
        message: Whether it is a send or receive: then it is not known here who came last.
    """

    key: CallKey
    other: int
    message: bool

    @property
    def group(self) -> str:
        """Process group."""
        return str(self.key[1])

    @property
    def collective(self) -> str:
        """Kind of collective."""
        return str(self.key[0])


def matched_calls(trace: Trace, asked: AskedStep) -> dict[int, MatchedCall]:
    """By event, the calls of a rank that are matched with those of others of whom it is known what they did.

    Collectives are those of the whole recording, messages those of the step.
    """
    rank = trace.ranks[0]
    calls = trace.whole.once(calls_of)
    matched = trace.job.once(matching)
    shortest, devices = matched.of(calls)
    last = matched.last(calls)
    found: dict[int, MatchedCall] = {}
    for kind, rows in by_kind(calls):
        size = matched_size(kind, calls["bytes"][rows]).tolist()
        # Of several ranks on which it took least, none has waited.
        to = np.where(calls["dur"][rows] <= shortest[rows], rank, last[rows]).tolist()
        columns = (column[rows].tolist() for column in (calls["event"], calls["key"], devices))
        for event, key, here, other, bytes_ in zip(*columns, to, size, strict=True):
            if here > 1 and other in asked.ranks:
                found[event] = MatchedCall((kind[1], kind[0], bytes_, key), other, False)
    return found | _messages(trace, rank, asked)


def _messages(trace: Trace, rank: int, asked: AskedStep) -> dict[int, MatchedCall]:
    """Sends and receives by event, numbered by their order between two ranks."""
    found: dict[int, MatchedCall] = {}
    numbers: dict[CallKey, int] = {}
    for row in trace.rows(_MESSAGES_SQL, {"step": asked.number}):
        others = [one for one in row["ranks"] or () if one != rank]
        if len(others) != 1 or others[0] not in asked.ranks:
            continue
        other, kind = others[0], row["collective"]
        way = (rank, other) if kind == "send" else (other, rank) if kind == "recv" else sorted((rank, other))
        key: CallKey = ("send_recv" if kind == "send_recv" else "send", row["group"], *way)
        numbers[key] = numbers.get(key, 0) + 1
        found[row["event"]] = MatchedCall((*key, numbers[key]), other, True)
    return found
