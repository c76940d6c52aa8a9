"""Which host call launched which device work."""

from __future__ import annotations

from typing import Final

from stepscope.ingest.derive.checks.share import share
from stepscope.store.staging import Observation, Staging

#: Work without a launch before the first step that the profiler marked.
_WARM_UP: Final = (
    "launch IS NULL AND kind <> 'sync' "
    "AND ts + dur <= coalesce((SELECT min(ts) FROM steps WHERE source = 'profiler'), 0)"
)
#: Queues work in order: what comes before the first work with a recorded launch was put there before that.
_KERNELS: Final = (
    "kernels LEFT JOIN (SELECT track, min(ts) AS first_launched FROM kernels WHERE launch IS NOT NULL GROUP BY 1) "
    "USING (track)"
)
_EARLY: Final = "launch IS NULL AND kind <> 'sync' AND ts < coalesce(first_launched, ts)"
#: Launches that are expected to have no device work are few: empty copies, and those after the last record.
_LOST_SHARE: Final = 0.02
#: Device time in graphs below this share is not worth a line.
_GRAPH_SHARE: Final = 0.01


def warm_up(staging: Staging) -> Observation | None:
    """Work that was launched before the recording began."""
    [count] = staging.one(f"SELECT count(*) FROM kernels WHERE {_WARM_UP}")
    if not count:
        return None
    return Observation(
        "warm-up-leaked", "warning", count, "device activities without a launch lie before the first step",
        "they belong to no step, but count in numbers over the whole recording",
    )  # fmt: skip


def launched_before(staging: Staging) -> Observation | None:
    """Work that was in a queue already when the recording of the host began."""
    count, of = staging.one(
        f"SELECT count(*) FILTER (WHERE {_EARLY} AND NOT ({_WARM_UP})), count(*) FROM {_KERNELS} WHERE kind <> 'sync'"
    )
    if not count:
        return None
    return Observation(
        "kernels-launched-before", "info", count,
        f"device activities ({share(count, of)}) were launched before the recording began",
        "their launch delay is unknown, and their operator too unless the recording tells it otherwise",
    )  # fmt: skip


def kernels_without_launch(staging: Staging) -> Observation | None:
    """Work whose launch is not in the recording, but for what precedes it."""
    count, of = staging.one(
        f"SELECT count(*) FILTER (WHERE launch IS NULL AND NOT ({_EARLY}) AND NOT ({_WARM_UP})), count(*) "
        f"FROM {_KERNELS} WHERE kind <> 'sync'"
    )
    if not count:
        return None
    return Observation(
        "kernels-without-launch", "warning", count,
        f"device activities ({share(count, of)}) have no launch on the host",
        "their launch delay is unknown, and their operator too unless the recording tells it otherwise",
    )  # fmt: skip


def launches_without_kernel(staging: Staging) -> Observation | None:
    """Launches whose work is not in the recording, though other work is."""
    lost, of, kernels = staging.one(
        "SELECT count(*) FILTER (WHERE NOT has_work), count(*), (SELECT count(*) FROM kernels) "
        "FROM launches WHERE is_launch"
    )
    if not lost or not kernels:
        return None
    many = lost > _LOST_SHARE * of
    return Observation(
        "launches-without-kernel", "warning" if many else "info", lost,
        f"launches ({share(lost, of)}) have no device activity",
        "device time is too low if the profiler lost their records" if many else "device time may be slightly too low",
    )  # fmt: skip


def starts_before_launch(staging: Staging) -> Observation | None:
    """Work that starts before the call that launched it: the clocks of host and device disagree."""
    count, worst = staging.one("SELECT count(*), max(launch_ts - ts) FROM kernels WHERE ts < launch_ts")
    if not count:
        return None
    return Observation(
        "kernels-before-launch", "warning", count, f"device activities start before their launch, by up to {worst} ns",
        "the clocks of host and device disagree by at least that: launch delays and idle causes are approximate",
    )  # fmt: skip


def graphs(staging: Staging) -> Observation | None:
    """Work launched by graphs: the recording does not tell which operators it comes from."""
    count, inside, whole = staging.one(
        "SELECT count(*) FILTER (WHERE graph IS NOT NULL), coalesce(sum(dur) FILTER (WHERE graph IS NOT NULL), 0), "
        "coalesce(sum(dur), 0) FROM kernels WHERE kind <> 'sync'"
    )
    if not count or inside < _GRAPH_SHARE * whole:
        return None
    return Observation(
        "graphs-unattributed", "info", count,
        f"device activities ({share(inside, whole)} of device time) were launched by graphs",
        "their operators are unknown; record a few steps without graphs to learn them",
    )  # fmt: skip
