"""AMD's GPUs: a PyTorch that is built for them, access to them, and what stands between devices."""

from __future__ import annotations

from typing import Final

from stepscope.doctor.check import Advice, Verdict, check
from stepscope.doctor.facts import Facts
from stepscope.language import said

_INSTALL: Final = "https://rocm.docs.amd.com/projects/install-on-linux/en/latest"


@check("amd-build", "there are GPUs of AMD's alone, and PyTorch was built without ROCm", f"[AMD]({_INSTALL})")
def amd_build(facts: Facts) -> Verdict:
    """PyTorch's ROCm."""
    if facts.amd_gpus is None or (facts.amd_gpus and facts.torch_hip is None):
        return None
    if not facts.amd_gpus or facts.gpus or facts.torch_hip != (0, 0):
        return []
    why = said("the job runs on the CPU")
    return [Advice("error", "PyTorch was built without ROCm", why, "install PyTorch for ROCm from pytorch.org")]


@check("amd-access", "there are GPUs of AMD's, and `/dev/kfd` can't be opened", f"[AMD]({_INSTALL}), prerequisites")
def amd_access(facts: Facts) -> Verdict:
    """Permission to use the GPUs."""
    if facts.amd_gpus is None or (facts.amd_gpus and facts.amd_open is None):
        return None
    if not facts.amd_gpus or facts.amd_open:
        return []
    change = said(
        "add the user to the groups render and video, or start the container with --device=/dev/kfd --device=/dev/dri"
    )
    return [Advice("error", "/dev/kfd can't be opened", "ROCm finds no GPU, and the job runs on the CPU", change)]


@check(
    "amd-visible",
    "both `ROCR_VISIBLE_DEVICES` and `HIP_VISIBLE_DEVICES` are set",
    "[AMD](https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html)",
)
def amd_visible(facts: Facts) -> Verdict:
    """Two choices of devices."""
    if facts.amd_gpus is None:
        return None
    names = [name for name in ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES") if facts.environ.get(name)]
    if not facts.amd_gpus or len(names) < 2:
        return []
    why = said(
        "numbers of HIP_VISIBLE_DEVICES count the devices that ROCR_VISIBLE_DEVICES leaves, so that others are used"
    )
    return [Advice("info", said("{names} are set", names=" and ".join(names)), why, "set one of them")]


@check(
    "iommu",
    "there are several accelerators, and an IOMMU translates the addresses that they use",
    "[AMD](https://rocm.docs.amd.com/en/latest/conceptual/iommu.html),"
    " [NVIDIA](https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#iommu-on-linux)",
)
def iommu(facts: Facts) -> Verdict:
    """Translation of addresses on the way between devices."""
    if facts.iommu is None:
        return None
    translated = [kind for kind in facts.iommu.values() if kind.startswith("DMA")]
    if len(translated) < 2:
        return []
    what = said("an IOMMU translates addresses of {count} accelerators", count=len(translated))
    why = said("copies from device to device and to network cards are slower, or go through memory of the host")
    return [Advice("warning", what, why, "boot Linux with iommu=pt, unless virtual machines need the translation")]
