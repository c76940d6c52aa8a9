"""What is known of a machine and an environment: plain values, so that checks can be tried on any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

#: A limit that there is not.
UNLIMITED = -1


@dataclass(frozen=True, slots=True)
class Gpu:
    """An NVIDIA GPU; None for what its driver does not tell.

    Attributes:
        index: Its number.
        name: Its name.
        driver: Version of the driver.
        capability: Compute capability, as (9, 0).
        persistent: Whether the driver stays loaded while nobody uses the GPU.
        power_limit_w: Power that it may take.
        power_default_w: Power that it may take by default.
        link_width: Lanes of PCIe in use.
        link_most: Lanes of PCIe that it has.
        slowed: Why its clocks are low at the moment: heat, power supply or hardware; empty if they are not.
        clock_mhz: Clock that is set for jobs.
        clock_default_mhz: The same by default.
        used_mib: Memory in use now.
        divided: Whether it is divided into instances (MIG).
    """

    index: int
    name: str = "GPU"
    driver: tuple[int, ...] | None = None
    capability: tuple[int, int] | None = None
    persistent: bool | None = None
    power_limit_w: float | None = None
    power_default_w: float | None = None
    link_width: int | None = None
    link_most: int | None = None
    slowed: tuple[str, ...] | None = None
    clock_mhz: int | None = None
    clock_default_mhz: int | None = None
    used_mib: int | None = None
    divided: bool | None = None


@dataclass(frozen=True, slots=True)
class UsedPlace:
    """A folder or file that the program uses.

    Attributes:
        use: What for: `data`, `cache`, `compiled` kernels, or `output`.
        path: Where.
        file_system: Type of the file system, as `nfs4`.
        rotating: Whether it lies on a disk that rotates; None if unknown, as on a network.
        free: Free bytes; None if unknown.
    """

    use: str
    path: str
    file_system: str | None = None
    rotating: bool | None = None
    free: int | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """A machine, an environment and a program; None for what is unknown.

    Attributes:
        environ: Environment variables.
        program: The program and its arguments; empty if none is given.
        cpus: CPUs that are online.
        allowed: CPUs that this process may run on.
        nodes: CPUs of each NUMA node.
        device_nodes: NUMA node of each accelerator, by PCI address; -1 where the machine does not tell.
        cpu_quota: CPUs' worth of time that the control group gets; infinite without a limit.
        throttled: Share of scheduling periods in which the control group had used up its time.
        governors: How the clocks of CPUs are chosen, of all CPUs.
        numa_balancing: Whether the kernel moves pages to the node that uses them.
        huge_pages: Transparent huge pages: `always`, `madvise` or `never`.
        memory: Bytes of memory.
        memory_limit: Bytes that the control group may use; UNLIMITED without a limit.
        memory_used: Bytes that the control group uses.
        killed: Processes of the control group that were killed for want of memory.
        swapped: Bytes in swap.
        shared: Bytes that /dev/shm can hold.
        limits: Limits of this process by name as in /proc/self/limits; UNLIMITED for none.
        places: Where data, caches and outputs lie.
        gpus: NVIDIA GPUs.
        amd_gpus: PCI addresses of AMD's accelerators.
        amd_open: Whether this process may use them (`/dev/kfd`).
        iommu: Kind of IOMMU group of each accelerator, by PCI address: `DMA`, `DMA-FQ` or `identity`, as Linux says.
        npus: Number of Ascend NPUs.
        npu_driver: Version of the NPUs' driver.
        npu_health: What the driver says of each NPU's health, by number.
        npu_processes: Processes that use NPUs now.
        cann_missing: Variables that name a folder of CANN which is not there.
        infiniband: Names of InfiniBand and RoCE devices.
        interfaces: Names of network interfaces.
        addresses: IP addresses of this machine.
        preload_missing: Libraries that `LD_PRELOAD` names and that are not there.
        kernel: Version of Linux.
        modules: Loaded modules of the kernel.
        packages: Versions of Python packages of the program's Python.
        torch_cuda: CUDA version that PyTorch was built with; (0, 0) for a build without CUDA.
        torch_hip: ROCm version that PyTorch was built with; (0, 0) for a build without ROCm.
    """

    environ: Mapping[str, str] = field(default_factory=dict)
    program: tuple[str, ...] = ()
    cpus: int | None = None
    allowed: frozenset[int] | None = None
    nodes: Mapping[int, frozenset[int]] | None = None
    device_nodes: Mapping[str, int] | None = None
    cpu_quota: float | None = None
    throttled: float | None = None
    governors: frozenset[str] | None = None
    numa_balancing: bool | None = None
    huge_pages: str | None = None
    memory: int | None = None
    memory_limit: int | None = None
    memory_used: int | None = None
    killed: int | None = None
    swapped: int | None = None
    shared: int | None = None
    limits: Mapping[str, int] | None = None
    places: tuple[UsedPlace, ...] | None = None
    gpus: tuple[Gpu, ...] | None = None
    amd_gpus: tuple[str, ...] | None = None
    amd_open: bool | None = None
    iommu: Mapping[str, str] | None = None
    npus: int | None = None
    npu_driver: tuple[int, ...] | None = None
    npu_health: Mapping[int, str] | None = None
    npu_processes: int | None = None
    cann_missing: tuple[str, ...] = ()
    infiniband: tuple[str, ...] | None = None
    interfaces: tuple[str, ...] | None = None
    addresses: frozenset[str] | None = None
    preload_missing: tuple[str, ...] | None = None
    kernel: tuple[int, ...] | None = None
    modules: frozenset[str] | None = None
    packages: Mapping[str, str] | None = None
    torch_cuda: tuple[int, ...] | None = None
    torch_hip: tuple[int, ...] | None = None
