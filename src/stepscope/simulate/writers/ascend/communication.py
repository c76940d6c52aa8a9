"""``communication.json`` and ``communication_matrix.json``: what CANN computes from the parts of each collective."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from stepscope.simulate.writers.ascend.collectives import CollectiveTask, collective_name, group_number, parts
from stepscope.simulate.writers.ascend.device import DeviceTask
from stepscope.simulate.writers.ascend.output import Output
from stepscope.simulate.writers.ascend.place import RankPlace

#: The plane whose tasks give a collective's wait and transfer times.
_MASTER: Final = 1
_LINKS: Final = ("RDMA", "HCCS", "PCIE", "SDMA", "SIO")
#: Transfers above this many bytes count as large packets, by link.
_LARGE: Final = {"HCCS": 32_000_000, "RDMA": 500_000}
_TYPES: Final = {"hcom_allReduce_": "allreduce", "hcom_allGather_": "allgather", "hcom_reduceScatter_": "reduce"}

Entry = dict[str, Any]


#: Takes a step's label, its operations and its matrix of links.
Sink = Callable[[str, dict[str, Entry], dict[str, dict[str, Entry]]], None]


class Communication:
    """What collectives did, a step at a time; each goes to ``sink`` as a whole."""

    def __init__(self, place: RankPlace, sink: Sink) -> None:
        self._place, self._sink = place, sink
        self._step: str | None = None
        self._times: dict[str, Entry] = {}
        self._links: dict[tuple[str, str], list[Entry]] = defaultdict(list)

    def add(self, work: DeviceTask, step: str) -> None:
        """Take a collective, in order of start; ``step`` is empty outside of steps, where none is listed."""
        if not step and self._place.job.mark_steps:
            return
        if step != self._step:
            self.finish()
            self._step = step
        found = parts(self._place.job, self._place.rank, work)
        name = f"{collective_name(work)}@{group_number()}"
        self._times[name] = {
            "Communication Time Info": _time_info(self._place, work, found),
            "Communication Bandwidth Info": _bandwidth_info(found),
        }
        for link, entry in _link_infos(found).items():
            self._links[_TYPES[work.spec.name], link].append({**entry, "Op Name": collective_name(work)})

    def finish(self) -> None:
        """Hand on what is left."""
        if self._times:
            self._sink(f"step{self._step}", self._times, _matrix(self._links))
        self._times, self._links = {}, defaultdict(list)


class CommunicationFiles:
    """Both files."""

    def __init__(self, output: Output) -> None:
        self._files = [output.open(f"{name}.json") for name in ("communication", "communication_matrix")]
        self._separator = "{"

    def write(self, step: str, operations: dict[str, Entry], matrix: dict[str, dict[str, Entry]]) -> None:
        """Append a step."""
        total = {"Total Op Info": _total(list(operations.values()))}
        for file, collective in zip(self._files, ({**operations, **total}, matrix), strict=True):
            file.write(f"{self._separator}{json.dumps(step)}: {json.dumps({'p2p': {}, 'collective': collective})}")
        self._separator = ", "

    def finish(self) -> None:
        """End both; there are no files without collectives."""
        for file in self._files:
            file.write("}")
            if self._separator == "{":
                Path(file.name).unlink()


def _ratio(part: float, other: float) -> float:
    return round(part / (part + other), 4) if part + other else 0.0


def _moves(part: CollectiveTask) -> bool:
    return part.bytes > 0 and part.link != "ON_CHIP"


def _time_info(place: RankPlace, work: DeviceTask, found: list[CollectiveTask]) -> Entry:
    """Times on the master plane; to synchronise is to wait before anything was transferred."""
    master = [part for part in found if part.plane == _MASTER]
    moves = [part for part in master if _moves(part)]
    waits = [part for part in master if part.name == "Notify_Wait"]
    first = moves[0].start if moves else work.end
    transit, wait = (sum(part.end - part.start for part in listed) for listed in (moves, waits))
    early = sum(part.end - part.start for part in waits if part.start < first)
    elapse = work.end - work.start
    return {
        "Start Timestamp(us)": (work.start + place.shift) / 1000,
        "Elapse Time(ms)": elapse / 1e6,
        "Transit Time(ms)": transit / 1e6,
        "Wait Time(ms)": wait / 1e6,
        "Synchronization Time(ms)": early / 1e6,
        "Idle Time(ms)": (elapse - transit - wait) / 1e6,
        "Wait Time Ratio": _ratio(wait, transit),
        "Synchronization Time Ratio": _ratio(early, transit),
    }


def _bandwidth_info(found: list[CollectiveTask]) -> dict[str, Entry]:
    """Sizes and times on all planes, by link; ``SDMA`` is what stays within the machine."""
    sums = {link: _empty() for link in _LINKS}
    large = dict.fromkeys(_LINKS, 0)
    for part in found:
        if not _moves(part):
            continue
        link = "RDMA" if part.transport == "RDMA" else part.link
        spent, size = (part.end - part.start) / 1e6, part.bytes / 1e6
        for name in (link, *(("SDMA",) if link != "RDMA" else ())):
            sums[name]["Transit Size(MB)"] += size
            sums[name]["Transit Time(ms)"] += spent
        packets = sums[link]["Size Distribution"].setdefault(str(size), [0, 0])
        packets[0] += 1
        packets[1] += spent
        large[link] += part.bytes > _LARGE[link]
    for link, entry in sums.items():
        time = entry["Transit Time(ms)"]
        entry["Bandwidth(GB/s)"] = round(entry["Transit Size(MB)"] / time, 4) if time else 0
        count = sum(packets[0] for packets in entry["Size Distribution"].values())
        entry["Large Packet Ratio"] = round(large[link] / count, 4) if count else 0
    return sums


def _empty() -> Entry:
    return {
        "Transit Size(MB)": 0, "Transit Time(ms)": 0, "Bandwidth(GB/s)": 0, "Large Packet Ratio": 0,
        "Size Distribution": {},
    }  # fmt: skip


def _total(entries: list[Entry]) -> Entry:
    """Sums over the operations of a step; ratios are computed anew, bandwidths not at all."""
    times: Entry = defaultdict(float)
    links: dict[str, Entry] = {}
    for entry in entries:
        for name, value in entry["Communication Time Info"].items():
            if "(ms)" in name:
                times[name] += value
        for link, found in entry["Communication Bandwidth Info"].items():
            into = links.setdefault(link, {"Transit Time(ms)": 0, "Transit Size(MB)": 0, "Size Distribution": {}})
            for name in ("Transit Time(ms)", "Transit Size(MB)"):
                into[name] += found[name]
            for size, packets in found["Size Distribution"].items():
                known = into["Size Distribution"].get(size, [0, 0])
                into["Size Distribution"][size] = [known[0] + packets[0], known[1] + packets[1]]
    for name, part in (
        ("Wait Time Ratio", "Wait Time(ms)"),
        ("Synchronization Time Ratio", "Synchronization Time(ms)"),
    ):
        times[name] = _ratio(times[part], times["Transit Time(ms)"])
    return {"Communication Time Info": times, "Communication Bandwidth Info": links}


def _link_infos(found: list[CollectiveTask]) -> dict[str, Entry]:
    """Bytes and times of a collective between each pair of ranks."""
    sums: dict[str, Entry] = {}
    for part in found:
        if not part.bytes:
            continue
        kind = "LOCAL" if part.link == "ON_CHIP" else "RDMA" if part.transport == "RDMA" else part.link
        entry = sums.setdefault(
            f"{part.source}-{part.target}", {"Transport Type": kind, "Transit Size(MB)": 0, "Transit Time(ms)": 0}
        )
        entry["Transit Size(MB)"] += part.bytes / 1e6
        entry["Transit Time(ms)"] += (part.end - part.start) / 1e6
    return {link: _with_bandwidth(entry) for link, entry in sums.items()}


def _with_bandwidth(entry: Entry) -> Entry:
    time = entry["Transit Time(ms)"]
    return {**entry, "Bandwidth(GB/s)": round(entry["Transit Size(MB)"] / time, 4) if time else 0}


def _matrix(links: dict[tuple[str, str], list[Entry]]) -> dict[str, dict[str, Entry]]:
    """The fastest, middle and slowest operations of each type on each link, and the sum of all."""
    found: dict[str, dict[str, Entry]] = defaultdict(dict)
    for (kind, link), entries in links.items():
        ordered = sorted(entries, key=lambda entry: -entry["Bandwidth(GB/s)"])
        chosen = {"top1": ordered[0], "middle": ordered[len(ordered) // 2]}
        chosen |= {f"bottom{i}": ordered[-i] for i in (1, 2, 3) if len(ordered) >= i}
        sums = {name: sum(entry[name] for entry in ordered) for name in ("Transit Size(MB)", "Transit Time(ms)")}
        chosen["total"] = _with_bandwidth({"Transport Type": ordered[0]["Transport Type"], **sums})
        for place, entry in chosen.items():
            found[f"{kind}-{place}@{group_number()}"][link] = entry
    return found
