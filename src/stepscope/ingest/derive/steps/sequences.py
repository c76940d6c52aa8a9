"""Infer steps from the sequence of work on the busiest queue, else of operators or ranges on a thread.

Programs without PyTorch have loops of few kernels with copies between them, and other work before and after: there a
repeating part is enough, if it is most of the device's work.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.ingest.derive.overview import Overview
from stepscope.ingest.derive.steps.evidence import outermost, reach, within_one_call
from stepscope.ingest.derive.steps.inference import (
    LEAST_LENGTH,
    LEAST_PERIODS,
    SHORT_LENGTH,
    Cuts,
    Names,
    after_setup,
    find_steps,
    halved,
    inner_part,
    periodic_part,
)
from stepscope.ingest.derive.steps.layers import are_layers, does_what_layers_do_not
from stepscope.ingest.derive.steps.operators import in_one_step, network_operators
from stepscope.ingest.derive.steps.replays import replayed
from stepscope.ingest.derive.steps.step import HostStep
from stepscope.ingest.derive.steps.tail import tail_end
from stepscope.model.intervals import Times
from stepscope.model.kernel_names import classify
from stepscope.store.staging import Staging

#: The busiest queue by number of kernels: a few collectives can outlast all compute.
_BUSIEST_SQL: Final = """
SELECT e.track FROM raw_events e JOIN tracks t USING (track)
WHERE t.kind = '{kind}' AND e.category = '{category}' GROUP BY 1 ORDER BY count(*) DESC, sum(e.dur) DESC, 1 LIMIT 1
"""

#: Kernels of a queue with the time of each launch: the kernel's own start where no launch is recorded.
_KERNELS_SQL: Final = """
SELECT e.name_id, e.ts, e.ts + coalesce(e.dur, 0) AS stop, coalesce(l.ts, e.ts) AS called,
    coalesce(l.stop, e.ts) AS done, l.ts IS NOT NULL AS launched
