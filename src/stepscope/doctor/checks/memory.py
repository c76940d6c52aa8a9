"""Memory of the host."""

from __future__ import annotations

from typing import Final

from stepscope.doctor.check import Advice, Level, Verdict, check
from stepscope.doctor.facts import UNLIMITED, Facts
from stepscope.language import said

_CGROUP: Final = "[Linux](https://docs.kernel.org/admin-guide/cgroup-v2.html)"
_MIB: Final = 1 << 20
_GIB: Final = 1 << 30
#: What containers get if nobody asks for more.
_DEFAULT_SHM: Final = 64 * _MIB
#: Batches of images that several workers hold in advance, and NCCL's own buffers.
_ENOUGH_SHM: Final = 2 * _GIB
#: Share of a limit from which on a loader's workers may exceed it.
_NEARLY: Final = 0.9
_SWAPPED: Final = _GIB


@check(
    "shared-memory",
    "/dev/shm holds less than 2 GiB",
    "[PyTorch](https://github.com/pytorch/pytorch#using-pre-built-images),"
    " [NCCL](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html)",
)
def shared_memory(facts: Facts) -> Verdict:
    """Batches of a loader's workers."""
    if facts.shared is None:
        return None
    if facts.shared >= _ENOUGH_SHM:
        return []
    why = said(
        "workers of a data loader hand on batches there, and NCCL uses it between ranks; both fail when it is full"
    )
    level: Level = "error" if facts.shared <= _DEFAULT_SHM else "warning"
    change = said("start the container with --shm-size=16g or --ipc=host")
    return [Advice(level, said("/dev/shm holds {shared:,} MiB", shared=facts.shared // _MIB), why, change)]


@check("memory-limit", f"more than {100 * _NEARLY:.0f} % of the control group's memory are in use", _CGROUP)
def memory_limit(facts: Facts) -> Verdict:
    """Limits that are nearly reached."""
    if facts.memory_limit is None or facts.memory_used is None:
        return None
    if facts.memory_limit == UNLIMITED or facts.memory_used <= _NEARLY * facts.memory_limit:
        return []
    what = said(
        "{memory_used:.1f} of {memory_limit:.1f} GiB of this container are in use",
        memory_used=facts.memory_used / _GIB,
        memory_limit=facts.memory_limit / _GIB,
    )
    why = said("files that were read are thrown out of memory, and processes are killed beyond the limit")
    return [Advice("warning", what, why, "raise the limit, or use fewer workers and a smaller prefetch_factor")]


@check("memory-killed", "processes of the control group were killed for want of memory", _CGROUP)
def memory_killed(facts: Facts) -> Verdict:
    """Processes that were killed."""
    if facts.killed is None:
        return None
    if not facts.killed:
        return []
    what = said(
        "{killed} process{en_eswere} killed for want of memory",
        killed=facts.killed,
        en_eswere="es were" if facts.killed > 1 else " was",
    )
    why = said("a job may lose a worker or a rank without a message of its own")
    return [Advice("warning", what, why, "raise the limit of memory, or use fewer workers")]


@check("swap", "more than 1 GiB is in swap", _CGROUP)
def swap(facts: Facts) -> Verdict:
    """Memory on a disk."""
    if facts.swapped is None:
        return None
    if facts.swapped <= _SWAPPED:
        return []
    what = said("{swapped:.1f} GiB are in swap", swapped=facts.swapped / _GIB)
    return [
        Advice("warning", what, "what is needed again comes from a disk", "end what else runs, or ask for more memory")
    ]


@check(
    "huge-pages",
    "transparent huge pages are off",
    "[Linux](https://docs.kernel.org/admin-guide/mm/transhuge.html)",
)
def huge_pages(facts: Facts) -> Verdict:
    """Pages of 4 KiB."""
    if facts.huge_pages is None:
        return None
    if facts.huge_pages != "never":
        return []
    why = said("large tensors of the host take many small pages, so that pinning and reading them takes longer")
    change = said("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled on the host, and THP_MEM_ALLOC_ENABLE=1")
    return [Advice("info", "transparent huge pages are off", why, change)]
