"""Where the files lie that the job has open: on which kind of storage, how many different ones, and of which size."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final

from stepscope.record.machine.files import Roots, link, names, text

#: Filesystems whose data lies on other machines, or in memory (mount(8), and what clusters use besides).
_NETWORK: Final = frozenset(("nfs", "nfs4", "cifs", "smb3", "smbfs", "lustre", "ceph", "gpfs", "beegfs", "glusterfs",
                             "9p", "virtiofs", "afs", "wekafs", "pvfs2", "ocfs2", "gfs2", "panfs"))  # fmt: skip
_MEMORY: Final = frozenset(("tmpfs", "ramfs", "devtmpfs", "hugetlbfs"))
#: Files of the system and of the program itself.
_OTHER: Final = re.compile(
    r"^/(dev|proc|sys|run|usr|lib|lib64|etc|bin)/|/site-packages/|\.(so|so\.[\d.]+|py|pyc|log|lock)$| \(deleted\)$"
)
_DESCRIPTORS: Final = 256
#: Standard input and output, which may lead to files.
_STANDARD: Final = frozenset(("0", "1", "2"))
_PATHS: Final = 20_000
#: Names of virtual disks.
_VIRTUAL: Final = ("vd", "xvd")


@dataclass(slots=True)
class _Seen:
    """Files seen open on one filesystem."""

    sightings: int = 0
    paths: set[str] = field(default_factory=set)
    sizes: list[int] = field(default_factory=list)


class Storage:
    """Looks at the files that processes have open.

    Args:
        roots: Where the system's files are.
    """

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self._mounts = _mounts(text(f"{roots.proc}/self/mountinfo"))
        self._seen: dict[str, _Seen] = {}

    def look(self, pids: list[int], mapped: bool) -> None:
        """Count the data files that these processes have open.

        Args:
            pids: The processes.
            mapped: Look at files mapped into memory as well, which takes longer.
        """
        for pid in pids:
            folder = f"{self._roots.proc}/{pid}/fd"
            for name in names(folder)[:_DESCRIPTORS]:
                if name not in _STANDARD:
                    self._add(link(f"{folder}/{name}"))
            if mapped:
                lines = text(f"{self._roots.proc}/{pid}/maps").splitlines()
                for path in {line[line.index("/") :] for line in lines if "/" in line}:
                    self._add(path)

    def read(self) -> dict[str, Any]:
        """By mount point: how often a data file was seen open, how many different ones, and their median size."""
        found = {}
        for mount, seen in self._seen.items():
            sizes = sorted(seen.sizes)
            found[mount] = [seen.sightings, len(seen.paths), sizes[len(sizes) // 2] if sizes else 0]
        return found

    def describe(self, mount: str) -> dict[str, str]:
        """Filesystem, kind of storage and disk of a mount point."""
        filesystem, source, number = self._mounts[mount]
        if filesystem in _NETWORK or (filesystem.startswith("fuse.") and filesystem != "fuse.fuse-overlayfs"):
            return {"mount": mount, "filesystem": filesystem, "kind": "network", "disk": ""}
        if filesystem in _MEMORY:
            return {"mount": mount, "filesystem": filesystem, "kind": "memory", "disk": ""}
        disk = self._disk(number) or self._disk_named(source)
        kind = "unknown"
        # What lies behind a virtual disk its flag does not tell: of these it is set unless somebody unset it.
        if disk and not disk.startswith(_VIRTUAL):
            turning = text(f"{self._roots.sys}/block/{disk}/queue/rotational").strip()
            kind = {"0": "solid state", "1": "rotational"}.get(turning, "unknown")
        return {"mount": mount, "filesystem": filesystem, "kind": kind, "disk": disk}

    def _add(self, path: str) -> None:
        if not path.startswith("/") or _OTHER.search(path):
            return
        mount = self._mount_of(path)
        if mount is None:
            return
        seen = self._seen.setdefault(mount, _Seen())
        seen.sightings += 1
        if path not in seen.paths and len(seen.paths) < _PATHS:
            seen.paths.add(path)
            with contextlib.suppress(OSError):
                seen.sizes.append(os.stat(path).st_size)  # noqa: PTH116 - a Path would cost more than the call

    def _mount_of(self, path: str) -> str | None:
        place = PurePosixPath(path)
        return next((str(one) for one in place.parents if str(one) in self._mounts), None)

    def _disk(self, number: str) -> str:
        """The disk with a partition or volume of this number."""
        target = link(f"{self._roots.sys}/dev/block/{number}")
        return self._whole(PurePosixPath(target).name) if target else ""

    def _disk_named(self, source: str) -> str:
        return self._whole(PurePosixPath(source).name) if source.startswith("/dev/") else ""

    def _whole(self, name: str) -> str:
        """The disk of a partition, and the first one below a volume."""
        below = names(f"{self._roots.sys}/class/block/{name}/slaves")
        if below:
            return self._whole(below[0])
        if name in names(f"{self._roots.sys}/block"):
            return name
        parent = PurePosixPath(link(f"{self._roots.sys}/class/block/{name}")).parent.name
        return parent if parent in names(f"{self._roots.sys}/block") else ""


def _mounts(mountinfo: str) -> dict[str, tuple[str, str, str]]:
    """By mount point: filesystem, source and device number (proc_pid_mountinfo(5))."""
    found = {}
    for line in mountinfo.splitlines():
        first, _, second = line.partition(" - ")
        before, after = first.split(), second.split()
        if len(before) >= 5 and len(after) >= 2:
            mount = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), before[4])
            found[mount] = (after[0], after[1], before[2])
    return found
