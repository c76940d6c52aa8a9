"""Metadata of a recording: its options, and the communication groups."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stepscope.simulate.writers.ascend.collectives import GROUP
from stepscope.simulate.writers.ascend.place import RankPlace

#: Variables the profiler notes; the first one switches the log down to errors, as is recommended.
_ENVIRONMENT = {
    "ASCEND_GLOBAL_LOG_LEVEL": "3", "HCCL_RDMA_TC": "", "HCCL_RDMA_SL": "", "ACLNN_CACHE_LIMIT": "",
    "HOST_CACHE_CAPACITY": "", "ASCEND_ENHANCE_ENABLE": "", "PYTORCH_NPU_ALLOC_CONF": "", "ASCEND_LAUNCH_BLOCKING": "",
}  # fmt: skip


def write_metadata(place: RankPlace, folder: Path, end: int) -> None:
    """Write ``profiler_info*.json`` and ``profiler_metadata.json``; ``end`` is when the recording ended."""
    write_info(place, folder, end, "text")
    text = json.dumps(metadata(place), indent=4)
    (folder / "profiler_metadata.json").write_text(text, encoding="utf-8")


def metadata(place: RankPlace) -> dict[str, Any]:
    """Variables of the environment, and the groups."""
    found: dict[str, Any] = {"ENV_VARIABLES": _ENVIRONMENT}
    if place.job.ranks > 1:
        ranks = list(range(place.job.ranks))
        group = {"group_name": "default_group", "group_rank": place.rank, "global_ranks": ranks}
        found["parallel_group_info"] = {GROUP: group}
    return found


def write_info(place: RankPlace, folder: Path, end: int, export: str) -> None:
    """Write ``profiler_info*.json``, with the kind of export."""
    info = folder / (f"profiler_info_{place.rank}.json" if place.job.ranks > 1 else "profiler_info.json")
    info.write_text(json.dumps(_info(place, end, export), indent=4), encoding="utf-8")


def _info(place: RankPlace, end: int, export: str) -> dict[str, Any]:
    job = place.job
    schedule = {"wait": 0, "active": job.steps, "warmup": job.warmup_steps, "repeat": 1, "skip_first": 0}
    start = place.shift % 10**15
    found: dict[str, Any] = {
        "config": {
            "common_config": {
                "activities": ["ProfilerActivity.CPU", "ProfilerActivity.NPU"],
                "schedule": schedule if job.mark_steps else None,
                "record_shapes": job.record_shapes,
                "profile_memory": job.profile_memory,
                "with_stack": job.with_stack,
                "with_flops": False,
                "with_modules": False,
            },
            "experimental_config": {
                "_profiler_level": f"Level{job.profiler_level}" if place.tasks else "Level_none",
                "_aic_metrics": "ACL_AICORE_PIPE_UTILIZATION" if place.details else "ACL_AICORE_NONE",
                "_l2_cache": place.everything,
                "_msprof_tx": False,
                "_data_simplification": True,
                "record_op_args": False,
                "_export_type": [export] if place.renamed else export,
                "_op_attr": False,
                "_gc_detect_threshold": 1 if job.with_stack and job.gc_interval_ops else None,
            },
        },
        "start_info": {"syscnt_enable": True, "freq": 100, "start_cnt": start // 10, "start_monotonic": start},
        "end_info": {"collectionTimeEnd": place.shift + end, "MonotonicTimeEnd": start + end},
    }
    if place.renamed:
        found |= {"torch_npu_version": "2.9.0", "cann_version": "8.5.0"}
    rank: str | int = str(place.rank) if place.renamed else place.rank
    return {**found, "rank_id": rank} if job.ranks > 1 else found
