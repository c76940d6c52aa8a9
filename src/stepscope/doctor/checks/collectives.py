"""Settings of NCCL and of the networks that it uses."""

from __future__ import annotations

from typing import Final

from stepscope.doctor.check import Advice, Level, Verdict, check
from stepscope.doctor.facts import Facts
from stepscope.language import said

_NCCL: Final = "[NCCL](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html)"
#: Transports that are turned off, and what collectives use instead.
_OFF: Final = {
    "NCCL_P2P_DISABLE": said("GPUs exchange data through the host's memory instead of NVLink or PCIe"),
    "NCCL_SHM_DISABLE": said(
        "GPUs without a direct path exchange data through the network instead of the host's memory"
    ),
    "NCCL_NVLS_ENABLE": said("NVSwitches do not add up data of collectives"),
    "NCCL_CUMEM_ENABLE": said("buffers of NCCL can't be registered for NVLink"),
}
#: What NCCL otherwise chooses by the size of the collective and the network.
_FORCED: Final = ("NCCL_ALGO", "NCCL_PROTO", "NCCL_NTHREADS", "NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS", "NCCL_BUFFSIZE")
_LOCAL: Final = ("lo", "docker", "virbr")


@check(
    "nccl-transports",
    "a transport is turned off ("
    + ", ".join(f"`{name}`" for name in _OFF)
    + "; `NCCL_IB_DISABLE` with InfiniBand there),"
    " or `NCCL_SOCKET_IFNAME` or `GLOO_SOCKET_IFNAME` names an interface that leads nowhere",
    _NCCL,
)
def nccl_transports(facts: Facts) -> Verdict:
    """Transports that are turned off."""
    found = []
    for name, why in _OFF.items():
        off = "0" if name.endswith("_ENABLE") else "1"
        if facts.environ.get(name) == off:
            level: Level = "info" if off == "0" else "error"
            found.append(
                Advice(level, f"{name}={off}", why, said("unset {name} unless it works around a fault", name=name))
            )
    if facts.environ.get("NCCL_IB_DISABLE") == "1" and facts.infiniband:
        what = said("NCCL_IB_DISABLE=1, and there is {infiniband}", infiniband=", ".join(facts.infiniband))
        found.append(Advice("error", what, "collectives between hosts go through sockets", "unset NCCL_IB_DISABLE"))
    for name in ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"):
        value = facts.environ.get(name, "")
        if value.lstrip("=").startswith(_LOCAL):
            why = said("hosts can't reach each other through it, so that a job of several hosts hangs")
            found.append(Advice("warning", f"{name}={value}", why, "name the interface that leads to the other hosts"))
    return found


@check("nccl-tuning", "one of " + ", ".join(f"`{name}`" for name in _FORCED) + " is set", _NCCL)
def nccl_tuning(facts: Facts) -> Verdict:
    """Choices of NCCL that are made for it."""
    names = [name for name in _FORCED if name in facts.environ]
    if not names:
        return []
    what = ", ".join(f"{name}={facts.environ[name]}" for name in names)
    why = said("NCCL chooses it for each size of collective; what suits one slows another down")
    return [Advice("info", what, why, said("measure without: unset {names}", names=" ".join(names)))]


@check("nccl-debug", "`NCCL_DEBUG` is `INFO` or `TRACE` without `NCCL_DEBUG_FILE`", _NCCL)
def nccl_debug(facts: Facts) -> Verdict:
    """Logs of each rank."""
    value = facts.environ.get("NCCL_DEBUG", "").upper()
    if value not in ("INFO", "TRACE") or "NCCL_DEBUG_FILE" in facts.environ:
        return []
    why = said("each rank prints what it sets up, and with TRACE what each call does")
    level: Level = "warning" if value == "TRACE" else "info"
    return [Advice(level, f"NCCL_DEBUG={value}", why, "NCCL_DEBUG=WARN, or NCCL_DEBUG_FILE for a file per rank")]


@check(
    "gpu-direct-rdma",
    "there are GPUs and InfiniBand, the kernel is older than 5.12, and `nvidia_peermem` is not loaded",
    "[NVIDIA](https://docs.nvidia.com/cuda/gpudirect-rdma/)",
)
def gpu_direct_rdma(facts: Facts) -> Verdict:
    """Networks that write into memory of GPUs."""
    if facts.gpus is None or facts.infiniband is None or facts.modules is None or facts.kernel is None:
        return None
    if not facts.gpus or not facts.infiniband or facts.kernel >= (5, 12):
        return []
    if facts.modules & {"nvidia_peermem", "nv_peer_mem"}:
        return []
    why = said("data of other hosts takes the way through this host's memory")
    return [Advice("warning", "nvidia_peermem is not loaded", why, "modprobe nvidia_peermem on the host")]
