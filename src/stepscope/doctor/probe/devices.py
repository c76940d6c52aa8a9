"""GPUs, as nvidia-smi tells, NPUs, and the NUMA nodes of both."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any, Final

from stepscope.doctor.facts import Gpu
from stepscope.doctor.machine import Machine, version, whole

_PCI: Final = "/sys/bus/pci/devices"
#: Vendors with the classes of PCI devices that are accelerators: 3D controllers and displays, processing accelerators.
_ACCELERATORS: Final = {"0x10de": ("0x0302", "0x0300"), "0x1002": ("0x0380", "0x1200"), "0x19e5": ("0x1200",)}
#: Why clocks are low, as bits: idleness, what the user set and the power limit of a busy GPU are none of these.
_SLOWED: Final = {0x8: "hardware", 0x20: "heat", 0x40: "heat", 0x80: "power supply"}

#: Fields of nvidia-smi, asked for in groups, since it refuses a group in which it does not know one.
_FIELDS: Final[tuple[tuple[tuple[str, str, Callable[[str], Any]], ...], ...]] = (
    (
        ("name", "name", str),
        ("driver", "driver_version", version),
        ("persistent", "persistence_mode", lambda text: {"Enabled": True, "Disabled": False}.get(text)),
        ("used_mib", "memory.used", whole),
    ),
    (("capability", "compute_cap", version),),
    (
        ("power_limit_w", "power.limit", lambda text: _decimal(text)),
        ("power_default_w", "power.default_limit", lambda text: _decimal(text)),
    ),
    (("link_width", "pcie.link.width.current", whole), ("link_most", "pcie.link.width.max", whole)),
    (
        ("clock_mhz", "clocks.applications.graphics", whole),
        ("clock_default_mhz", "clocks.default_applications.graphics", whole),
    ),
    (("slowed", "clocks_throttle_reasons.active", lambda text: _slowed(text)),),
    (("divided", "mig.mode.current", lambda text: {"Enabled": True, "Disabled": False}.get(text)),),
)


def facts(machine: Machine) -> dict[str, Any]:
    """Values of `Facts`, by name; without what this machine does not tell."""
    present = machine.names("/dev")
    npus = [one for one in present or () if one.startswith("davinci") and one.removeprefix("davinci").isdecimal()]
    return {
        "gpus": _gpus(machine),
        "npus": None if present is None else len(npus),
        "device_nodes": device_nodes(machine),
    }


def device_nodes(machine: Machine) -> dict[str, int] | None:
    """NUMA node of each accelerator, by PCI address; None where there are no PCI devices to look at."""
    addresses = machine.names(_PCI)
    if addresses is None:
        return None
    found = {}
    for address in addresses:
        classes = _ACCELERATORS.get(machine.text(f"{_PCI}/{address}/vendor") or "", ())
        if classes and (machine.text(f"{_PCI}/{address}/class") or "").startswith(classes):
            node = machine.number(f"{_PCI}/{address}/numa_node")
            found[address] = -1 if node is None else node
    return found


def _gpus(machine: Machine) -> tuple[Gpu, ...] | None:
    """The GPUs; none where there is neither nvidia-smi nor a device of NVIDIA's, None where only one of both is."""
    values: dict[int, dict[str, Any]] = {}
    # All at once where nvidia-smi knows all, since each call may have to load the driver first.
    for group in (tuple(chain.from_iterable(_FIELDS)), *_FIELDS):
        query = ",".join(["index", *(field for _, field, _ in group)])
        text = machine.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits"])
        for line in (text or "").splitlines():
            index, *given = [one.strip() for one in line.split(", ")]
            number = whole(index)
            if number is not None and len(given) == len(group):
                told = {name: read(one) for (name, _, read), one in zip(group, given, strict=True)}
                values.setdefault(number, {}).update(told)
        if values and len(group) > max(map(len, _FIELDS)):
            break
    if values:
        return tuple(Gpu(index, **one) for index, one in sorted(values.items()))
    driver = machine.text("/proc/driver/nvidia/version")
    return () if driver is None and machine.names("/proc") is not None else None


def _decimal(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _slowed(text: str) -> tuple[str, ...] | None:
    try:
        bits = int(text, 16)
    except ValueError:
        return None
    return tuple(sorted({reason for bit, reason in _SLOWED.items() if bits & bit}))
