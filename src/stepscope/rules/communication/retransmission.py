"""Collectives stall for seconds, as when lost packets are sent again.

## What it finds
Collectives that take seconds although others of their kind and size take milliseconds, and for which no rank was
late.

## Why it matters
RDMA networks must not lose packets. If one is lost all the same, the sender notices only after its timeout, by
default about four seconds, and everything waits for it. A single switch that drops packets stalls a whole cluster
this way.

## How it decides
A transfer must take `min_ns`, the sender's timeout, and `min_ratio` times the median of the same collective at the same
size. Or an adapter must have dropped `min_lost` of its packets on average of the samples of its links, or found errors
in them; that is advice, as what it costs is not recorded. Only transfer counts: the shortest participant's time where
all ranks' recordings are at hand, or transfers that the library recorded. The price is what the step would save if they
took the median; of what stalls in other steps than the typical ones, its part of the recorded time is said.

## What to try
Look for pauses and drops on the switches' and adapters' counters; give the traffic the class and priority that the
switches' flow control is set up for. A shorter timeout makes each loss cheaper, and a failure quicker.

## Known limits
On one rank alone a stall can't be distinguished from a rank that is seconds late, and is not reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.language import said
from stepscope.model.amounts import duration, percent, plural
from stepscope.model.errors import MissingInputError
from stepscope.model.events.change import Change, scaled_each
from stepscope.rules.communication.rdma_class import rdma_class
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.communication.communication import CollectiveCalls, all_calls, calls
from stepscope.signals.communication.sampled_links import SampledLink, sampled_links
from stepscope.signals.host.one_time import DWARFS
from stepscope.signals.shared.job import span_ns, step_ns

#: Events of other steps than the typical ones have no place in these.
_NONE: Final = np.zeros(0, np.int64)


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare each transfer with its like."""
    lossy = [one for one in s.maybe(sampled_links) or () if (one.lost_share or 0.0) >= limits["min_lost"]]
    if lossy:
        yield _losing(s, max(lossy, key=lambda one: one.lost_share or 0.0), limits)
    found = s.maybe(calls) if lossy else s(calls)
    if lossy and (found is None or not found.told.any()):
        return
    assert found is not None
    if not found.told.any():
        raise MissingInputError(
            "waiting can't be distinguished from transfer", hint="give the recordings of all ranks together"
        )
    stalled = _stalled(found, limits)
    if stalled.any():
        lost = np.maximum(found.transfer - _usual(found), 0)[stalled]
        shorter = Change(device=scaled_each(found.event[stalled], 1 - lost / found.dur[stalled]))
        yield replace(_stalling(s, found, stalled, limits), change=shorter)
    elif (every := s.maybe(all_calls)) is not None and (stalled := _stalled(every, limits)).any():
        yield _outside(s, every, stalled, limits)


def _stalled(found: CollectiveCalls, limits: Limits) -> NDArray[np.bool_]:
    much: NDArray[np.bool_] = found.transfer >= limits["min_ratio"] * _usual(found)
    return found.told & (found.transfer >= limits["min_ns"]) & much


def _stalling(s: Signals, found: CollectiveCalls, stalled: NDArray[np.bool_], limits: Limits) -> Draft:
    return Draft(
        title="Collectives stall, as if packets were lost",
        summary=said(
            "{stalled} took up to {transfer} after all ranks had arrived, where others of "
            "their size take {usual}: as long as the timeout after which lost packets are sent again.",
            stalled=plural(int(stalled.sum()), "collective"), transfer=duration(int(found.transfer[stalled].max())),
            usual=duration(int(_usual(found)[stalled].min())),
        ),
        actions=(rdma_class(s),),
        confidence=0.8,
        events=found.event[stalled][:20],
        rows=({"table": "collectives", "where": {"name": str(found.name[stalled][0])}},),
        numbers={"stalled": int(stalled.sum()), **limits},
    )  # fmt: skip


def _outside(s: Signals, every: CollectiveCalls, stalled: NDArray[np.bool_], limits: Limits) -> Draft:
    """What stalled only in steps that are far from the others in length, so that no figure per step has it."""
    told = _stalling(s, every, stalled, limits)
    lost = int((every.transfer - _usual(every))[stalled].sum())
    each = lost // every.steps
    return replace(
        told,
        summary=said("{summary} Figures per step leave the steps out in which that happened.", summary=told.summary),
        taken_ns=each,
        placed_as_ns=each if lost >= DWARFS * s(step_ns) * every.steps else None,
        recorded_share=lost / max(s.whole(span_ns), 1),
        steps=tuple(np.unique(every.step[stalled]).tolist()),
        events=_NONE,
    )


def _losing(s: Signals, link: SampledLink, limits: Limits) -> Draft:
    port = said(" of port {port}", port=link.port) if link.port else ""
    return Draft(
        title="Links between machines lose packets",
        summary=said(
            "{lost_share} of the packets that {link}{port} {direction} are dropped or have errors, on "
            "average of samples taken while the job ran: each is sent again, or waited for.",
            lost_share=percent(link.lost_share or 0.0), link=link.link, port=port,
            direction=said("receives") if link.direction == "receive" else said("sends"),
        ),
        actions=(rdma_class(s),),
        confidence=0.7,
        rows=({"table": "link_rates", "where": {"link": link.link, "direction": link.direction}},),
        numbers={"lost": link.lost_share or 0.0, **limits},
        key="lost",
    )  # fmt: skip


def _usual(found: CollectiveCalls) -> NDArray[np.int64]:
    """Median transfer of the collectives of the same kind, group and size, for each."""
    usual: NDArray[np.int64] = found.transfer.copy()
    keys = zip(found.name.tolist(), found.group.tolist(), found.bytes.tolist(), strict=True)
    alike: dict[tuple[str, str, int], list[int]] = {}
    for position, key in enumerate(keys):
        alike.setdefault(key, []).append(position)
    for positions in alike.values():
        usual[positions] = np.sort(found.transfer[positions])[(len(positions) - 1) // 2]
    return usual


RULE = Rule(
    "COM006",
    "retransmission",
    thresholds=(
        Threshold(
            "min_ns", 4e9, "ns", "msprof-analyze's threshold: HCCL's default timeout is 4.096 µs x 2^20 = 4.3 s."
        ),
        Threshold(
            "min_lost", 0.001, "share", "RDMA networks are set up to lose none: one in a thousand is no bit error."
        ),
        Threshold("min_ratio", 10, "ratio", "A stall is out of all proportion to transfers of its size."),
    ),
    check=check,
)
