"""A job as its ranks are added one by one; its size does not grow with the number of their events."""

from __future__ import annotations

from dataclasses import dataclass, field

from stepscope.analyses.communication.given_groups import GivenGroup
from stepscope.analyses.communication.matching import Calls, Matching
from stepscope.cluster.clocks import Clocks
from stepscope.cluster.critical.chosen import StepLengths
from stepscope.cluster.critical.rank_path import RankPath
from stepscope.cluster.group_steps import StepSums
from stepscope.cluster.messages import MessageKey
from stepscope.cluster.operator_ranks import OperatorSums
from stepscope.cluster.part import GroupPart
from stepscope.cluster.rank_parts import RankParts
from stepscope.model.recording import Recording
from stepscope.signals.communication.link_rates import Pair
from stepscope.signals.communication.rank_times import RankTimes


@dataclass(slots=True)
class JobGroup:
    """A process group, over the ranks added so far.

    Attributes:
        name: As recorded.
        ranks: All its ranks; empty if not recorded.
        description: What it is for, as recorded; empty if not.
        size: Number of its ranks; 0 if not recorded.
        kinds: Kinds of collectives called in it.
        calls: How many of them.
        bytes: Sum of their sizes, where recorded.
        here: Ranks at hand that know it.
    """

    name: str
    ranks: tuple[int, ...]
    description: str = ""
    size: int = 0
    kinds: set[str] = field(default_factory=set)
    calls: int = 0
    bytes: int = 0
    here: list[int] = field(default_factory=list)

    def add(self, rank: int, part: GroupPart) -> None:
        """Add the group as one rank sees it."""
        self.description = self.description or part.description
        self.size = max(self.size, part.size)
        self.kinds.update(part.kinds)
        self.calls += part.calls
        self.bytes += part.bytes
        self.here.append(rank)

    @property
    def members(self) -> tuple[int, ...]:
        """Its ranks; those at hand that know it where the others are not recorded."""
        return self.ranks or tuple(sorted(self.here))


@dataclass(slots=True)
class JobParts:
    """What is known of a job's ranks together.

    Attributes:
        recordings: Metadata of each rank's recording.
        collectives: Their collectives, matched.
        clocks: Ends of collectives by host.
        called: Names of the groups in which each rank called collectives.
        numbered: Steps of each rank that have a recorded number.
        groups: Process groups, by name and ranks: names alone do not distinguish those that each rank counts itself.
        times: Where each rank's mean typical step goes.
        links: What moved between pairs of ranks.
        messages: Sends and receives: size, shorter duration of both ends, and whether both are at hand.
        operators: Compute kernels by name.
        steps: Typical steps by process group.
        lengths: Length of each step of each rank.
        paths: What each rank contributes to the critical path.
        given: Groups that the user states.
    """

    recordings: dict[int, Recording] = field(default_factory=dict)
    collectives: Matching = field(default_factory=Matching)
    clocks: Clocks = field(default_factory=Clocks)
    called: dict[int, frozenset[str]] = field(default_factory=dict)
    numbered: dict[int, frozenset[int]] = field(default_factory=dict)
    groups: dict[tuple[str, tuple[int, ...]], JobGroup] = field(default_factory=dict)
    times: dict[int, RankTimes] = field(default_factory=dict)
    links: list[Pair] = field(default_factory=list)
    messages: dict[MessageKey, tuple[int, int, bool]] = field(default_factory=dict)
    operators: OperatorSums = field(default_factory=OperatorSums)
    steps: StepSums = field(default_factory=StepSums)
    lengths: dict[int, StepLengths] = field(default_factory=dict)
    paths: dict[int, RankPath] = field(default_factory=dict)
    given: tuple[GivenGroup, ...] = ()

    def host(self, rank: int) -> str | None:
        """The host of a rank; None if not recorded."""
        return self.recordings[rank].host

    def hosts(self, ranks: tuple[int, ...]) -> int | None:
        """Number of hosts of those of these ranks that are at hand; None if one of them is not recorded."""
        found = {self.host(rank) for rank in ranks if rank in self.recordings}
        return None if None in found or not found else len(found)

    def add(
        self,
        rank: int,
        recording: Recording,
        calls: Calls,
        groups: list[GroupPart],
        numbered: frozenset[int] = frozenset(),
    ) -> None:
        """Add a rank's calls of collectives, its process groups, and its steps that have a recorded number."""
        self.recordings[rank] = recording
        self.numbered[rank] = numbered
        self.called[rank] = self.collectives.add(calls)
        self.clocks.add(rank, recording.host, recording.origin_unix_ns, calls)
        for part in groups:
            group = self.groups.setdefault((part.name, part.ranks), JobGroup(part.name, part.ranks))
            group.add(rank, part)

    def take(self, rank: int, parts: RankParts) -> None:
        """Add what was found on a rank once its collectives were matched."""
        if "times" in parts:
            self.times[rank] = parts["times"]
        self.links += parts.get("links", ())
        for key, (size, ns) in parts.get("messages", {}).items():
            other = self.messages.get(key)
            self.messages[key] = (size, ns, False) if other is None else (max(size, other[0]), min(ns, other[1]), True)
        if "operators" in parts:
            self.operators.add(rank, parts["operators"])
        if "steps" in parts:
            self.steps.add(rank, parts["steps"])
        if "path" in parts:
            self.paths[rank] = parts["path"]
