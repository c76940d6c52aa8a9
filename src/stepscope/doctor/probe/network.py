"""Network interfaces and addresses of a machine on Linux, and libraries that are to be loaded first."""

from __future__ import annotations

import ipaddress
import re
from typing import Any, Final

from stepscope.doctor.machine import Machine

#: Folders that the loader looks into by itself (ld.so(8)).
_FOLDERS: Final = ("/lib", "/usr/lib", "/lib64", "/usr/lib64")
#: What the loader itself knows of more folders; it holds names of libraries as plain text.
_CACHE: Final = "/etc/ld.so.cache"


def facts(machine: Machine) -> dict[str, Any]:
    """Values of `Facts`, by name; without what this machine does not tell."""
    names = machine.names("/sys/class/net")
    return {
        # A file of the bonding driver lies beside the interfaces.
        "interfaces": None if names is None else tuple(name for name in names if name != "bonding_masters"),
        "addresses": _addresses(machine),
        "preload_missing": _preload_missing(machine),
    }


def _addresses(machine: Machine) -> frozenset[str] | None:
    """Addresses of this machine: the local ones of the routing table, and those of version 6."""
    table = machine.text("/proc/net/fib_trie")
    if table is None:
        return None
    found = set(re.findall(r"\|-- ([\d.]+)\s+/32 host LOCAL", table))
    for line in (machine.text("/proc/net/if_inet6") or "").splitlines():
        digits = line.split()[:1]
        if digits and re.fullmatch(r"[0-9a-f]{32}", digits[0]):
            found.add(str(ipaddress.IPv6Address(int(digits[0], 16))))
    return frozenset(found)


def _preload_missing(machine: Machine) -> tuple[str, ...] | None:
    """Entries of `LD_PRELOAD` that the loader will not find; None where there are none at all."""
    entries = [one for one in re.split(r"[:\s]+", machine.environ.get("LD_PRELOAD", "")) if one]
    if not entries:
        return None
    return tuple(one for one in entries if "$" not in one and not _is_there(machine, one))


def _is_there(machine: Machine, entry: str) -> bool:
    if entry.startswith("/"):
        return machine.path(entry).exists()
    if "/" in entry:
        return machine.path(f"{machine.environ.get('PWD', '')}/{entry}").exists()
    folders = [one for one in machine.environ.get("LD_LIBRARY_PATH", "").split(":") if one]
    if any(machine.path(f"{folder}/{entry}").exists() for folder in (*folders, *_FOLDERS)):
        return True
    cache = machine.text(_CACHE)
    # Without that cache, other folders may be the loader's own.
    return cache is None or entry in cache
