"""What an operation of communication did on each rank or link, and sums of operations."""

from __future__ import annotations

from typing import Any, Final

#: What an operation did on each rank, or link.
Operation = dict[str, Any]
_TIME: Final = "Communication Time Info"
_BANDWIDTH: Final = "Communication Bandwidth Info"
_SIZES: Final = "Size Distribution"
#: Parts of an operation's time and what they are a share of together with the transit time.
_RATIOS: Final = {"Wait Time Ratio": "Wait Time(ms)", "Synchronization Time Ratio": "Synchronization Time(ms)"}
_TRANSIT: Final = "Transit Time(ms)"
_SIZE: Final = "Transit Size(MB)"
_RATE: Final = "Bandwidth(GB/s)"


def empty() -> Operation:
    """An operation on a rank that has no numbers yet."""
    return {_TIME: {}, _BANDWIDTH: {}}


def add_number(own: Operation, words: list[str], source: str, metric: str, value: float) -> None:
    """Add a number of an operation on a rank: nothing, a transport, or transport and size, are in words."""
    if source == "communication":
        own[_TIME][metric] = value
        return
    transport = own[_BANDWIDTH].setdefault(words[0], {_SIZES: {}})
    if source == "bandwidth":
        transport[metric] = value
    else:
        pair = transport[_SIZES].setdefault(words[1], [0, 0.0])
        pair[metric != "Count"] = value


def sum_on_ranks(operations: dict[str, Operation]) -> Operation:
    """The sum of operations, on each rank."""
    found: dict[str, Operation] = {}
    for ranks in operations.values():
        for rank, own in ranks.items():
            total = found.setdefault(rank, empty())
            for metric, value in own[_TIME].items():
                if metric != "Start Timestamp(us)" and metric not in _RATIOS:
                    total[_TIME][metric] = total[_TIME].get(metric, 0.0) + value
            for transport, values in own[_BANDWIDTH].items():
                _add_transport(total[_BANDWIDTH].setdefault(transport, {_TRANSIT: 0, _SIZE: 0, _SIZES: {}}), values)
    for total in found.values():
        times = total[_TIME]
        for ratio, part in _RATIOS.items():
            times[ratio] = _ratio(times.get(part, 0.0), times.get(part, 0.0) + times.get(_TRANSIT, 0.0))
        for values in total[_BANDWIDTH].values():
            values[_RATE] = _ratio(values[_SIZE], values[_TRANSIT])
    return found


def _add_transport(total: dict[str, Any], values: dict[str, Any]) -> None:
    for metric in (_TRANSIT, _SIZE):
        total[metric] += values.get(metric, 0.0)
    for size, (number, taken) in values[_SIZES].items():
        pair = total[_SIZES].setdefault(size, [0, 0.0])
        pair[0] += number
        pair[1] += taken


def sum_on_links(operations: dict[str, Operation]) -> Operation:
    """The sum of all kinds of operations, on each link."""
    found: dict[str, Operation] = {}
    for name, links in operations.items():
        if not name.partition("@")[0].endswith("-total"):
            continue
        for link, values in links.items():
            total = found.setdefault(link, {"Op Name": "", _TRANSIT: 0.0, _SIZE: 0.0})
            total["Transport Type"] = values.get("Transport Type", "")
            for metric in (_TRANSIT, _SIZE):
                total[metric] += values.get(metric, 0.0)
    for total in found.values():
        total[_RATE] = _ratio(total[_SIZE], total[_TRANSIT])
    return found


def _ratio(part: float, whole: float) -> float:
    return round(part / whole, 4) if whole else 0
