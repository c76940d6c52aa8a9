"""Which parameter belongs to which profiler: the table of docs/profiler-api.md, which tests compare with both.

torch.profiler is that of PyTorch 2.13; torch_npu.profiler that of Ascend's repository `Ascend/pytorch`,
`torch_npu/profiler/profiler.py`, `experimental_config.py` and `scheduler.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_BOTH: Final = ("torch", "npu")
_TORCH: Final = ("torch",)
_NPU: Final = ("npu",)

#: Parameters of `_KinetoProfile`.
KINETO: Final[Mapping[str, tuple[str, ...]]] = {
    "activities": _BOTH,
    "record_shapes": _BOTH,
    "profile_memory": _BOTH,
    "with_stack": _BOTH,
    "with_flops": _BOTH,
    "with_modules": _BOTH,
    "experimental_config": _BOTH,
    "execution_trace_observer": _TORCH,
    "acc_events": _TORCH,
    "custom_trace_id_callback": _TORCH,
    "post_processing_timeout_s": _TORCH,
}
#: Parameters of `profile`.
PROFILE: Final[Mapping[str, tuple[str, ...]]] = {
    **KINETO,
    "schedule": _BOTH,
    "on_trace_ready": _BOTH,
    "use_cuda": _BOTH,
}
#: Parameters of `schedule`.
SCHEDULE: Final[Mapping[str, tuple[str, ...]]] = {
    "wait": _BOTH, "warmup": _BOTH, "active": _BOTH, "repeat": _BOTH, "skip_first": _BOTH, "skip_first_wait": _TORCH,
}  # fmt: skip
#: Parameters of `tensorboard_trace_handler`.
HANDLER: Final[Mapping[str, tuple[str, ...]]] = {
    "dir_name": _BOTH, "worker_name": _BOTH, "use_gzip": _TORCH, "use_python_export": _TORCH, "analyse_flag": _NPU,
    "async_mode": _NPU,
}  # fmt: skip
#: Parameters of `_ExperimentalConfig`.
EXPERIMENTAL: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(
        (
            "profiler_metrics", "profiler_measure_per_kernel", "verbose", "performance_events",
            "enable_cuda_sync_events", "adjust_profiler_step", "disable_external_correlation", "profile_all_threads",
            "capture_overload_names", "record_python_gc_info", "expose_kineto_event_metadata",
            "custom_profiler_config", "adjust_timestamps", "trace_only",
        ),
        _TORCH,
    ),
    **dict.fromkeys(
        (
            "profiler_level", "aic_metrics", "l2_cache", "msprof_tx", "data_simplification", "record_op_args",
            "op_attr", "gc_detect_threshold", "export_type", "mstx", "mstx_domain_include", "mstx_domain_exclude",
            "host_sys", "sys_io", "sys_interconnection",
        ),
        _NPU,
    ),
}  # fmt: skip
CALLS: Final = {
    "profile": PROFILE,
    "_KinetoProfile": KINETO,
    "schedule": SCHEDULE,
    "tensorboard_trace_handler": HANDLER,
    "ExperimentalConfig": EXPERIMENTAL,
}


def table() -> str:
    """The parity table as Markdown."""
    rows = ["| call | parameter | torch.profiler | torch_npu.profiler |", "|---|---|---|---|"]
    for call, parameters in CALLS.items():
        for name, kinds in parameters.items():
            has = ["yes" if kind in kinds else "said to have no effect" for kind in _BOTH]
            rows.append(f"| `{call}` | `{name}` | {has[0]} | {has[1]} |")
    return "\n".join(rows)
