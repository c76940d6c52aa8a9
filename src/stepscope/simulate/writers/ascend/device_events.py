"""The device's events of a step: tasks of streams, collectives and their parts, and the flows that end there."""

from __future__ import annotations

from stepscope.simulate.writers.ascend import events, vocabulary
from stepscope.simulate.writers.ascend.cann_events import LAUNCH, PUBLIC, connection, launch_of
from stepscope.simulate.writers.ascend.collectives import CollectiveTask, collective_name, parts
from stepscope.simulate.writers.ascend.device import DeviceStep, DeviceTask, MarkTask, is_collective
from stepscope.simulate.writers.ascend.host import AscendHostStep
from stepscope.simulate.writers.ascend.place import CANN, COMMUNICATION, HARDWARE, INVALID, RankPlace

_DIRECTIONS = {"HtoD": "host to device", "DtoH": "device to host", "DtoD": "device to device"}
#: Names of a collective's parts on its stream.
ON_STREAM = {"Notify_Wait": "Notify Wait", "Notify_Record": "Write Value", "RDMASend": "Write Value"}
#: Tasks of a stream are numbered in 16 bits; batches count how often the numbers began anew.
_NUMBERS = 1 << 16


def device_events(place: RankPlace, step: DeviceStep, host: AscendHostStep) -> list[str]:
    """Everything the device recorded of a step."""
    texts: list[str] = []
    for work in step.work:
        texts += _collective(place, work) if is_collective(work) else [_work(place, work)]
        texts += _flow(place, work, host)
    texts += [_mark(place, mark) for mark in step.marks]
    return texts


def work_connection(work: DeviceTask) -> int:
    """The number of the call that launched a task."""
    copied = work.spec.kind == "copy" or work.node
    return connection(work.call, PUBLIC if copied else LAUNCH)


def _task(kind: str, place_in: tuple[int, int], number: int, model: int = INVALID, sub: int = INVALID) -> str:
    """Arguments of a task of a type, at a stream and a number there, launched by the call with a number."""
    return (
        f'"Model Id": {model}, "Task Type": "{kind}", "Physic Stream Id": {place_in[0]}, '
        f'"Task Id": {place_in[1] % _NUMBERS}, "Batch Id": {place_in[1] // _NUMBERS}, "Subtask Id": {sub}, '
        f'"connection_id": {number}'
    )


def _work(place: RankPlace, work: DeviceTask) -> str:
    spec = work.spec
    if spec.kind == "copy":
        kind = "SDMA_SQE" if spec.direction == "DtoD" else "PCIE_DMA_SQE"
    else:
        kind = vocabulary.task_type(spec)
    sub = 0 if kind.startswith("MIX") else INVALID
    model = 1 if work.node else INVALID
    args = _task(kind, (work.stream, work.number), work_connection(work), model, sub)
    if place.everything and spec.kind == "copy":
        args += f', "data size(Byte)": {spec.bytes}, "memcpy direction": "{_DIRECTIONS[spec.direction]}"'
    row = place.process(HARDWARE), work.stream
    return events.cann(spec.name, row, (place.stamp(work.start), work.end - work.start), f"{{{args}}}")


def _mark(place: RankPlace, mark: MarkTask) -> str:
    name = "EVENT_WAIT" if mark.waits else "EVENT_RECORD"
    args = _task(f"{name}_SQE", (mark.stream, mark.number), connection(mark.call, PUBLIC))
    row = place.process(HARDWARE), mark.stream
    return events.cann(name, row, (place.stamp(mark.start), mark.end - mark.start), f"{{{args}}}")


def _collective(place: RankPlace, work: DeviceTask) -> list[str]:
    what = work.spec.collective
    assert what is not None
    number = work_connection(work)
    args = f'{{"connection_id": {number}, "model id": {INVALID}'
    if place.details:
        count = max(what.elements_in, what.elements_out)
        args += f', "data_type": "{vocabulary.HCCL[what.dtype]}", "alg_type": "MESH-RING", "count": {count}'
    row = place.process(COMMUNICATION), 0
    name = collective_name(work)
    texts = [events.cann(name, row, (place.stamp(work.start), work.end - work.start), args + "}")]
    for sub, part in enumerate(parts(place.job, place.rank, work)):
        kind = ON_STREAM.get(part.name, "SDMA")
        text = _task(kind, (work.stream, work.number), number, INVALID, sub)
        times = place.stamp(part.start), part.end - part.start
        texts.append(events.cann(kind, (place.process(HARDWARE), work.stream), times, f"{{{text}}}"))
        if place.details:
            texts.append(_part(place, work, part, sub))
    return texts


def _part(place: RankPlace, work: DeviceTask, part: CollectiveTask, sub: int) -> str:
    what = work.spec.collective
    assert what is not None
    spent = part.end - part.start
    rate = part.bytes / spent if spent else 0.0
    dtype = vocabulary.HCCL[what.dtype] if part.name == "Reduce_Inline" else "INVALID_TYPE"
    args = (
        f'{{"notify_id": "{part.plane * 4}", "duration estimated(us)": {spent / 1000}, "stream id": {work.stream}, '
        f'"task id": {work.number % _NUMBERS}, "context id": {sub}, "task type": "{part.name}", '
        f'"src rank": {part.source}, "dst rank": {part.target}, "transport type": "{part.transport}", '
        f'"size(Byte)": {part.bytes}, "data type": "{dtype}", "link type": "{part.link}", '
        f'"bandwidth(GB/s)": {rate}, "model id": {INVALID}}}'
    )
    row = place.process(COMMUNICATION), part.plane + 1
    return events.cann(part.name, row, (place.stamp(part.start), spent), args)


def _flow(place: RankPlace, work: DeviceTask, host: AscendHostStep) -> list[str]:
    """From a call to the task it launched: a collective has a number of its own, kernels of a graph share one start."""
    task = host.tasks.get(work.call.correlation)
    number = work_connection(work)
    if is_collective(work):
        number, row = (number << 32) - 1, (place.process(COMMUNICATION), 0)
    else:
        row = place.process(HARDWARE), work.stream
    start, thread = work.call.start, place.threads[work.call.thread]
    if task is not None:
        launch = launch_of(place, task)
        start, thread = launch.start, launch.thread
    texts = [events.host_to_device("f", number, (row, place.stamp(work.start)))]
    if work.node <= 1:
        texts.insert(0, events.host_to_device("s", number, ((place.process(CANN), thread), place.stamp(start))))
    return texts
