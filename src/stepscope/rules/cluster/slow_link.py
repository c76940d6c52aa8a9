"""One link is slower than the others of its kind.

## What it finds
A pair of ranks, or a group of ranks, between which data moves more slowly than between others over the same kind of
link with the same amount of data.

## Why it matters
A ring or a tree runs at the pace of its slowest link. One cable that trained down to half its lanes, one port on the
wrong switch, one adapter on a far NUMA node halves the bandwidth of all.

## How it decides
A pair or group that is slower than the median by `min_drop` is reported. With transfers recorded by the library (HCCL):
the rate of each pair of ranks, among at least `min_pairs` pairs over the same kind of link (`link_rates.pairs`). Else
the time of collectives of the same kind, size and number of ranks, by their shortest participant, among at least
`min_pairs` groups (`link_rates.groups`). The price is the exposed time that the slow ones take beyond the median.

## What to try
Compare the link's state and error counters with its neighbours'; run the communication benchmark of the vendor between
that pair and another one; replace the cable, or move the ranks.

## Known limits
With a single group and no recorded transfers a slow link looks like a slow network; see COM002. Messages of less than
1 MiB are left out for groups, and transfers of less than 256 KiB for pairs: they take mostly latency.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from stepscope.language import said
from stepscope.model.amounts import percent, quantity
from stepscope.model.errors import MissingInputError
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.communication.late_ranks import late_ranks
from stepscope.signals.communication.link_rates import LikeCollectives, Pair, groups, pairs
from stepscope.signals.communication.rank_times import rank_times
from stepscope.signals.shared.job import platform

_STATE = {
    "npu": "hccn_tool -i 0 -link_stat -g; hccn_tool -i 0 -optical -g\n"
    "hccl_test/bin/all_reduce_test -b 8M -e 1G -f 2 -p 8",
    "rocm": "rocm-smi --showtopo; amd-smi xgmi --metric\nrccl-tests/build/all_reduce_perf -b 8M -e 1G -f 2 -g 8",
}
_STATE_CUDA = (
    "nvidia-smi nvlink --errorcounters; ibstat; ibdiagnet\nnccl-tests/build/all_reduce_perf -b 8M -e 1G -f 2 -g 8"
)
#: Ranks of a group that are named.
_NAMED = 8

LIMITS = (
    Threshold(
        "min_drop",
        0.2,
        "share",
        "msprof-analyze compares links from a spread of 5 % on, which healthy ones show too.",
    ),
    Threshold("min_pairs", 3, "count", "Of two one can't tell which is unusual."),
)
READS = (pairs, groups, platform, rank_times)


@dataclass(frozen=True, slots=True)
class SlowLink:
    """A slow pair or group: its name, its rate over the median, its cost per step, and its ranks."""

    what: str
    ratio: float
    rate: float
    cost_ns: float
    ranks: tuple[int, ...]


def job_check(ranks: Mapping[int, Signals], limits: Limits) -> Iterator[Draft]:
    """Compare pairs, or else groups."""
    slow = slow_links_of(ranks, limits)
    if not slow:
        return
    slowest = slow[0]
    state = _STATE.get(ranks[min(ranks)].maybe(platform) or "", _STATE_CUDA)
    yield Draft(
        title="One link is slower than the others",
        summary=said(
            "Between {what} data moves at {rate}, {ratio} of the rate of similar links",
            what=slowest.what, rate=quantity(slowest.rate, "bytes/s"), ratio=percent(slowest.ratio, 0),
        )
        + (said("; {slow} more are slow too.", slow=len(slow) - 1) if len(slow) > 1 else said(".")),
        actions=(
            Action(
                "Compare the state of the link with its neighbours', and measure it", after=state, page="slow-ranks"
            ),
        ),
        cost_ns=int(max(one.cost_ns for one in slow)),
        confidence=0.8,
        numbers={"rate": slowest.rate, "of_usual": slowest.ratio, **limits},
        ranks=tuple(dict.fromkeys(rank for one in slow for rank in one.ranks if rank in ranks)) or tuple(ranks),
        late=late_by_link(ranks, slow),
    )  # fmt: skip


def slow_links_of(ranks: Mapping[int, Signals], limits: Limits) -> list[SlowLink]:
    """The slow pairs and groups, the one that costs most first.

    Raises:
        MissingInputError: Nothing tells how fast data moves between some ranks and others.
    """
    recorded = [pair for s in ranks.values() for pair in s.maybe(pairs) or ()]
    grouped = [group for s in ranks.values() for group in s.maybe(groups) or ()]
    if not recorded and not grouped:
        raise MissingInputError(
            "neither transfers between ranks nor collectives of several groups are recorded",
            hint="record all ranks, and collectives with their groups and with what they move (PyTorch: 2.3 or later)",
        )
    slow = [*_slow_pairs(recorded, limits), *_slow_groups(grouped, limits)]
    return sorted(slow, key=lambda one: (-one.cost_ns, one.what))


def late_by_link(ranks: Mapping[int, Signals], slow: Sequence[SlowLink]) -> tuple[int, ...]:
    """Ranks that the others wait for since their own transfers take longer, over one of these links."""
    times = {rank: one for rank, s in ranks.items() if (one := s.maybe(rank_times)) is not None}
    over = {rank for one in slow for rank in one.ranks}
    return tuple(rank for rank, one in late_ranks(times).items() if one.reason == "link" and rank in over)


def _slow_pairs(found: list[Pair], limits: Limits) -> Iterator[SlowLink]:
    kinds: dict[str, dict[tuple[int, int], Pair]] = defaultdict(dict)
    for pair in found:
        known = kinds[pair.link].get((pair.src, pair.dst))
        if known is None or pair.bytes > known.bytes:
            kinds[pair.link][pair.src, pair.dst] = pair
    for link, alike in kinds.items():
        if len(alike) < limits["min_pairs"]:
            continue
        usual = median(pair.rate for pair in alike.values())
        for pair in alike.values():
            if pair.rate < (1 - limits["min_drop"]) * usual:
                lost = pair.ns * (1 - pair.rate / usual) * pair.exposed
                what = said("ranks {src} and {dst} ({link})", src=pair.src, dst=pair.dst, link=link)
                yield SlowLink(what, pair.rate / usual, pair.rate, lost, (pair.src, pair.dst))


def _slow_groups(found: list[LikeCollectives], limits: Limits) -> Iterator[SlowLink]:
    kinds: dict[tuple[str, int, int], dict[str, LikeCollectives]] = defaultdict(dict)
    for group in found:
        alike = kinds[group.collective, group.bytes, group.world]
        known = alike.get(group.ranks)
        if known is None or group.ns < known.ns:
            alike[group.ranks] = group
    slow: dict[str, list[SlowLink]] = defaultdict(list)
    for same in kinds.values():
        if len(same) < limits["min_pairs"]:
            continue
        usual = median(group.ns for group in same.values())
        for group in same.values():
            if usual < (1 - limits["min_drop"]) * group.ns:
                lost = (group.ns - usual) * group.count * group.exposed
                members = tuple(int(rank) for rank in group.ranks.strip("[]").split(",") if rank.strip())
                one = SlowLink(_named(members), usual / group.ns, group.bytes * 1e9 / group.ns, lost, members)
                slow[group.ranks].append(one)
    for sizes in slow.values():
        # Collectives of all sizes and kinds go over the same link: it costs what they lose together.
        costliest = max(sizes, key=lambda one: one.cost_ns)
        yield replace(costliest, cost_ns=sum(one.cost_ns for one in sizes))


def _named(members: tuple[int, ...]) -> str:
    """The ranks of a group in words: all of them would fill a page where they are many."""
    more = said(", ... ({members} in all)", members=len(members)) if len(members) > _NAMED else ""
    return said("ranks [{numbers}{more}]", numbers=", ".join(map(str, members[:_NAMED])), more=more)


RULE = Rule(
    "CLU002",
    "slow-link",
    thresholds=LIMITS,
    job_check=job_check,
    reads=READS,
)
