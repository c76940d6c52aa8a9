"""Metadata of a result: options, versions, environment and parallel groups."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from stepscope.readers.ascend.files import Result
from stepscope.readers.ascend.tables.added import added, sizes, whole
from stepscope.readers.ascend.vocabulary import GRAPH_KERNEL, group_hash
from stepscope.readers.asked_for import told
from stepscope.store.staging import Staging

Attributes = dict[str, str | int | float | bool]

#: Options under the names of PyTorch's profiler, else their own without the underscore.
_COMMON: Final = ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules")
_VERSIONS: Final = ("torch_npu_version", "ms_version", "cann_version")


def attributes(info: dict[str, Any], metadata: dict[str, Any]) -> Attributes:
    """Options, versions and environment, flat: `profiler_level`, `aic_metrics`, `env.HCCL_RDMA_TC`, ..."""
    config = _dict(info.get("config"))
    found: Attributes = {}
    common = _dict(config.get("common_config"))
    for key in _COMMON:
        if isinstance(common.get(key), bool):
            found[key] = common[key]
    for key in ("activities", "schedule"):
        if common.get(key):
            found[key] = json.dumps(common[key])
    # MindSpore lists its options without a distinction.
    for key, value in (_dict(config.get("experimental_config")) | _dict(info.get("profiler_parameters"))).items():
        name = str(key).lstrip("_")
        if isinstance(value, (str, int, float)):
            found[name] = value
        elif value:
            found[name] = json.dumps(value)
    for key in _VERSIONS:
        if isinstance(info.get(key), str):
            found[key] = info[key]
    found |= told(metadata)
    for key, value in _dict(metadata.get("ENV_VARIABLES")).items():
        found[f"env.{key}"] = str(value)
    for key, value in _dict(metadata.get("distributed_args")).items():
        if isinstance(value, (str, int, float)):
            size = whole(value)
            found[f"distributed.{key}"] = value if size is None else size
    for name, value in added(metadata).items():
        found[f"metadata.{name}"] = value if isinstance(value, (str, int, float)) else json.dumps(value)
    return found | {f"parallel.{name}": size for name, size in sizes(metadata).items()}


#: `msprof` puts the time of the export into the names of its files, which torch_npu leaves out.
_OF_MSPROF: Final = re.compile(r"op_summary|[a-z_]+?_(\d+_)*(slice_\d+_)?\d{8,}\.(csv|db)", re.ASCII)


def framework(result: Result) -> Attributes:
    """`framework`: `mindspore` or `unknown` where the profiler of another program than PyTorch wrote the result.

    MindSpore's profiler writes the same files into folders of other names; `msprof` profiles any program.
    """
    files = [path for path in (result.database, *(one for found in result.tables.values() for one in found)) if path]
    parts = [part for path in files for part in path.parts]
    told = any(str(key).startswith(("ms_version", "mindspore_version")) for key in result.info)
    if told or any(part.endswith("_ascend_ms") or "mindspore_profiler" in part for part in parts):
        return {"framework": "mindspore"}
    if not result.info and any("mindstudio_profiler_output" in part or _OF_MSPROF.match(part) for part in parts):
        return {"framework": "unknown"}
    return {}


def of_kernels(staging: Staging) -> Attributes:
    """`framework` where the names of most kernels tell it: MindSpore names them by their place in the graph."""
    [most] = staging.one(
        "SELECT 2 * count(*) FILTER (regexp_matches(name, ?)) > count(*) FROM ascend_device WHERE kind = 'compute'",
        [GRAPH_KERNEL],
    )
    return {"framework": "mindspore"} if most else {}


def world_size(metadata: dict[str, Any]) -> int | None:
    """Number of ranks of the job as its training framework recorded it, else that of a group of all; None otherwise."""
    value = _dict(metadata.get("distributed_args")).get("world_size")
    if type(value) is int and 0 < value < 2**31:
        return value
    groups = [sorted(set(ranks)) for _, ranks in groups_in(metadata).values()]
    largest = max(groups, key=len, default=[])
    is_all = len(largest) > 1 and largest == [*range(len(largest))] and all(set(g) <= set(largest) for g in groups)
    return len(largest) if is_all else None


def collection_window(info: dict[str, Any]) -> tuple[int, int] | None:
    """Unix times of the recording's start and end, in ns; None if they are not recorded."""
    end = collection_end(info)
    begun = _dict(info.get("start_info")).get("start_monotonic")
    ended = _dict(info.get("end_info")).get("MonotonicTimeEnd")
    if end is None or type(begun) is not int or type(ended) is not int or not 0 <= ended - begun < end:
        return None
    return end - (ended - begun), end


def collection_end(info: dict[str, Any]) -> int | None:
    """End of the recording, Unix time in ns; None if not recorded."""
    value = _dict(info.get("end_info")).get("collectionTimeEnd")
    return value if type(value) is int and 0 < value < 2**62 else None


def add_groups(staging: Staging, metadata: dict[str, Any]) -> dict[str, list[int]]:
    """Stage the process groups; returns the ranks of each by its name."""
    found = groups_in(metadata)
    for name, (description, ranks) in found.items():
        staging.connection.execute(
            'INSERT INTO "groups" ("group", description, backend, size, ranks) VALUES (?, ?, ?, ?, ?)',
            [name, description, "hccl", len(ranks), ranks or None],
        )
    return {name: ranks for name, (_, ranks) in found.items()}


def groups_in(metadata: dict[str, Any]) -> dict[str, tuple[str | None, list[int]]]:
    """Description and ranks of each process group, by its name.

    The name of a group is its number in the profiler's files, which is the same in all files of all ranks.
    """
    found: dict[str, tuple[str | None, list[int]]] = {}
    for key, value in _dict(metadata.get("parallel_group_info")).items():
        group = _dict(value)
        listed = group.get("global_ranks")
        ranks = [r for r in listed if type(r) is int and abs(r) < 2**31] if isinstance(listed, list) else []
        description = group.get("group_name")
        found.setdefault(group_hash(str(key)), (None if description is None else str(description), ranks))
    return found


def group_names(operations: dict[str, str], members: dict[str, list[int]]) -> dict[str, str]:
    """Names of groups by operation, and by their last three digits where these are unique."""
    names = dict(operations)
    endings: dict[str, set[str]] = {}
    for group in {*operations.values(), *members}:
        endings.setdefault(group[-3:], set()).add(group)
    names.update({ending: groups.pop() for ending, groups in endings.items() if len(groups) == 1})
    return names


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
