"""The cluster outputs of Ascend's own tools: steps, collectives, links and groups of all ranks, in files as theirs.

`msprof-analyze cluster -m all` writes `cluster_step_trace_time.csv`, `cluster_communication.json`,
`cluster_communication_matrix.json` and `communication_group.json` from text results. These are the same numbers.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from stepscope.model.errors import UserError
from stepscope.reports.exports.ascend_durations import KernelDurations
from stepscope.reports.exports.ascend_operations import Operation
from stepscope.reports.exports.ascend_rank import RankSums
from stepscope.reports.exports.ascend_sums import Group, GroupSums, Values
from stepscope.reports.selection import chosen_steps

#: Sizes of a job by the name of its dimension, the one whose neighbours have neighbouring ranks last.
_DIMENSIONS: Final = (("DP", "data"), ("PP", "pipeline_model"), ("TP", "tensor_model"))


def write(ranks: Iterable[RankSums], folder: Path, steps: Sequence[int] = ()) -> None:
    """Write the files into an existing folder.

    Args:
        ranks: The sums of each rank, asked for one after the other.
        folder: Where to write.
        steps: Numbers of the steps that they are limited to; empty for all.

    Raises:
        UserError: No rank has sums of steps or of communication, or none has one of the steps.
    """
    rows: list[_Row] = []
    sums, kernels = GroupSums(), KernelDurations()
    known: dict[int, set[int]] = {}
    for rank in ranks:
        place = _place(rank)
        rows += [_Row(rank.rank, place, step, values) for step, values in _steps(rank)]
        sums.add(rank)
        kernels.add(rank)
        known[rank.rank] = rank.steps
    chosen_steps(known, steps)
    if not rows and not sums.groups:
        raise UserError(
            "the input has no sums of steps or communication", hint="give results of the Ascend profiler, level 1 or 2"
        )
    groups = sums.by_ranks()
    _write_steps(rows, [group.ranks for group in sums.groups.values() if group.kind == "p2p"], folder)
    _write(folder / "cluster_communication.json", {key: _by_step(found, "communication") for key, found in groups})
    _write(folder / "cluster_communication_matrix.json", {key: _by_step(found, "matrix") for key, found in groups})
    _write(folder / "communication_group.json", _listed(list(sums.groups.values())))
    kernels.write(folder)


class _Row(NamedTuple):
    """The times of a step on a rank, with the rank's place in data, pipeline and tensor parallelism."""

    rank: int
    place: list[int] | None
    step: str
    values: Values


def _steps(rank: RankSums) -> list[tuple[str, Values]]:
    found: dict[str, Values] = {}
    for source, step, _, metric, value in rank.sums:
        if source == "steps":
            found.setdefault(step or "", {})[metric] = value
    return list(found.items())


def _write_steps(rows: list[_Row], pairs: list[set[int]], folder: Path) -> None:
    """Rows of ranks, then rows of stages: the largest of each column over the ranks of a stage."""
    metrics = list(dict.fromkeys(metric for row in rows for metric in row.values))
    indices = [f"{short} Index" for short, _ in _DIMENSIONS] if any(row.place for row in rows) else []
    empty = [""] * len(indices)
    with (folder / "cluster_step_trace_time.csv").open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["Step", "Type", "Index", *metrics, *indices])
        for rank, place, step, values in rows:
            times = (values.get(metric, "") for metric in metrics)
            out.writerow([step, "rank", rank, *times, *(place or empty)])
        for step in dict.fromkeys(row.step for row in rows):
            mine = {row.rank: row.values for row in rows if row.step == step}
            for stage in _stages(pairs, set(mine)):
                most = [max(mine[rank].get(metric, 0.0) for rank in stage) for metric in metrics]
                out.writerow([step, "stage", str(stage), *most, *empty])


def _stages(pairs: list[set[int]], ranks: set[int]) -> list[tuple[int, ...]]:
    """Ranks at the same place of the groups that send and receive, as `msprof-analyze` forms its stages; none without.

    Groups that share ranks are joined first. Of a group of which one rank alone is at hand no place is known.
    """
    whole = [sorted(pair & ranks) for pair in pairs if len(pair & ranks) > 1]
    length = max(map(len, whole), default=0)
    stages = [tuple(sorted({group[at] for group in whole if at < len(group)})) for at in range(length)]
    return [stage for stage in stages if stage]


def _place(rank: RankSums) -> list[int] | None:
    """Place of a rank in data, pipeline and tensor parallelism, if the framework's sizes are recorded."""
    attributes = rank.recording.attributes
    sizes = [attributes.get(f"distributed.{name}_parallel_size") for _, name in _DIMENSIONS]
    data, _, tensor = (size if type(size) is int and size > 0 else 0 for size in sizes)
    if not data or not tensor:
        return None
    # Megatron's order: tensor, data, pipeline.
    rest, tensor_index = divmod(rank.rank, tensor)
    pipeline_index, data_index = divmod(rest, data)
    return [data_index, pipeline_index, tensor_index]


def _by_step(groups: list[Group], what: str) -> dict[str, dict[str, Operation]]:
    found: dict[str, dict[str, Operation]] = {}
    for group in groups:
        for step, operations in group.by_step(what):
            found.setdefault(f"step{step}", {}).update(operations)
    return found


def _listed(groups: list[Group]) -> dict[str, Any]:
    lists = {
        kind: sorted({tuple(sorted(group.ranks)) for group in groups if group.kind == kind})
        for kind in ("collective", "p2p")
    }
    info = [
        {"type": group.kind, "rank_set": sorted(group.ranks), "group_name": group.name, "group_id": "", "pg_name": ""}
        for group in groups
    ]
    return {**lists, "comm_group_parallel_info": info}


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")
