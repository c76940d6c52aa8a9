"""State of NVIDIA GPUs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from stepscope.doctor.check import Advice, Verdict, check
from stepscope.doctor.facts import Facts, Gpu

_SMI: Final = "[nvidia-smi](https://docs.nvidia.com/deploy/nvidia-smi/)"
#: Share of its power or clock below which a limit was set on purpose, or by mistake.
_LOWERED: Final = 0.95
#: MiB that a GPU without a job uses at most: the driver's, and a desktop's.
_USED_MIB: Final = 1024


def _affected(
    facts: Facts, known: Callable[[Gpu], bool], bad: Callable[[Gpu], bool]
) -> tuple[list[Gpu], None] | tuple[None, Verdict]:
    """The GPUs that something is wrong with; a verdict if there are none, or nothing is known."""
    if facts.gpus is None:
        return None, None
    told = [gpu for gpu in facts.gpus if known(gpu)]
    if facts.gpus and not told:
        return None, None
    found = [gpu for gpu in told if bad(gpu)]
    return (found, None) if found else (None, [])


def _numbers(gpus: Sequence[Gpu]) -> str:
    return f"GPU{'s' if len(gpus) > 1 else ''} {', '.join(str(gpu.index) for gpu in gpus)}"


@check("gpu-persistence", "the driver is unloaded while nobody uses a GPU", _SMI)
def gpu_persistence(facts: Facts) -> Verdict:
    """Start-up of each job."""
    found, verdict = _affected(facts, lambda one: one.persistent is not None, lambda one: not one.persistent)
    if found is None:
        return verdict
    why = "each start loads the driver anew, which takes seconds, and settings of clocks and power are lost"
    what = f"persistence mode is off on {_numbers(found)}"
    return [Advice("info", what, why, "run nvidia-persistenced, or nvidia-smi -pm 1, on the host")]


@check("gpu-power", f"a power limit is below {100 * _LOWERED:.0f} % of the default", _SMI)
def gpu_power(facts: Facts) -> Verdict:
    """Power limits."""
    found, verdict = _affected(
        facts,
        lambda one: bool(one.power_limit_w and one.power_default_w),
        lambda one: (one.power_limit_w or 0) < _LOWERED * (one.power_default_w or 0),
    )
    if found is None:
        return verdict
    first = found[0]
    what = f"{_numbers(found)} may take {first.power_limit_w:.0f} W of {first.power_default_w:.0f} W"
    why = "large matrix multiplications run at lower clocks than the GPU has"
    return [Advice("warning", what, why, f"nvidia-smi -pl {first.power_default_w:.0f}, if that is not meant")]


@check("gpu-clocks", f"clocks are set below {100 * _LOWERED:.0f} % of the default", _SMI)
def gpu_clocks(facts: Facts) -> Verdict:
    """Clocks that were set."""
    found, verdict = _affected(
        facts,
        lambda one: bool(one.clock_mhz and one.clock_default_mhz),
        lambda one: (one.clock_mhz or 0) < _LOWERED * (one.clock_default_mhz or 0),
    )
    if found is None:
        return verdict
    what = f"{_numbers(found)} run at {found[0].clock_mhz} MHz, and at {found[0].clock_default_mhz} MHz by default"
    return [Advice("info", what, "kernels that compute take longer", "nvidia-smi -rac, if that is not meant")]


@check("gpu-slowed", "clocks are low now because of heat, power supply or hardware", _SMI)
def gpu_slowed(facts: Facts) -> Verdict:
    """Clocks that the GPU lowers itself."""
    found, verdict = _affected(facts, lambda one: one.slowed is not None, lambda one: bool(one.slowed))
    if found is None:
        return verdict
    reasons = sorted({reason for gpu in found for reason in gpu.slowed or ()})
    why = "kernels take longer, and in a job of several GPUs all wait for the slowest"
    change = "see to cooling and power supply of the host"
    return [Advice("warning", f"clocks of {_numbers(found)} are lowered by {', '.join(reasons)}", why, change)]


@check("gpu-link", "a GPU uses fewer lanes of PCIe than it has", _SMI)
def gpu_link(facts: Facts) -> Verdict:
    """Width of the link to the host."""
    found, verdict = _affected(
        facts,
        lambda one: bool(one.link_width and one.link_most),
        lambda one: (one.link_width or 0) < (one.link_most or 0),
    )
    if found is None:
        return verdict
    what = f"{_numbers(found)} use {found[0].link_width} of {found[0].link_most} lanes of PCIe"
    why = "copies between host and device take as many times longer"
    return [Advice("warning", what, why, "see whether the board sits right, and how the slot divides its lanes")]


@check("gpu-in-use", f"more than {_USED_MIB} MiB of a GPU are in use", _SMI)
def gpu_in_use(facts: Facts) -> Verdict:
    """Other jobs."""
    found, verdict = _affected(facts, lambda one: one.used_mib is not None, lambda one: (one.used_mib or 0) > _USED_MIB)
    if found is None:
        return verdict
    most = max(gpu.used_mib or 0 for gpu in found)
    why = "another job takes memory and time of the device, or one that died has left a process"
    change = "see who it is (nvidia-smi), or choose other GPUs with CUDA_VISIBLE_DEVICES"
    return [Advice("warning", f"up to {most:,} MiB of {_numbers(found)} are in use", why, change)]


@check("gpu-divided", "a GPU is divided into instances (MIG)", _SMI)
def gpu_divided(facts: Facts) -> Verdict:
    """Parts of GPUs."""
    found, verdict = _affected(facts, lambda one: one.divided is not None, lambda one: bool(one.divided))
    if found is None:
        return verdict
    why = "a process sees one instance, and instances exchange data through the host"
    return [Advice("info", f"{_numbers(found)} are divided (MIG)", why, "nvidia-smi -mig 0 for a job of its own")]
