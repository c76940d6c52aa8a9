"""Switches for debugging that were left on, and fast paths that were turned off."""

from __future__ import annotations

from typing import Final, NamedTuple

from stepscope.doctor.check import Advice, Level, Verdict, check
from stepscope.doctor.facts import Facts
from stepscope.language import said

_ON: Final = frozenset({"1", "true", "on", "yes"})
_OFF: Final = frozenset({"0", "false", "off", "no"})


class _Switch(NamedTuple):
    values: frozenset[str]
    level: Level
    why: str


_WAITS: Final = said(
    "the host waits for every kernel, so that the device idles between all of them; it is for debugging"
)
_SWITCHES: Final = {
    "CUDA_LAUNCH_BLOCKING": _Switch(_ON, "error", _WAITS),
    "ASCEND_LAUNCH_BLOCKING": _Switch(_ON, "error", _WAITS),
    "HIP_LAUNCH_BLOCKING": _Switch(_ON, "error", _WAITS),
    "AMD_SERIALIZE_KERNEL": _Switch(frozenset("123"), "error", _WAITS),
    "AMD_SERIALIZE_COPY": _Switch(frozenset("123"), "error", "the host waits for every copy; it is for debugging"),
    "HSA_ENABLE_SDMA": _Switch(_OFF, "warning", "kernels copy, on the units that compute, instead of copy engines"),
    "AMD_LOG_LEVEL": _Switch(frozenset("1234"), "warning", "HIP writes a log of its calls"),
    "PYTORCH_NO_CUDA_MEMORY_CACHING": _Switch(_ON, "error", "each tensor calls the driver for memory, and waits"),
    "PYTORCH_NO_NPU_MEMORY_CACHING": _Switch(_ON, "error", "each tensor calls the driver for memory, and waits"),
    "TASK_QUEUE_ENABLE": _Switch(_OFF, "error", "operators are dispatched to the NPU one by one, without a queue"),
    "TORCH_DISTRIBUTED_DEBUG": _Switch(
        frozenset({"detail"}), "error", "each collective is first compared among all ranks; it is for debugging"
    ),
    "TORCH_NCCL_BLOCKING_WAIT": _Switch(_ON, "warning", "the host waits for every collective"),
    "TORCHDYNAMO_DISABLE": _Switch(_ON, "warning", "torch.compile compiles nothing"),
    "TORCH_COMPILE_DEBUG": _Switch(_ON, "warning", "torch.compile writes down all that it does"),
    "TORCHINDUCTOR_FORCE_DISABLE_CACHES": _Switch(_ON, "warning", "each start compiles everything anew"),
    "NVIDIA_TF32_OVERRIDE": _Switch(_OFF, "warning", "matrix multiplications of FP32 do not use tensor cores"),
    "PYTHONDEVMODE": _Switch(_ON, "warning", "Python checks each of its allocations"),
    "PYTHONMALLOC": _Switch(
        frozenset({"debug", "malloc_debug", "pymalloc_debug"}), "warning", "Python checks each of its allocations"
    ),
    "ASCEND_GLOBAL_LOG_LEVEL": _Switch(frozenset("01"), "warning", "CANN writes a log of everything it does"),
    "ASCEND_SLOG_PRINT_TO_STDOUT": _Switch(_ON, "warning", "CANN prints its log, for which threads wait"),
    "HCCL_ENTRY_LOG_ENABLE": _Switch(_ON, "warning", "each call of a collective is written to the log"),
    "HCCL_DETERMINISTIC": _Switch(
        frozenset({"true", "strict"}), "info", "collectives add in a fixed order, which takes longer"
    ),
    "CUDA_MODULE_LOADING": _Switch(
        frozenset({"eager"}),
        "info",
        "all kernels of all libraries are loaded at the start, which takes time and memory",
    ),
}


@check(
    "debug-switches",
    "one of " + ", ".join(f"`{name}`" for name in _SWITCHES) + " is set so that it costs time",
    "manuals of CUDA, ROCm, PyTorch, torch_npu and CANN, environment variables",
)
def debug_switches(facts: Facts) -> Verdict:
    """Variables that cost time."""
    found = []
    for name, switch in _SWITCHES.items():
        value = facts.environ.get(name, "").strip()
        if value.lower() in switch.values:
            found.append(Advice(switch.level, f"{name}={value}", switch.why, said("unset {name}", name=name)))
    return found
