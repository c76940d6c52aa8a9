"""How busy the units of the device and its memory are while kernels run, by samples or by counters of kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from stepscope.model.errors import MissingInputError
from stepscope.model.events.steps import Steps
from stepscope.signals.shared.job import device
from stepscope.signals.signal import Signals, signal

#: Bytes that kernels read and wrote of the main memory, by the counters of an NPU's cores.
_MEMORY_SQL: Final = """
SELECT count(DISTINCT m.event) AS number, sum(m.value * k.dur) / 1e9 AS bytes,
    (SELECT sum(dur) FROM kernels WHERE event IN (SELECT event FROM kernel_metrics WHERE metric LIKE '%main_mem%'))
        AS ns
FROM kernel_metrics m JOIN kernels k USING (event)
WHERE m.metric LIKE '%main\\_mem\\_read\\_bw%' ESCAPE '\\' OR m.metric LIKE '%main\\_mem\\_write\\_bw%' ESCAPE '\\'
"""


@dataclass(frozen=True, slots=True)
class UnitUse:
    """Means while the device computes, as shares of what a unit can do.

    Attributes:
        samples: How many samples, or kernels with counters, they are means of.
        sampled: Whether they are of samples; else of counters of kernels.
        shares: By measure: SMs, issue, tensor cores, memory.
    """

    samples: int
    sampled: bool
    shares: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class LinkUse:
    """Means of a link while it has something to carry.

    Attributes:
        link: pcie or nvlink.
        direction: receive or transmit.
        share: Of what it can carry.
    """

    link: str
    direction: str
    share: float


@signal()
def unit_use(s: Signals) -> UnitUse:
    """How busy units and memory of the device that computes most are while it computes."""
    try:
        table = s.table("device_samples").records()
    except MissingInputError:
        number, share = s(counted_memory)
        return UnitUse(number, False, {"memory": share})
    mine = [row for row in table if row["computing_mean"] is not None]
    if not mine:
        raise MissingInputError("no sample lies within a kernel", hint="sample more often (nsys: 10000 per second)")
    most = max(mine, key=lambda row: (row["computing_samples"], -(row["device"] or 0)))
    shares: dict[str, float] = {}
    for row in mine:
        if row["device"] == most["device"]:
            # What is read of memory and what is written add up.
            name = row["measures"].removesuffix(" read").removesuffix(" write")
            shares[name] = min(shares.get(name, 0.0) + row["computing_mean"], 1.0)
    return UnitUse(most["computing_samples"], True, shares)


@signal()
def counted_memory(s: Signals) -> tuple[int, float]:
    """Kernels whose traffic with the main memory was counted, and that as a share of the memory's bandwidth."""
    [row] = s.trace.rows(_MEMORY_SQL)
    known = s.maybe(device)
    if not row["number"] or not row["ns"]:
        raise MissingInputError.of("device_counters")
    if known is None or not known.memory_bandwidth:
        raise MissingInputError("the bandwidth of the device's memory is not known", hint="state it with --device")
    return row["number"], row["bytes"] * 1e9 / row["ns"] / known.memory_bandwidth


@signal()
def link_use(s: Signals) -> tuple[LinkUse, ...]:
    """How much of each link is used: PCIe while data are copied, NVLink while ranks communicate."""
    found, every = [], s.table("device_samples").records()
    for link, column in (("pcie", "copying_mean"), ("nvlink", "communicating_mean")):
        mine = [row for row in every if row["measures"].startswith(link) and row[column] is not None]
        for direction in ("receive", "transmit"):
            shares: dict[int | None, float] = {}
            for row in mine:
                if row["measures"].endswith(direction):
                    shares[row["device"]] = shares.get(row["device"], 0.0) + row[column]
            if shares:
                found.append(LinkUse(link, direction, min(max(shares.values()), 1.0)))
    if not found:
        raise MissingInputError("no sample lies within a copy or a collective", hint="sample more often")
    return tuple(found)


@signal()
def exposed_transfers(s: Signals) -> Mapping[str, int]:
    """Time per typical step in which the device only copies (pcie), or only communicates (nvlink), ns."""
    typical = set(Steps.of(s.trace).typical_steps.tolist())
    rows = [row for row in s.table("step_budget").records() if row["step"] in typical]
    number = max(len(rows), 1)
    names = {"pcie": "exposed_copy_ns", "nvlink": "exposed_comm_ns"}
    return {link: sum(row[column] for row in rows) // number for link, column in names.items()}
