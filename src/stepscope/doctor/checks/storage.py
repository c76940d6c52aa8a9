"""Storage of data, caches and outputs."""

from __future__ import annotations

from typing import Final

from stepscope.doctor.check import Advice, Verdict, check
from stepscope.doctor.facts import Facts, UsedPlace
from stepscope.language import said

_MANUAL: Final = "[PyTorch](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html), data loading"
#: File systems of other hosts.
_SHARED: Final = (
    "nfs", "cifs", "smb", "fuse", "lustre", "beegfs", "ceph", "gpfs", "9p", "virtiofs", "afs", "glusterfs", "wekafs",
    "dpc", "pvfs", "orangefs",
)  # fmt: skip
_GIB: Final = 1 << 30
_LEAST: Final = 20 * _GIB


def is_shared(place: UsedPlace) -> bool:
    """Whether a place lies on another host."""
    return (place.file_system or "").startswith(_SHARED)


@check("data-shared", "data lies on a file system of other hosts (NFS, Lustre, FUSE, ...)", _MANUAL)
def data_shared(facts: Facts) -> Verdict:
    """Data that comes over a network."""
    found = _places(facts, "data")
    if found is None:
        return None
    why = said("each file takes a round trip over the network; many small files, read at random, keep devices waiting")
    change = said("copy it to a local NVMe disk before the job, or pack it into large files that are read in order")
    return [
        Advice("info", said("{path} is on {file_system}", path=one.path, file_system=one.file_system), why, change)
        for one in found
        if is_shared(one)
    ]


@check("data-rotating", "data lies on a disk that rotates", _MANUAL)
def data_rotating(facts: Facts) -> Verdict:
    """Disks that seek."""
    found = _places(facts, "data")
    if found is None or all(one.rotating is None and not is_shared(one) for one in found):
        return None
    why = said("each file takes a seek of about 10 ms, so that no more than about 100 are read per second")
    change = said("copy it to an NVMe disk, or pack it into large files that are read in order")
    return [
        Advice("warning", said("{path} is on a rotating disk", path=one.path), why, change)
        for one in found
        if one.rotating
    ]


@check(
    "cache-shared",
    "caches of compiled kernels (`TRITON_CACHE_DIR`, `TORCHINDUCTOR_CACHE_DIR`, `CUDA_CACHE_PATH`, home) lie on a file"
    " system of other hosts",
    "[PyTorch](https://docs.pytorch.org/tutorials/recipes/torch_compile_caching_configuration_tutorial.html)",
)
def cache_shared(facts: Facts) -> Verdict:
    """Caches that all ranks write."""
    found = _places(facts, "compiled")
    if found is None:
        return None
    why = said("all ranks of all hosts lock and read thousands of small files there when they start")
    change = said("point TRITON_CACHE_DIR and TORCHINDUCTOR_CACHE_DIR to a local disk")
    return [
        Advice("warning", said("{path} is on {file_system}", path=one.path, file_system=one.file_system), why, change)
        for one in found
        if is_shared(one)
    ][:1]


@check("disk-space", "less than 20 GiB are free where the program writes or caches", "checkpoints and recordings")
def disk_space(facts: Facts) -> Verdict:
    """Disks that are nearly full."""
    if facts.places is None:
        return None
    found = [one for one in facts.places if one.use != "data" and one.free is not None]
    if not found:
        return None
    full = {one.free: one for one in found if (one.free or 0) < _LEAST}
    why = said("checkpoints, caches and recordings end in the middle")
    return [
        Advice(
            "warning",
            said("{free:.1f} GiB are free at {path}", free=(one.free or 0) / _GIB, path=one.path),
            why,
            "free some, or write elsewhere",
        )
        for one in full.values()
    ]


def _places(facts: Facts, use: str) -> list[UsedPlace] | None:
    """The places of a use whose file system is known."""
    found = [one for one in facts.places or () if one.use == use and one.file_system]
    return found or None