FROM raw_events e LEFT JOIN (
    SELECT h.correlation, min(h.ts) AS ts, max(h.ts + coalesce(h.dur, 0)) AS stop
    FROM raw_events h JOIN tracks t USING (track)
    WHERE t.kind = 'host' AND h.category IN ('launch', 'runtime') AND h.correlation > 0 GROUP BY 1
) l ON l.correlation = e.correlation
WHERE e.track = ? AND e.category IN ('kernel', 'collective') ORDER BY e.ts, e.id
"""

#: The same with copies, for loops of one kernel and copies.
_WORK_SQL: Final = _KERNELS_SQL.replace("('kernel', 'collective')", "('kernel', 'collective', 'copy', 'set')")
_OPERATORS_SQL: Final = """
SELECT name_id, ts, ts + coalesce(dur, 0) AS stop, ts AS called, ts + coalesce(dur, 0) AS done, true AS launched
FROM raw_events WHERE track = ? AND category = 'op' ORDER BY ts, dur DESC, id
"""

_RANGES_SQL: Final = _OPERATORS_SQL.replace("'op'", "'annotation'")
#: Track, category and queries to try in turn in programs without operators.
_SEQUENCES: Final = (
    ("device", "kernel", (_KERNELS_SQL, _WORK_SQL)),
    ("host", "op", (_OPERATORS_SQL,)),
    ("host", "annotation", (_RANGES_SQL,)),
)
_DEVICE_WORK: Final = ("kernel", "collective", "copy", "set")
#: Two alternating kernels are a loop only if they are nearly all device work, and not on one queue of several.
_SHARE_SQL: Final = """
SELECT count(*) FILTER (track = ?) / count(*) FROM raw_events
WHERE category IN ('kernel', 'collective', 'copy', 'set')
"""
_ALONE: Final = 0.9
#: The last steps of a loop are at most this many times as long as the first, unless lengths do not grow steadily.
_ALIKE: Final = 3
_RISING: Final = 0.7

#: Least idle time before a step, as a share of the period; between layers it is less (0.2 % if each is a graph).
_PAUSE: Final = 0.02

#: And how many times the idle time between any two kernels: of small ones that is more than a share of the period.
_LONGER: Final = 3

#: Pauses that come again after so many periods or more may be those between passes of so many layers.
_LAYERS_OF_A_PASS: Final = 6

_NAMES_SQL: Final = """
SELECT name FROM names WHERE name_id IN (SELECT DISTINCT name_id FROM raw_events WHERE category = 'kernel')
"""
_LAYERS: Final = ("gemm", "attention", "convolution", "normalisation", "embedding", "optimizer")


@dataclass(frozen=True, slots=True)
class Sequence:
    """n activities in sequence.

    Attributes:
        names: int64[n], name ids.
        durs: int64[n], durations in ns.
        starts: int64[n], start of each in ns.
        gaps: int64[n], idle time before each in ns.
        host_starts: int64[n], start of its launch on the host in ns.
        ends: int64[n], end of its launch in ns.
        launched: bool[n], whether the launch is recorded; if not, both are the activity's own start.
    """

    names: Names
    durs: Times
    starts: Times
    gaps: Times
    host_starts: Times
    ends: Times
    launched: NDArray[np.bool_]

    def part(self, part: slice) -> Sequence:
        """A part of the sequence."""
        return Sequence(*(getattr(self, one.name)[part] for one in fields(self)))


def may_repeat(overview: Overview) -> bool:
    """Whether any sequence is long enough for steps to be inferred from it, judged from counts alone."""
    for kind, category, _ in _SEQUENCES:
        counted = _DEVICE_WORK if kind == "device" else (category,)
        tracks = {track.number for track in overview.tracks if track.kind == kind}
        groups = [group for group in overview.groups if group.track in tracks]
        if any(group.category == category for group in groups):
            sizes = Counter[int]()
            for group in groups:
                sizes[group.track] += group.number if group.category in counted else 0
            return max(sizes.values()) >= LEAST_PERIODS * LEAST_LENGTH
    return False


def inferred_steps(staging: Staging) -> list[HostStep]:
    """The periods of device work, or of host work without a device; empty if there are none."""
    [operators] = staging.one("SELECT count(*) FROM raw_events WHERE category = 'op'")
    network = _is_network(staging)
    plain = not operators and not network
    for kind, category, query in _SEQUENCES:
        [track] = staging.one(_BUSIEST_SQL.format(kind=kind, category=category))
        if track is None:
            continue
        parts = network_operators(staging) if category == "op" else None
        ran = [_sequence(_rows(staging, one, track, kind)) for one in (query if plain else query[:1])]
        short = plain and kind == "device" and staging.one(_SHARE_SQL, [track])[0] >= _ALONE
        for shortest in (LEAST_LENGTH, SHORT_LENGTH) if short else (LEAST_LENGTH,):
            for sequence in ran:
                layered = network and kind == "device"
                if steps := _periods(staging, sequence, not plain, shortest, layered, parts):
                    return steps
        return _replays(staging, ran[0], network) if kind == "device" else []
    return []


def _rows(staging: Staging, query: str, track: int, kind: str) -> dict[str, NDArray[Any]]:
    """Events of a track; of nested host events the outermost."""
    rows = staging.connection.execute(query, [track]).fetchnumpy()
    if kind == "host":
        outer = outermost(rows["ts"], rows["stop"])
        rows = {name: values[outer] for name, values in rows.items()}
    return rows


def _is_network(staging: Staging) -> bool:
    """Whether kernels of neural networks ran, whose layers repeat inside a step."""
    names = staging.connection.execute(_NAMES_SQL).fetchall()
    return any(classify(name).op_class in _LAYERS for (name,) in names)


def _periods(
    staging: Staging, sequence: Sequence, all_of_it: bool, shortest: int, layered: bool, parts: Names | None = None
) -> list[HostStep]:
    """The periods of a sequence, which cover it all if `all_of_it`, else most of it.

    `parts` are the names of operators that networks consist of, if it is a sequence of operators.
    """
    part, every = slice(0, sequence.names.size), sequence.names
    cuts = find_steps(sequence.names, sequence.gaps, shortest)
    if cuts is None:
        find = after_setup if all_of_it else periodic_part
        found = find(sequence.names, sequence.durs, shortest)
        if found is None and parts is not None:
            found = inner_part(sequence.names, parts, shortest)
        part = part if found is None else found
        cuts = None if found is None else find_steps(sequence.names[part], sequence.gaps[part], shortest)
    sequence = sequence.part(part)
    if cuts is None or _inside_one_call(staging, sequence, cuts):
        return []
    if layered and not _are_passes(staging, sequence, cuts):
        return []
    inside = sequence.names[cuts.positions[0] : cuts.positions[-1]]
    if parts is not None and in_one_step(staging, every, inside, parts):
        return []
    if not all_of_it:
        cuts = halved(sequence.names, cuts)
    end = tail_end(staging, sequence.host_starts, sequence.ends, sequence.launched, cuts.positions)
    steps = _steps(sequence, cuts, end)
    if are_layers(staging, np.array([step.ts for step in steps], np.int64)):
        return []
    return [] if not all_of_it and _grows(np.array([step.dur for step in steps], np.int64)) else steps


def _replays(staging: Staging, sequence: Sequence, network: bool) -> list[HostStep]:
    """The periods of the calls that launch graphs."""
    cuts = replayed(sequence.names, sequence.durs, sequence.host_starts, sequence.launched)
    if cuts is None or cuts.positions.size < LEAST_PERIODS or (network and not _are_passes(staging, sequence, cuts)):
        return []
    end = tail_end(staging, sequence.host_starts, sequence.ends, sequence.launched, cuts.positions)
    return _steps(sequence, cuts, end)


def _are_passes(staging: Staging, sequence: Sequence, cuts: Cuts) -> bool:
    """Whether periods of a network's kernels are whole passes, not layers."""
    starts, gaps = (values[cuts.positions] for values in (sequence.starts, sequence.gaps))
    pause = float(np.median(gaps[1:]))
    least = max(_PAUSE * float(np.median(np.diff(starts))), _LONGER * float(np.median(sequence.gaps)))
    if pause >= least and not _pauses_in_turn(gaps[1:]):
        return True
    middle = cuts.positions.size // 2
    period = sequence.names[cuts.positions[middle - 1] : cuts.positions[middle]]
    return does_what_layers_do_not(staging, period, starts)


