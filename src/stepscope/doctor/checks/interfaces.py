"""Network interfaces and addresses that variables name, and libraries that are loaded before all others."""

from __future__ import annotations

import ipaddress
from typing import Final

from stepscope.doctor.check import Advice, Verdict, check
from stepscope.doctor.facts import Facts
from stepscope.language import said

#: Variables that name interfaces by how they begin; `=` names whole ones, `^` those that are left out.
_BY_PREFIX: Final = ("NCCL_SOCKET_IFNAME", "HCCL_SOCKET_IFNAME")
#: Adapters where `NCCL_NET` is `IB`, and interfaces where it is `Socket`.
_OF_EITHER: Final = "NCCL_OOB_NET_IFNAME"
#: Variables that list whole names, all of which have to be there.
_BY_NAME: Final = ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")
_DEVICES: Final = "NCCL_IB_HCA"
_ADDRESS: Final = "HCCL_IF_IP"
_SOURCES: Final = (
    "[NCCL](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html),"
    " [HCCL](https://www.hiascend.com/document/detail/zh/CANNCommunityEdition/83RC1/maintenref/envvar/envref_07_0075.html),"
    " [PyTorch](https://docs.pytorch.org/docs/stable/distributed.html#choosing-the-network-interface-to-use)"
)


@check(
    "interfaces-missing",
    ", ".join(f"`{name}`" for name in (*_BY_PREFIX, _OF_EITHER, *_BY_NAME))
    + f" or `{_DEVICES}` names network interfaces or adapters that this machine does not have or leaves none over, or"
    f" `{_ADDRESS}` an address that is none of its own",
    _SOURCES,
)
def interfaces_missing(facts: Facts) -> Verdict:
    """Names and addresses that are not there."""
    named = [name for name in (*_BY_PREFIX, _OF_EITHER, *_BY_NAME, _DEVICES, _ADDRESS) if facts.environ.get(name)]
    if facts.interfaces is None:
        return None if named else []
    found = []
    for name in named:
        value = facts.environ[name]
        if name == _ADDRESS:
            found += _address(value, facts)
        elif name == _DEVICES:
            if facts.infiniband is not None and not _chosen(value, facts.infiniband):
                found.append(_advice(name, value, facts.infiniband))
        elif name == _OF_EITHER:
            if facts.infiniband is not None and not _chosen(value, (*facts.interfaces, *facts.infiniband)):
                found.append(_advice(name, value, (*facts.interfaces, *facts.infiniband)))
        elif name in _BY_PREFIX:
            if not _chosen(value, facts.interfaces):
                found.append(_advice(name, value, facts.interfaces))
        elif any(part not in facts.interfaces for part in _parts(value)):
            found.append(_advice(name, value, facts.interfaces))
    return found


def _parts(value: str) -> list[str]:
    return [part.strip() for part in value.split(",") if part.strip()]


def _chosen(value: str, there: tuple[str, ...]) -> bool:
    """Whether something is chosen of what is there; `NAME:PORT` names an adapter's port."""
    without, exact = value.startswith("^"), value.lstrip("^").startswith("=")
    parts = [part.partition(":")[0] for part in _parts(value.lstrip("^="))]
    named = [one for one in there if any(one == part if exact else one.startswith(part) for part in parts)]
    return len(named) < len(there) if without else bool(named)


def _advice(name: str, value: str, there: tuple[str, ...]) -> Advice:
    why = said("collectives find no way to other processes, and the job fails as it starts")
    if name == _DEVICES:
        why = said("NCCL finds no such adapter, and goes through sockets")
    change = (
        said("name some of those that are there: {there}", there=", ".join(there))
        if there
        else said("unset {name}: there are none", name=name)
    )
    return Advice("error", f"{name}={value}", why, change)


def _address(value: str, facts: Facts) -> list[Advice]:
    try:
        given = ipaddress.ip_address(value.partition("%")[0])
    except ValueError:
        return [Advice("error", f"{_ADDRESS}={value}", "it is no IP address", "give the address of an own interface")]
    if facts.addresses is None or str(given) in facts.addresses:
        return []
    own = ", ".join(sorted(facts.addresses))
    why = said("HCCL listens on an address that is none of this machine's, and fails as it starts")
    return [Advice("error", f"{_ADDRESS}={value}", why, said("give one of {own}, for each machine its own", own=own))]


@check(
    "preloaded-libraries",
    "`LD_PRELOAD` names libraries that are not there",
    "[Linux](https://man7.org/linux/man-pages/man8/ld.so.8.html)",
)
def preloaded_libraries(facts: Facts) -> Verdict:
    """Libraries such as an allocator that are to be loaded before all others."""
    if not facts.environ.get("LD_PRELOAD"):
        return []
    if facts.preload_missing is None:
        return None
    why = said("the loader goes on without, and says so on the standard error of every process")
    return [
        Advice(
            "error", said("LD_PRELOAD names {one}, which is not there", one=one), why, "install it, or mend the path"
        )
        for one in facts.preload_missing
    ]
