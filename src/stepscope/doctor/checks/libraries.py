"""Drivers and libraries: whether they fit each other, and are new enough for the device."""

from __future__ import annotations

from typing import Final

from stepscope.doctor.check import Advice, Verdict, check
from stepscope.doctor.facts import Facts
from stepscope.doctor.machine import version
from stepscope.language import said

#: The oldest driver, on Linux, for each major version of CUDA.
_DRIVERS: Final = {13: (580,), 12: (525,), 11: (450,)}
#: The first CUDA that compiles for a compute capability.
_FIRST: Final = {
    (7, 0): (9, 0), (7, 5): (10, 0), (8, 0): (11, 0), (8, 6): (11, 1), (8, 7): (11, 4), (8, 9): (11, 8),
    (9, 0): (11, 8), (10, 0): (12, 8), (10, 3): (12, 9), (12, 0): (12, 8), (12, 1): (12, 9),
}  # fmt: skip
#: PyTorch with FlashAttention-2 in its attention.
_FLASH: Final = (2, 2)
#: Linux below which training was seen to hang.
_KERNEL: Final = (5, 5)


def _shown(number: tuple[int, ...]) -> str:
    return ".".join(map(str, number))


@check(
    "gpu-driver",
    "the driver is older than the CUDA that PyTorch was built with needs: 580 for CUDA 13, 525 for 12, 450 for 11",
    "[NVIDIA](https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html)",
)
def gpu_driver(facts: Facts) -> Verdict:
    """Driver and CUDA."""
    drivers = [one.driver for one in facts.gpus or () if one.driver]
    if facts.torch_cuda is None or not (drivers or facts.gpus == ()):
        return None
    least = _DRIVERS.get(facts.torch_cuda[0])
    if least is None or not drivers or drivers[0] >= least:
        return []
    what = said(
        "driver {drivers} with PyTorch for CUDA {torch_cuda}",
        drivers=_shown(drivers[0]),
        torch_cuda=_shown(facts.torch_cuda),
    )
    why = said(
        "CUDA {torch_cuda} needs driver {least} or later; CUDA starts with none of the GPUs",
        torch_cuda=facts.torch_cuda[0],
        least=_shown(least),
    )
    return [Advice("error", what, why, "update the driver, or install PyTorch for an older CUDA")]


@check(
    "gpu-build",
    "PyTorch was built without CUDA although there are GPUs, or with a CUDA that does not know their compute"
    " capability",
    "[NVIDIA](https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/), release notes of each version",
)
def gpu_build(facts: Facts) -> Verdict:
    """PyTorch's CUDA and the GPUs."""
    if facts.gpus is None or facts.torch_cuda is None:
        return None
    if not facts.gpus:
        return []
    if facts.torch_cuda == (0, 0):
        why = said("the job runs on the CPU")
        return [Advice("error", "PyTorch was built without CUDA", why, "install PyTorch for CUDA from pytorch.org")]
    for gpu in facts.gpus:
        first = _FIRST.get(gpu.capability) if gpu.capability else None
        if first is not None and facts.torch_cuda < first:
            what = said("PyTorch for CUDA {torch_cuda} on {name}", torch_cuda=_shown(facts.torch_cuda), name=gpu.name)
            why = said(
                "kernels for its compute capability {capability} come with CUDA {first}",
                capability=_shown(gpu.capability or ()),
                first=_shown(first),
            )
            return [Advice("error", what, why, said("install PyTorch for CUDA {first} or later", first=_shown(first)))]
    return []


@check(
    "torch-version",
    "PyTorch is older than 2.2 on GPUs of compute capability 8.0 or later",
    "[PyTorch](https://pytorch.org/blog/pytorch2-2/)",
)
def torch_version(facts: Facts) -> Verdict:
    """Attention of newer GPUs."""
    if facts.gpus is None or facts.packages is None:
        return None
    given = version(facts.packages.get("torch"))
    new = any(gpu.capability and gpu.capability >= (8, 0) for gpu in facts.gpus)
    if given is None or not new or given >= _FLASH:
        return []
    why = said("its attention uses FlashAttention-1, which takes about twice the time of version 2")
    return [Advice("warning", f"PyTorch {_shown(given)}", why, "install PyTorch 2.2 or later")]


@check(
    "kernel-version",
    "Linux is older than 5.5",
    "[Accelerate](https://huggingface.co/docs/accelerate/basic_tutorials/troubleshooting)",
)
def kernel_version(facts: Facts) -> Verdict:
    """Hangs of old kernels."""
    if facts.kernel is None:
        return None
    if facts.kernel >= _KERNEL:
        return []
    why = said("jobs of several processes were seen to hang below 5.5")
    return [Advice("warning", f"Linux {_shown(facts.kernel)}", why, "update the kernel of the host")]