def _pauses_in_turn(gaps: Times) -> bool:
    """Whether much longer pauses come after equally many periods: the layers of a pass then, rather than passes."""
    at = np.flatnonzero(gaps > _LONGER * float(np.median(gaps)))
    apart = np.diff(at)
    return bool(apart.size and apart[0] >= _LAYERS_OF_A_PASS and (apart == apart[0]).all())


def _grows(lengths: Times) -> bool:
    """Whether lengths keep growing, as in a sweep over sizes, which is no loop over steps."""
    third = max(lengths.size // 3, 1)
    rising = np.count_nonzero(np.diff(lengths) > 0) >= _RISING * max(lengths.size - 1, 1)
    return bool(rising and np.median(lengths[-third:]) > _ALIKE * np.median(lengths[:third]))


def _sequence(rows: dict[str, NDArray[Any]]) -> Sequence:
    latest = reach(rows["stop"])
    gaps = np.zeros(latest.size, np.int64)
    gaps[1:] = np.maximum(rows["ts"][1:] - latest[1:], 0)
    return Sequence(
        rows["name_id"].astype(np.int64),
        rows["stop"] - rows["ts"],
        rows["ts"],
        gaps,
        rows["called"],
        rows["done"],
        rows["launched"],
    )


def _inside_one_call(staging: Staging, sequence: Sequence, cuts: Cuts) -> bool:
    """Whether one call contains several of the periods, but for the first, which may begin before the call does."""
    launched = cuts.positions[sequence.launched[cuts.positions]]
    inner = np.sort(sequence.host_starts[launched])[1:]
    return inner.size >= 2 and within_one_call(staging, inner)


def _steps(sequence: Sequence, cuts: Cuts, end: int) -> list[HostStep]:
    """Host intervals of the steps: each ends where the next starts, the last one at `end`."""
    # Work launched before the recording has only the device's time, which is later than the host's.
    starts = np.minimum.accumulate(sequence.host_starts[cuts.positions][::-1])[::-1]
    last = max(end, int(starts[-1]) + 1)
    lengths = np.diff(np.append(starts, last))
    columns = zip(starts.tolist(), lengths.tolist(), cuts.partial.tolist(), strict=True)
    steps = [(start, length, cut) for start, length, cut in columns if length > 0]
    return [HostStep(f"inferred step {i}", None, start, length, cut) for i, (start, length, cut) in enumerate(steps)]
