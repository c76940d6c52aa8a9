"""What the cluster outputs need of one rank: from its sums read alone, or from its trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from stepscope.model.recording import Recording
from stepscope.model.sums.kernels import KernelKey, RunDurations
from stepscope.model.sums.rank import RankSummaries, SumRow
from stepscope.model.trace import Trace

_SOURCES: Final = ("steps", "communication", "bandwidth", "packets", "matrix", "matrix operation")
_SUMS: Final = f"SELECT source, step, subject, metric, value FROM recorded WHERE source IN {_SOURCES}"
_GROUPS: Final = 'SELECT "group", any_value(ranks) AS ranks FROM groups WHERE len(ranks) > 1 GROUP BY 1'
#: Kernels without shapes are left out, as the tool does; collectives have none.
_KERNELS: Final = """
SELECT name, input, dtypes, output, device, NULL, count(*), sum(dur)::HUGEINT, sum(dur::HUGEINT * dur)::HUGEINT,
    max(dur), min(dur)
FROM (
    SELECT e.name, args->>'$."Input Shapes"' AS input, args->>'$."Input Data Types"' AS dtypes,
        args->>'$."Output Shapes"' AS output, k.device, e.dur
    FROM events e JOIN kernels k ON k.event = e.id
    WHERE e.dur IS NOT NULL AND ($steps IS NULL OR k.step IN (
        SELECT step FROM steps WHERE coalesce(number, step) IN (SELECT unnest($steps))))
)
WHERE coalesce(input, 'N/A') <> 'N/A' AND coalesce(dtypes, 'N/A') <> 'N/A' AND coalesce(output, 'N/A') <> 'N/A'
GROUP BY ALL
"""


@dataclass(frozen=True, slots=True)
class RankSums:
    """The sums of one rank, of the steps asked for.

    Attributes:
        rank: Its number.
        recording: Its metadata.
        sums: Rows as of table `recorded`.
        groups: Ranks of each process group with more than one, by its name.
        kernels: Durations of its kernels.
        steps: Numbers of all its steps.
    """

    rank: int
    recording: Recording
    sums: list[SumRow]
    groups: dict[str, tuple[int, ...]]
    kernels: dict[KernelKey, RunDurations]
    steps: set[int]


def sums_of(rank: int, found: RankSummaries | Trace, steps: Sequence[int] | None = None) -> RankSums:
    """The sums of a rank.

    Args:
        rank: Its number.
        found: Its sums, or the trace of it alone.
        steps: Numbers of steps; None for all.
    """
    if isinstance(found, Trace):
        return _of_trace(rank, found, steps)
    known = {int(step) for _, step, *_ in found.sums if step is not None and step.isdecimal() and len(step) < 10}
    known |= {key.step for key in found.kernels if key.step is not None}
    kernels: dict[KernelKey, RunDurations] = {}
    for key, durations in found.kernels.items():
        if steps is None or key.step in steps:
            device = rank if key.device is None else key.device
            kernels.setdefault(key._replace(device=device, step=None), RunDurations()).merge(durations)
    return RankSums(rank, found.recording, _of_steps(found.sums, steps), found.groups, kernels, known)


def _of_trace(rank: int, trace: Trace, steps: Sequence[int] | None) -> RankSums:
    [recording] = trace.recordings.values()
    sums: list[SumRow] = [tuple(row.values()) for row in trace.rows(_SUMS)]
    groups = {row["group"]: tuple(row["ranks"]) for row in trace.rows(_GROUPS)}
    kernels: dict[KernelKey, RunDurations] = {}
    for row in trace.rows(_KERNELS, {"steps": None if steps is None else list(steps)}):
        name, inputs, dtypes, outputs, device, step, *durations = row.values()
        key = KernelKey(name, inputs, dtypes, outputs, rank if device is None else device, step)
        kernels.setdefault(key, RunDurations()).merge(RunDurations(*map(int, durations)))
    known = {row["step"] for row in trace.rows("SELECT step FROM steps")}
    return RankSums(rank, recording, _of_steps(sums, steps), groups, kernels, known)


def _of_steps(sums: list[SumRow], steps: Sequence[int] | None) -> list[SumRow]:
    wanted: Any = None if steps is None else {str(step) for step in steps}
    return [one for one in sums if wanted is None or one[1] in wanted]
