"""Calls of CANN in a step, and their totals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from stepscope.simulate.records import CallRecord
from stepscope.simulate.writers.ascend import events, vocabulary
from stepscope.simulate.writers.ascend.host import AscendHostStep, Task
from stepscope.simulate.writers.ascend.output import Output
from stepscope.simulate.writers.ascend.place import CANN, RankPlace

#: Numbers of a call and of those inside it, out of four per simulated call.
PUBLIC, LAUNCH, RUNTIME, INNER = 0, 1, 2, 3
_PREFIXES = {"acl": "AscendCL", "node": "Node", "runtime": "Runtime", "hccl": "Hccl"}


class Api(NamedTuple):
    """A call of one of CANN's layers; times are the job's."""

    start: int
    end: int
    thread: int
    level: str
    name: str
    mode: str
    item: str
    connection: int


def connection(call: CallRecord, which: int) -> int:
    """The number that links a call of CANN and its work on the device."""
    return 4 * call.correlation + which


def api_calls(place: RankPlace, host: AscendHostStep) -> list[Api]:
    """All calls of a step that the level of the recording shows, in order of start."""
    found: list[Api] = []
    for task in host.tasks.values():
        found += _of_task(place, task)
    found += [_direct(place, call) for call in host.direct]
    if place.everything:
        found += [inner for api in found for inner in _runtime(api)]
    return sorted(found, key=lambda api: (api.start, -api.end, api.connection))


def launch_of(place: RankPlace, task: Task) -> Api:
    """The source call of the flow to the task's work."""
    calls = _of_task(place, task)
    return next((api for api in calls if api.level == "node"), calls[0])


def api_events(place: RankPlace, calls: list[Api]) -> list[str]:
    """The calls as events."""
    pid = place.process(CANN)
    return [
        events.cann(
            f"{_PREFIXES[api.level]}@{'launch' if api.level == 'node' else api.name}",
            (pid, api.thread),
            (place.stamp(api.start), api.end - api.start),
            f'{{"Thread Id": {api.thread}, "Mode": "{api.mode}", "level": "{api.level}", '
            f'"id": "{"0" if api.level == "node" else api.name}", "item_id": "{api.item}", '
            f'"connection_id": {api.connection}}}',
        )
        for api in calls
    ]


def _of_task(place: RankPlace, task: Task) -> list[Api]:
    start, end = task.handed_over, task.call.end
    # Some of the time goes to the queue, and some of the call's to what comes before the launch. The device has the
    # task when the launch ends, so that nothing follows it.
    start += (end - start) // 8
    inside = start + (end - start) // 4, end
    call, thread = task.call, place.queue_thread
    spec = task.specs[0] if task.specs else None
    public = connection(call, PUBLIC)
    if call.event >= 0:
        name = "aclrtStreamWaitEvent" if task.name == "wait_event" else "aclrtRecordEvent"
        return [Api(start, end, thread, "acl", name, "ACL_RTS", "0", public)]
    if spec is None or spec.kind == "copy" or task.name == vocabulary.GRAPH:
        name = "aclrtMemcpyAsync" if spec is not None and spec.kind == "copy" else vocabulary.GRAPH
        return [Api(start, end, thread, "acl", name, "ACL_RTS", "0", public)]
    if spec.collective is not None:
        name = spec.name
        return [
            Api(start, end, thread, "acl", name, "HOST_HCCL", name, public),
            Api(start, end, thread, "node", name, "launch", name, connection(call, LAUNCH)),
            Api(*inside, thread, "hccl", "Launch_Ffts", "Launch_Ffts", "0", connection(call, INNER)),
        ]
    return [
        Api(start, end, thread, "acl", task.name, "ACL_NN", "0", public),
        Api(*inside, thread, "node", "launch", "launch", spec.name, connection(call, LAUNCH)),
    ]


def _direct(place: RankPlace, call: CallRecord) -> Api:
    name = "aclrtMemcpy" if call.launches else vocabulary.call(call.name)
    mode = "ACL_NN" if name.startswith("aclnn") else "ACL_RTS"
    return Api(call.start, call.end, place.threads[call.thread], "acl", name, mode, "0", connection(call, PUBLIC))


def _runtime(api: Api) -> Iterator[Api]:
    """Runtime calls inside a call."""
    if api.level == "node" and not api.item.startswith("hcom"):
        name: str | None = "KernelLaunchWithHandle"
    else:
        name = vocabulary.RUNTIME.get(api.name)
    if name is not None:
        margin = (api.end - api.start) // 8
        number = api.connection // 4 * 4 + RUNTIME
        yield Api(api.start + margin, api.end, api.thread, "runtime", name, "0", "0", number)


@dataclass(slots=True)
class _Sum:
    count: int = 0
    total: int = 0
    squares: int = 0
    least: int = 1 << 62
    most: int = 0


class ApiStatistic:
    """``api_statistic.csv``: calls by layer and name."""

    def __init__(self, place: RankPlace) -> None:
        self._place = place
        self._sums: dict[tuple[str, str], _Sum] = defaultdict(_Sum)

    def add(self, calls: list[Api]) -> None:
        """Count further calls."""
        for api in calls:
            spent = api.end - api.start
            row = self._sums[api.level, "launch" if api.level == "node" else api.name]
            row.count += 1
            row.total += spent
            row.squares += spent * spent
            row.least = min(row.least, spent)
            row.most = max(row.most, spent)

    def write(self, output: Output) -> None:
        """Write the file, by layer and name."""
        lines = [f"{self._place.device_column}Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance\n"]
        for (level, name), row in sorted(self._sums.items()):
            mean = row.total / row.count
            variance = max(0.0, row.squares / row.count - mean * mean) / 1e6
            lines.append(
                f"{self._place.device_cell}{level},{name},{row.total / 1000},{row.count},{round(mean / 1000, 3)},"
                f"{row.least / 1000},{row.most / 1000},{round(variance, 3)}\n"
            )
        output.write("api_statistic.csv", "".join(lines))
