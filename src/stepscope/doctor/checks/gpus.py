"""State of NVIDIA GPUs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from stepscope.doctor.check import Advice, Verdict, check
from stepscope.doctor.facts import Facts, Gpu
from stepscope.language import said

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
    numbers = ", ".join(str(gpu.index) for gpu in gpus)
    return said("GPU{en_s} {numbers}", en_s="s" if len(gpus) > 1 else "", numbers=numbers)


@check("gpu-persistence", "the driver is unloaded while nobody uses a GPU", _SMI)
def gpu_persistence(facts: Facts) -> Verdict:
    """Start-up of each job."""
    found, verdict = _affected(facts, lambda one: one.persistent is not None, lambda one: not one.persistent)
    if found is None:
        return verdict
    why = said("each start loads the driver anew, which takes seconds, and settings of clocks and power are lost")
    what = said("persistence mode is off on {found}", found=_numbers(found))
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
    what = said(
        "{found} may take {power_limit_w:.0f} W of {power_default_w:.0f} W",
        found=_numbers(found),
        power_limit_w=first.power_limit_w,
        power_default_w=first.power_default_w,
    )
    why = said("large matrix multiplications run at lower clocks than the GPU has")
    return [
        Advice(
            "warning",
            what,
            why,
            said("nvidia-smi -pl {power_default_w:.0f}, if that is not meant", power_default_w=first.power_default_w),
        )
    ]


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
    what = said(
        "{found} run at {clock_mhz} MHz, and at {clock_default_mhz} MHz by default",
        found=_numbers(found),
        clock_mhz=found[0].clock_mhz,
        clock_default_mhz=found[0].clock_default_mhz,
    )
    return [Advice("info", what, "kernels that compute take longer", "nvidia-smi -rac, if that is not meant")]


@check("gpu-slowed", "clocks are low now because of heat, power supply or hardware", _SMI)
def gpu_slowed(facts: Facts) -> Verdict:
    """Clocks that the GPU lowers itself."""
    found, verdict = _affected(facts, lambda one: one.slowed is not None, lambda one: bool(one.slowed))
    if found is None:
        return verdict
    reasons = sorted({reason for gpu in found for reason in gpu.slowed or ()})
    why = said("kernels take longer, and in a job of several GPUs all wait for the slowest")
    change = said("see to cooling and power supply of the host")
    return [
        Advice(
            "warning",
            said("clocks of {found} are lowered by {reasons}", found=_numbers(found), reasons=", ".join(reasons)),
            why,
            change,
        )
    ]


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
    what = said(
        "{found} use {link_width} of {link_most} lanes of PCIe",
        found=_numbers(found),
        link_width=found[0].link_width,
        link_most=found[0].link_most,
    )
    why = said("copies between host and device take as many times longer")
    return [Advice("warning", what, why, "see whether the board sits right, and how the slot divides its lanes")]


@check("gpu-in-use", f"more than {_USED_MIB} MiB of a GPU are in use", _SMI)
def gpu_in_use(facts: Facts) -> Verdict:
    """Other jobs."""
    found, verdict = _affected(facts, lambda one: one.used_mib is not None, lambda one: (one.used_mib or 0) > _USED_MIB)
    if found is None:
        return verdict
    most = max(gpu.used_mib or 0 for gpu in found)
    why = said("another job takes memory and time of the device, or one that died has left a process")
    change = said("see who it is (nvidia-smi), or choose other GPUs with CUDA_VISIBLE_DEVICES")
    return [
        Advice(
            "warning", said("up to {most:,} MiB of {found} are in use", most=most, found=_numbers(found)), why, change
        )
    ]


@check("gpu-divided", "a GPU is divided into instances (MIG)", _SMI)
def gpu_divided(facts: Facts) -> Verdict:
    """Parts of GPUs."""
    found, verdict = _affected(facts, lambda one: one.divided is not None, lambda one: bool(one.divided))
    if found is None:
        return verdict
    why = said("a process sees one instance, and instances exchange data through the host")
    return [
        Advice(
            "info",
            said("{found} are divided (MIG)", found=_numbers(found)),
            why,
            "nvidia-smi -mig 0 for a job of its own",
        )
    ]
