"""NUMA nodes of CPUs and devices."""

from __future__ import annotations

from typing import Final

from stepscope.doctor.check import Advice, Verdict, check
from stepscope.doctor.checks.threads import ranks_here
from stepscope.doctor.facts import Facts
from stepscope.language import said

_TUNING: Final = "[PyTorch](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html)"


@check("numa-binding", "there are devices and several NUMA nodes, and processes are bound to none", _TUNING)
def numa_binding(facts: Facts) -> Verdict:
    """Ranks that move between nodes."""
    if facts.nodes is None or facts.allowed is None or facts.device_nodes is None:
        return None
    if len(facts.nodes) < 2 or not facts.device_nodes:
        return []
    if any(facts.allowed <= cpus for cpus in facts.nodes.values()):
        return []
    near = sorted({node for node in facts.device_nodes.values() if node >= 0})
    what: str = said("{count} NUMA nodes, and this shell may use several of them", count=len(facts.nodes))
    if near:
        what = said("{nodes}; devices are at node {near}", nodes=what, near=", ".join(map(str, near)))
    why = said(
        "pinned memory and threads may lie at another node than the device, which makes copies and launches slower"
    )
    change = (
        said("numactl --cpunodebind=N --membind=N for each rank")
        if ranks_here(facts) > 1
        else said("numactl --cpunodebind=N")
    )
    return [Advice("info", what, why, said("{change}, N being the node of its device", change=change))]


@check("numa-far", "all CPUs that a job may use are at another NUMA node than all devices", _TUNING)
def numa_far(facts: Facts) -> Verdict:
    """Bound to the wrong node."""
    if facts.nodes is None or facts.allowed is None or facts.device_nodes is None:
        return None
    near = {node for node in facts.device_nodes.values() if node >= 0}
    ours = {node for node, cpus in facts.nodes.items() if cpus & facts.allowed}
    if not near or not ours or ours & near:
        return []
    what = said(
        "CPUs of node {ours}, devices at node {near}",
        ours=", ".join(map(str, sorted(ours))),
        near=", ".join(map(str, sorted(near))),
    )
    why = said("each launch and each copy crosses the link between processors")
    return [Advice("warning", what, why, said("numactl --cpunodebind={near} --membind={near}", near=min(near)))]


@check("numa-unknown", "the machine has several NUMA nodes and does not tell at which the devices are", _TUNING)
def numa_unknown(facts: Facts) -> Verdict:
    """Virtual machines that hide their layout."""
    if facts.nodes is None or facts.device_nodes is None:
        return None
    if len(facts.nodes) < 2 or not facts.device_nodes or any(node >= 0 for node in facts.device_nodes.values()):
        return []
    why = said("NCCL and HCCL then choose paths and CPUs without knowing which are near")
    change = said("give NCCL_TOPO_FILE of the provider of the virtual machine")
    return [Advice("info", "devices tell no NUMA node", why, change)]


@check(
    "numa-balancing",
    "the kernel moves pages between NUMA nodes (`/proc/sys/kernel/numa_balancing`), and there are devices",
    "[AMD](https://rocm.docs.amd.com/en/latest/how-to/system-optimization/mi300x.html)",
)
def numa_balancing(facts: Facts) -> Verdict:
    """Pages that move."""
    if facts.nodes is None or facts.numa_balancing is None or facts.device_nodes is None:
        return None
    if len(facts.nodes) < 2 or not facts.numa_balancing or not facts.device_nodes:
        return []
    why = said("it makes pages fault to see who uses them, which stalls threads that launch kernels")
    return [
        Advice("info", "NUMA balancing is on", why, "sysctl kernel.numa_balancing=0 where ranks are bound to nodes")
    ]
