"""The framework's side of a step: operators as a tree, and the tasks they put on the queue."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from stepscope.simulate.records import ActivityRecord, CallRecord, FrameRecord
from stepscope.simulate.specs import KernelSpec, OpSpec
from stepscope.simulate.writers.ascend import vocabulary
from stepscope.simulate.writers.ascend.place import RankPlace
from stepscope.simulate.writers.ascend.steps import StepRecords


@dataclass(slots=True, eq=False)
class Operator:
    """An operator, or another interval of the framework, and the device work it led to; times are in ns.

    Attributes:
        spec: what it was called with; None for what wraps a task of the queue.
        inner_ns: host time of the operators directly inside.
        own_ns: device time of the work it launched itself.
        total_ns: the same with all operators inside.
        own_core_ns: part of ``own_ns`` whose tasks are of type ``AI_CORE``.
        total_core_ns: part of ``total_ns`` likewise.
    """

    name: str
    start: int
    end: int
    thread: int
    spec: OpSpec | None = None
    sequence: int = -1
    stack: str = ""
    parent: Operator | None = None
    inner_ns: int = 0
    own_ns: int = 0
    total_ns: int = 0
    own_core_ns: int = 0
    total_core_ns: int = 0

    @property
    def is_step(self) -> bool:
        """Whether it marks a whole step."""
        return self.name.startswith("ProfilerStep#")


@dataclass(slots=True, eq=False)
class Task:
    """A call that went through the framework's queue: put on by one thread, taken off and run by another.

    A third of the call's time goes to putting it on, the rest to taking it off, so that the device has it when the
    simulated call returned.
    """

    call: CallRecord
    name: str
    specs: tuple[KernelSpec, ...]
    operator: Operator

    @property
    def handed_over(self) -> int:
        """When it was put on the queue."""
        return _handed_over(self.call)


@dataclass(slots=True)
class AscendHostStep:
    """One step on the host.

    Attributes:
        operators: in order of start, outer ones first.
        tasks: by correlation of the call.
        direct: calls that bypass the queue.
    """

    operators: list[Operator]
    tasks: dict[int, Task]
    direct: list[CallRecord]


def arrange(place: RankPlace, records: StepRecords) -> AscendHostStep:
    """Build the tree of a step's operators, with one more around each task of the queue."""
    launched: dict[int, list[ActivityRecord]] = defaultdict(list)
    for activity in records.activities:
        launched[activity.correlation].append(activity)
    operators = [Operator(r.spec.name, r.start, r.end, r.thread, r.spec, r.sequence) for r in records.spans]
    tasks: dict[int, Task] = {}
    direct: list[CallRecord] = []
    _waiting_first(place, records, launched)
    for call in records.calls:
        specs = tuple(activity.spec for activity in launched.get(call.correlation, ()))
        copied = call.launches and not specs
        name = "" if copied else vocabulary.task(call.name, specs[0] if specs else None)
        if not name:
            direct.append(call)
            continue
        wrapper = Operator(name, call.start, _handed_over(call), call.thread)
        operators.append(wrapper)
        tasks[call.correlation] = Task(call, name, specs, wrapper)
    operators.sort(key=lambda o: (o.start, -o.end))
    _nest(operators)
    if place.job.with_stack:
        _add_stacks(operators, records.frames)
    if place.tasks:
        _charge(tasks, records.activities)
    return AscendHostStep(operators, tasks, direct)


def _waiting_first(place: RankPlace, records: StepRecords, launched: dict[int, list[ActivityRecord]]) -> None:
    """For a copy that is not asynchronous the framework waits for the stream, then has the driver copy.

    The driver does so past all streams: recordings have its call, and no task on the device.
    """
    calls: list[CallRecord] = []
    copies: dict[int, CallRecord] = {}
    for call in records.calls:
        if _is_waited_for(place, launched.get(call.correlation, [])):
            copies[call.thread] = call
        elif call.name == "cudaStreamSynchronize" and call.thread in copies:
            copy = copies.pop(call.thread)
            done = max(copy.start, launched.pop(copy.correlation)[0].start - place.job.launch_latency_ns)
            calls += [call._replace(start=copy.start, end=done), copy._replace(start=done, end=call.end)]
        else:
            calls.append(call)
    records.calls = calls
    records.activities = [activity for activity in records.activities if activity.correlation in launched]


def _is_waited_for(place: RankPlace, work: list[ActivityRecord]) -> bool:
    return bool(work) and (
        work[0].spec.direction == "DtoH" or (work[0].spec.direction == "HtoD" and not place.job.pinned)
    )


def _handed_over(call: CallRecord) -> int:
    return call.start + (call.end - call.start) // 3


def _nest(operators: list[Operator]) -> None:
    open_: dict[int, list[Operator]] = defaultdict(list)
    for operator in operators:
        around = open_[operator.thread]
        while around and around[-1].end < operator.end:
            around.pop()
        if around:
            operator.parent = around[-1]
            around[-1].inner_ns += operator.end - operator.start
        if operator.spec is not None:
            nested = operator.parent is not None and operator.parent.name.startswith(("aten::", "npu::"))
            operator.name = vocabulary.operator(operator.spec, nested)
        around.append(operator)


def _charge(tasks: dict[int, Task], activities: list[ActivityRecord]) -> None:
    """Add device times to the operator of each task and to all around it."""
    for activity in activities:
        task = tasks.get(activity.correlation)
        if task is None:
            continue
        spent = activity.end - activity.start
        on_core = spent if activity.spec.kind == "compute" and vocabulary.task_type(activity.spec) == "AI_CORE" else 0
        operator: Operator | None = task.operator
        task.operator.own_ns += spent
        task.operator.own_core_ns += on_core
        while operator is not None:
            operator.total_ns += spent
            operator.total_core_ns += on_core
            operator = operator.parent


def _add_stacks(operators: list[Operator], frames: list[FrameRecord]) -> None:
    """Give each operator the Python functions around it, innermost first; autograd's thread runs none."""
    ordered = sorted((f for f in frames if f.name != "Python GC"), key=lambda f: (f.start, -f.end))
    open_: list[FrameRecord] = []
    following = iter(ordered)
    upcoming = next(following, None)
    for operator in operators:
        while upcoming is not None and upcoming.start <= operator.start:
            open_.append(upcoming)
            upcoming = next(following, None)
        open_ = [frame for frame in open_ if frame.end >= operator.end]
        operator.stack = ";\r\n".join(_innermost_first(open_, operator.thread))


def _innermost_first(frames: list[FrameRecord], thread: int) -> Iterator[str]:
    return (frame.name for frame in reversed(frames) if frame.thread == thread and not frame.name.startswith("nn."))
