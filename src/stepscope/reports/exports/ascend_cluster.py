"""The cluster outputs of Ascend's own tools: steps, collectives, links and groups of all ranks, in files as theirs.

`msprof-analyze cluster -m all` writes `cluster_step_trace_time.csv`, `cluster_communication.json`,
`cluster_communication_matrix.json` and `communication_group.json` from text results. These are the same numbers.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from stepscope.model.errors import UserError
from stepscope.model.trace import Trace
from stepscope.reports.exports.ascend_durations import write_durations
from stepscope.reports.exports.ascend_operations import Operation
from stepscope.reports.exports.ascend_sums import Group, GroupSums, Values

_STEPS_SQL: Final = """
SELECT step, metric, value FROM recorded
WHERE source = 'steps' AND ($steps IS NULL OR step IN (SELECT unnest($steps)))
"""
#: Sizes of a job by the name of its dimension, the one whose neighbours have neighbouring ranks last.
_DIMENSIONS: Final = (("DP", "data"), ("PP", "pipeline_model"), ("TP", "tensor_model"))


def write(traces: Sequence[Trace], folder: Path, steps: Sequence[int] | None = None) -> None:
    """Write the files into an existing folder.

    Args:
        traces: Traces of one rank each.
        folder: Where to write.
        steps: Numbers of steps; None for all.

    Raises:
        UserError: No rank has sums of steps or of communication.
    """
    wanted = None if steps is None else [str(step) for step in steps]
    rows: list[tuple[Trace, str, Values]] = []
    sums = GroupSums()
    for trace in traces:
        rows += [(trace, step, values) for step, values in _steps(trace, wanted)]
        sums.add(trace, wanted)
    if not rows and not sums.groups:
        raise UserError(
            "the input has no sums of steps or communication", hint="give results of the Ascend profiler, level 1 or 2"
        )
    groups = sums.by_ranks()
    _write_steps(rows, [group.ranks for group in sums.groups.values() if group.kind == "p2p"], folder)
    _write(folder / "cluster_communication.json", {key: _by_step(found, "communication") for key, found in groups})
    _write(folder / "cluster_communication_matrix.json", {key: _by_step(found, "matrix") for key, found in groups})
    _write(folder / "communication_group.json", _listed(list(sums.groups.values())))
    write_durations(traces, folder, steps)


def _steps(trace: Trace, wanted: list[str] | None) -> list[tuple[str, Values]]:
    found: dict[str, Values] = {}
    for row in trace.rows(_STEPS_SQL, {"steps": wanted}):
        found.setdefault(row["step"] or "", {})[row["metric"]] = row["value"]
    return list(found.items())


def _write_steps(rows: list[tuple[Trace, str, Values]], pairs: list[set[int]], folder: Path) -> None:
    """Rows of ranks, then rows of stages: the largest of each column over the ranks of a stage."""
    metrics = list(dict.fromkeys(metric for _, _, values in rows for metric in values))
    places = {trace.ranks[0]: _place(trace) for trace, _, _ in rows}
    indices = [f"{short} Index" for short, _ in _DIMENSIONS] if any(places.values()) else []
    with (folder / "cluster_step_trace_time.csv").open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["Step", "Type", "Index", *metrics, *indices])
        for trace, step, values in rows:
            rank = trace.ranks[0]
            place: Sequence[object] = places[rank] or [""] * len(indices)
            out.writerow([step, "rank", rank, *(values.get(metric, "") for metric in metrics), *place])
        for step in dict.fromkeys(step for _, step, _ in rows):
            mine = {trace.ranks[0]: values for trace, other, values in rows if other == step}
            for stage in _stages(pairs, set(mine)):
                most = [max(mine[rank].get(metric, 0.0) for rank in stage) for metric in metrics]
                out.writerow([step, "stage", str(stage), *most, *[""] * len(indices)])


def _stages(pairs: list[set[int]], ranks: set[int]) -> list[tuple[int, ...]]:
    """Ranks at the same place of the groups that send and receive, as `msprof-analyze` forms its stages; none without.

    Groups that share ranks are joined first. Of a group of which one rank alone is at hand no place is known.
    """
    whole = [sorted(pair & ranks) for pair in pairs if len(pair & ranks) > 1]
    length = max(map(len, whole), default=0)
    stages = [tuple(sorted({group[at] for group in whole if at < len(group)})) for at in range(length)]
    return [stage for stage in stages if stage]


def _place(trace: Trace) -> list[int] | None:
    """Place of a rank in data, pipeline and tensor parallelism, if the framework's sizes are recorded."""
    attributes = next(iter(trace.recordings.values())).attributes
    sizes = [attributes.get(f"distributed.{name}_parallel_size") for _, name in _DIMENSIONS]
    data, _, tensor = (size if type(size) is int and size > 0 else 0 for size in sizes)
    if not data or not tensor:
        return None
    # Megatron's order: tensor, data, pipeline.
    rest, tensor_index = divmod(trace.ranks[0], tensor)
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
