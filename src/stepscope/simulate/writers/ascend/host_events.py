"""The framework's events of a step: operators, the queue, Python functions, collections of garbage."""

from __future__ import annotations

import json
from functools import lru_cache

from stepscope.simulate.records import FrameRecord
from stepscope.simulate.specs import OpSpec
from stepscope.simulate.writers.ascend import events, vocabulary
from stepscope.simulate.writers.ascend.device import DeviceTask, is_collective
from stepscope.simulate.writers.ascend.host import AscendHostStep, Operator, Task
from stepscope.simulate.writers.ascend.place import COMMUNICATION, GC, HARDWARE, RankPlace
from stepscope.simulate.writers.ascend.steps import StepRecords


def host_events(place: RankPlace, host: AscendHostStep, records: StepRecords) -> list[str]:
    """Everything the framework recorded of a step."""
    texts = [_operator(place, operator) for operator in host.operators]
    for task in host.tasks.values():
        texts += _queue(place, task)
    texts += _forward_to_backward(place, host, records)
    if place.job.with_stack:
        texts += [_frame(place, frame) for frame in records.frames]
    return texts


def flow_to_work(place: RankPlace, work: DeviceTask) -> list[str]:
    """The flow from an operator to its work on the device, known by when that starts."""
    operator = work.operator
    if operator is None:
        return []
    key = work.start + place.shift
    row = (place.process(COMMUNICATION), 0) if is_collective(work) else (place.process(HARDWARE), work.stream)
    source = (place.pid, place.threads[operator.thread]), place.stamp(operator.start)
    return [
        events.flow("s", "torch_to_npu", "async_npu", key, source),
        events.flow("f", "torch_to_npu", "async_npu", key, (row, place.stamp(work.start))),
    ]


def _operator(place: RankPlace, o: Operator) -> str:
    fields: dict[str, object] = {
        "Sequence number": o.sequence,
        "Fwd thread id": int(o.spec is not None and o.spec.backward and o.sequence >= 0),
    }
    if o.spec is not None and o.name != "empty_tensor" and place.job.record_shapes:
        fields.update(_inputs(o.spec))
    if o.stack:
        fields["Call stack"] = o.stack
    row = place.pid, place.threads[o.thread]
    return events.framework("cpu_op", o.name, row, (place.stamp(o.start), o.end - o.start), json.dumps(fields))


@lru_cache(maxsize=4096)
def _inputs(spec: OpSpec) -> dict[str, str]:
    if not spec.inputs:
        return {}
    return {"Input Dims": vocabulary.shapes(spec.inputs), "Input type": vocabulary.types(spec.inputs)}


def _queue(place: RankPlace, task: Task) -> list[str]:
    """A task is put on the queue inside its operator, and taken off by the thread that calls CANN."""
    call, end = task.call, task.handed_over
    margin = (end - call.start) // 8
    key = call.correlation
    args = f'{{"correlation_id": {key}}}'
    here, there = (place.pid, place.threads[call.thread]), (place.pid, place.queue_thread)
    put, taken = place.stamp(call.start + margin), place.stamp(end)
    return [
        events.framework("enqueue", "Enqueue", here, (put, end - call.start - 2 * margin), args),
        events.flow("s", "enqueue_to_dequeue", "async_task_queue", key, (here, put)),
        events.framework("dequeue", f"Dequeue@{task.name}", there, (taken, call.end - end), args),
        events.flow("f", "enqueue_to_dequeue", "async_task_queue", key, (there, taken)),
    ]


def _forward_to_backward(place: RankPlace, host: AscendHostStep, records: StepRecords) -> list[str]:
    numbers = {(o.start, o.thread): o.sequence for o in host.operators if o.sequence >= 0}
    texts = []
    for flow in records.flows:
        number = numbers.get((flow.end, flow.end_thread), flow.id)
        for end, time, thread in (("s", flow.start, flow.start_thread), ("f", flow.end, flow.end_thread)):
            where = (place.pid, place.threads[thread]), place.stamp(time)
            texts.append(events.flow(end, "fwdbwd", "fwdbwd", number, where))
    return texts


def _frame(place: RankPlace, f: FrameRecord) -> str:
    times = place.stamp(f.start), f.end - f.start
    if f.name == "Python GC":
        return events.framework("GC", "GC", (place.process(GC), place.pid), times, "{}")
    fields: dict[str, object] = {"Python id": f.id, "Python parent id": f.parent or None}
    if f.name.startswith("nn.Module"):
        number = f.name.rpartition("_")[2]
        fields["Python module id"] = int(number) if number.isdigit() else 0
    row = place.pid, place.threads[f.thread]
    return events.framework("python_function", f.name, row, times, json.dumps(fields))
