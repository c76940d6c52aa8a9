"""Where ranks wait for each other: matched collectives, sends and receives."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stepscope.analyses.communication.called import calls_of
from stepscope.analyses.communication.collective_transfers import matching
from stepscope.analyses.communication.matching import by_kind, matched_size
from stepscope.cluster.critical.chosen import AskedStep
from stepscope.cluster.messages import messages
from stepscope.model.trace import Trace

#: What names one collective or message of the job on all its ranks.
CallKey = tuple[str | int, ...]


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
        size = matched_size(kind, calls, rows).tolist()
        # Of several ranks on which it took least, none has waited.
        to = np.where(calls["dur"][rows] <= shortest[rows], rank, last[rows]).tolist()
        columns = (column[rows].tolist() for column in (calls["event"], calls["key"], devices))
        for event, key, here, other, bytes_ in zip(*columns, to, size, strict=True):
            if here > 1 and other in asked.ranks:
                found[event] = MatchedCall((kind[1], kind[0], bytes_, key), other, False)
    for one in messages(trace, (asked.number,)):
        if one.other in asked.ranks:
            found[one.event] = MatchedCall(one.key, one.other, True)
    return found
