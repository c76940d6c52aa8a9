"""Ascend NPUs: packages that belong together, and an environment that is set up."""

from __future__ import annotations

from typing import Final

from stepscope.doctor.check import Advice, Verdict, check
from stepscope.doctor.facts import Facts
from stepscope.doctor.machine import version
from stepscope.language import said

_SMI: Final = "manual of npu-smi"
#: The driver from which segments of the allocator can grow.
_EXPANDABLE: Final = (23,)
_INSTALL: Final = "[torch_npu](https://gitcode.com/Ascend/pytorch)"


@check("npu-package", "there are NPUs and no torch_npu, or torch_npu is for another PyTorch", _INSTALL)
def npu_package(facts: Facts) -> Verdict:
    """PyTorch and torch_npu."""
    if facts.packages is None or facts.npus is None:
        return None
    torch, npu = facts.packages.get("torch"), facts.packages.get("torch-npu")
    if npu is None:
        if not facts.npus or torch is None:
            return []
        return [
            Advice(
                "error",
                "there is no torch_npu",
                "the job runs on the CPU",
                said("install torch_npu for PyTorch {torch}", torch=torch),
            )
        ]
    ours, theirs = version(torch), version(npu)
    if ours is None or theirs is None or ours[:3] == theirs[:3]:
        return []
    why = said("torch_npu extends one version of PyTorch, and fails or misbehaves with another")
    return [
        Advice(
            "error",
            said("torch_npu {npu} with PyTorch {torch}", npu=npu, torch=torch),
            why,
            said("install torch_npu for PyTorch {torch}", torch=torch),
        )
    ]


@check(
    "npu-environment",
    "there are NPUs, and neither `ASCEND_HOME_PATH` nor `ASCEND_TOOLKIT_HOME` is set, or what they name is not there",
    _INSTALL,
)
def npu_environment(facts: Facts) -> Verdict:
    """CANN's environment."""
    if facts.npus is None:
        return None
    if facts.npus and facts.cann_missing:
        names = " and ".join(f"{name}={facts.environ.get(name, '')}" for name in facts.cann_missing)
        change = said("source set_env.sh of the CANN that is installed, or mount it into the container")
        return [
            Advice(
                "error", said("{names} is not there", names=names), "torch_npu does not find CANN's libraries", change
            )
        ]
    if not facts.npus or any(name in facts.environ for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")):
        return []
    why = said("torch_npu does not find CANN's libraries")
    return [Advice("error", "CANN's environment is not set up", why, "source set_env.sh of the CANN toolkit first")]


@check(
    "npu-affinity",
    "there are NPUs and several NUMA nodes, and `CPU_AFFINITY_CONF` is not set",
    "manual of torch_npu, environment variables",
)
def npu_affinity(facts: Facts) -> Verdict:
    """Threads that dispatch to NPUs."""
    if facts.npus is None or facts.nodes is None:
        return None
    if not facts.npus or len(facts.nodes) < 2 or facts.environ.get("CPU_AFFINITY_CONF", "0") not in ("", "0"):
        return []
    why = said(
        "threads that dispatch operators move among {count} NUMA nodes, away from their NPU and memory",
        count=len(facts.nodes),
    )
    return [
        Advice("warning", "CPU_AFFINITY_CONF is not set", why, "CPU_AFFINITY_CONF=1 binds each process near its NPU")
    ]


@check("npu-health", "npu-smi says of an NPU that it is not OK", _SMI)
def npu_health(facts: Facts) -> Verdict:
    """Faults of devices."""
    if facts.npu_health is None:
        return None if facts.npus != 0 else []
    bad = [f"NPU {number}: {text}" for number, text in sorted(facts.npu_health.items()) if text != "OK"]
    if not bad:
        return []
    why = said("it may stop the job, or be slower than the others, which wait for it")
    return [Advice("error", ", ".join(bad), why, "npu-smi info -t health -i N says which fault; use others until then")]


@check("npu-in-use", "processes use NPUs now", _SMI)
def npu_in_use(facts: Facts) -> Verdict:
    """Other jobs."""
    if facts.npu_processes is None:
        return None if facts.npus != 0 else []
    if not facts.npu_processes:
        return []
    what = said(
        "{npu_processes} process{en_esuse} NPUs",
        npu_processes=facts.npu_processes,
        en_esuse="es use" if facts.npu_processes > 1 else " uses",
    )
    why = said("another job takes memory and time of devices, or one that died has left a process")
    return [Advice("warning", what, why, "see whose it is (npu-smi info), or choose with ASCEND_RT_VISIBLE_DEVICES")]


@check(
    "npu-driver",
    "`PYTORCH_NPU_ALLOC_CONF` asks for expandable segments, and the driver is older than 23.0",
    "[torch_npu](https://www.hiascend.com/document/detail/zh/Pytorch/710/comref/Envvariables/Envir_011.html)",
)
def npu_driver(facts: Facts) -> Verdict:
    """Drivers that are too old for the allocator."""
    if facts.npu_driver is None:
        return None if facts.npus != 0 else []
    asked = "expandable_segments:true" in facts.environ.get("PYTORCH_NPU_ALLOC_CONF", "").lower().replace(" ", "")
    if not asked or facts.npu_driver >= _EXPANDABLE:
        return []
    what = said("expandable_segments with driver {npu_driver}", npu_driver=".".join(map(str, facts.npu_driver)))
    return [Advice("error", what, "segments that grow need driver 23.0 or later", "update the driver, or leave it out")]
