"""Whose devices a program uses, by the device's name, the calls of its runtime, or its libraries' kernels."""

from __future__ import annotations

import re
from typing import Final

from stepscope.analyses.program.program_names import ProgramNames
from stepscope.analyses.shared.recorded_events import names_of
from stepscope.ingest.inputs import source_of
from stepscope.model.devices import match
from stepscope.model.program import Platform
from stepscope.model.trace import Trace

_DEVICE_SQL: Final = "SELECT name FROM devices WHERE name IS NOT NULL ORDER BY used DESC, device LIMIT 1"
_VENDORS: Final[dict[str, Platform]] = {
    "nvidia": "cuda", "amd": "rocm", "huawei": "npu", "intel": "xpu", "meta": "mtia",
}  # fmt: skip
#: Names of devices that are not in the table.
_DEVICES: Final[tuple[tuple[Platform, re.Pattern[str]], ...]] = (
    ("cuda", re.compile(r"NVIDIA|Tesla|GeForce|Quadro|TITAN", re.IGNORECASE)),
    ("rocm", re.compile(r"\bAMD\b|Radeon|Instinct", re.IGNORECASE)),
    ("npu", re.compile(r"Ascend", re.IGNORECASE)),
    ("xpu", re.compile(r"Intel|Data Center GPU Max|\bArc\b", re.IGNORECASE)),
    ("mtia", re.compile(r"ARTEMIS|MTIA", re.IGNORECASE)),
)
#: Beginnings of names of runtime calls.
_CALLS: Final[tuple[tuple[Platform, re.Pattern[str]], ...]] = (
    ("rocm", re.compile(r"^hip[A-Z]")),
    ("npu", re.compile(r"^(acl[a-z]|AscendCL@|rtKernel)")),
    ("cuda", re.compile(r"^cu(da)?[A-Z]")),
    ("xpu", re.compile(r"^(ur|ze)[A-Z]")),
)
#: Kernels that only one vendor's libraries have.
_KERNELS: Final[tuple[tuple[Platform, re.Pattern[str]], ...]] = (
    ("rocm", re.compile(r"^Cijk_|ck_tile|\bck::|miopen|^igemm_|__amd_rocclr|rocblas|rccl|\bhip", re.IGNORECASE)),
    ("cuda", re.compile(r"^(maxwell|volta|turing|ampere|hopper|sm\d\d)_|cutlass|cudnn|cublas|nvjet", re.IGNORECASE)),
    ("npu", re.compile(r"^aclnn|^hcom_|AiCore")),
)


def platform_of(trace: Trace, names: ProgramNames) -> Platform:
    """The platform of a trace of one rank: `cpu` without device work, `other` where nothing identifies it."""
    [recording] = trace.recordings.values()
    source = source_of(recording.reader)
    name = trace.scalar(_DEVICE_SQL)
    known = match(name)
    if known is not None and known.vendor in _VENDORS:
        return _VENDORS[known.vendor]
    if source.platform is not None:
        return source.platform
    calls = [call for _, call in names_of(trace, ("runtime", "launch", "sync"))]
    for texts, patterns in (([name or ""], _DEVICES), (calls, _CALLS), (names.kernels, _KERNELS)):
        for platform, pattern in patterns:
            if any(pattern.search(one) for one in texts):
                return platform
    if any("torch_npu/" in file for file in names.files):
        return "npu"
    if source.likely is not None:
        return source.likely
    return "other" if names.kernels else "cpu"
