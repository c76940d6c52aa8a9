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
    many = place.job.ranks > 1
    info = folder / (f"profiler_info_{place.rank}.json" if many else "profiler_info.json")
    info.write_text(json.dumps(_info(place, end), indent=4), encoding="utf-8")
    metadata: dict[str, Any] = {"ENV_VARIABLES": _ENVIRONMENT}
    if many:
        ranks = list(range(place.job.ranks))
        group = {"group_name": "default_group", "group_rank": place.rank, "global_ranks": ranks}
        metadata["parallel_group_info"] = {GROUP: group}
    (folder / "profiler_metadata.json").write_text(json.dumps(metadata, indent=4), encoding="utf-8")


def _info(place: RankPlace, end: int) -> dict[str, Any]:
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
                "_profiler_level": f"Level{job.profiler_level}",
                "_aic_metrics": "ACL_AICORE_PIPE_UTILIZATION" if place.details else "ACL_AICORE_NONE",
                "_l2_cache": place.everything,
                "_msprof_tx": False,
                "_data_simplification": True,
                "record_op_args": False,
                "_export_type": "text",
                "_op_attr": False,
                "_gc_detect_threshold": 1 if job.with_stack and job.gc_interval_ops else None,
            },
        },
        "start_info": {"syscnt_enable": True, "freq": 100, "start_cnt": start // 10, "start_monotonic": start},
        "end_info": {"collectionTimeEnd": place.shift + end, "MonotonicTimeEnd": start + end},
    }
    return {**found, "rank_id": place.rank} if job.ranks > 1 else found
