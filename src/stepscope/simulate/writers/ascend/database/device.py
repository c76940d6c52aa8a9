"""Tasks of streams, kernels with their counters, copies, and collectives with their parts."""

from __future__ import annotations

from collections.abc import Sequence

from stepscope.simulate.specs import TensorSpec
from stepscope.simulate.writers.ascend import metrics, vocabulary
from stepscope.simulate.writers.ascend.cann_events import PUBLIC, connection
from stepscope.simulate.writers.ascend.collectives import GROUP, CollectiveTask, collective_name, parts
from stepscope.simulate.writers.ascend.database.schema import (
    ABSENT,
    DATA_TYPES,
    DIRECTIONS,
    LINKS,
    NOT_VALID,
    TRANSPORTS,
)
from stepscope.simulate.writers.ascend.device import DeviceStep, DeviceTask, MarkTask, is_collective
from stepscope.simulate.writers.ascend.device_events import ON_STREAM, work_connection
from stepscope.simulate.writers.ascend.place import INVALID, RankPlace
from stepscope.simulate.writers.export_database import ExportDatabase

_TASKS = {"AI_CORE": "KERNEL_AICORE", "AI_VECTOR_CORE": "KERNEL_AIVEC", "AI_CPU": "KERNEL_AICPU"}


class DeviceTables:
    """Rows of a step's work; numbers tasks and collectives."""

    def __init__(self, place: RankPlace, database: ExportDatabase) -> None:
        self._place, self._database = place, database
        self._tasks = self._collectives = 0
        self._absent = (database.text("N/A"),)

    def add(self, step: DeviceStep) -> None:
        """Take a step."""
        for work in step.work:
            if is_collective(work):
                self._collective(work)
            elif work.spec.kind == "copy":
                self._copy(work)
            else:
                self._kernel(work)
        for mark in step.marks:
            self._mark(mark)

    def _task(self, kind: str, times: tuple[int, int], where: tuple[int, int], *ids: int) -> int:
        """A task with a type, at a stream and a number there; ``ids`` are its connection, context and model."""
        shift, (link, context, model) = self._place.shift, ids
        number = self._tasks
        self._tasks += 1
        self._database.table("TASK").append(
            (
                times[0] + shift, times[1] + shift, self._place.device, link, number, self._place.pid,
                self._database.text(kind), context, where[0], where[1] % 65536, model,
            )
        )  # fmt: skip
        return number

    def _work(self, work: DeviceTask, kind: str, context: int = INVALID) -> int:
        model = 1 if work.node else INVALID
        where = work.stream, work.number
        return self._task(kind, (work.start, work.end), where, work_connection(work), context, model)

    def _mark(self, mark: MarkTask) -> None:
        kind = "EVENT_WAIT" if mark.waits else "EVENT_RECORD"
        where, number = (mark.stream, mark.number), connection(mark.call, PUBLIC)
        self._task(kind, (mark.start, mark.end), where, number, INVALID, INVALID)

    def _copy(self, work: DeviceTask) -> None:
        number = self._work(work, "MEMCPY_ASYNC")
        if self._place.everything:
            row = number, work.spec.bytes, DIRECTIONS[work.spec.direction]
            self._database.table("MEMCPY_INFO").append(row)

    def _kernel(self, work: DeviceTask) -> None:
        spec, text = work.spec, self._database.text
        core = vocabulary.core(spec)
        number = self._work(work, _TASKS.get(core, core), 0 if core.startswith("MIX") else INVALID)
        more = 2 if self._place.renamed else 0
        if not self._place.details:
            row = (text(spec.name), number, 0, 0, *self._absent * (9 + more))
            self._database.table("COMPUTE_TASK_INFO").append(row)
            return
        operands = [text(cell) for tensors in (spec.inputs, spec.outputs) for cell in _operands(tensors)]
        added = (text("N/A" if core == "AI_CPU" else "dynamic"), text(vocabulary.hf32(spec)))[:more]
        size = metrics.blocks(spec, self._place.device_kind)
        names = text(core), text(vocabulary.op_type(spec))
        row = (text(spec.name), number, *size, *names, *operands, *self._absent, *added)
        self._database.table("COMPUTE_TASK_INFO").append(row)
        self._counters(work, number)

    def _counters(self, work: DeviceTask, number: int) -> None:
        """Times in ns; the share of the chip that was busy is in no table."""
        spec, place = work.spec, self._place
        values = metrics.counters(spec, work.end - work.start, place.device_kind, place.megahertz)
        rows = self._database.table("TASK_PMU_INFO")
        for column, value in zip(metrics.COLUMNS, values, strict=True):
            if value == "N/A" or column.startswith("cube_utilization"):
                continue
            name = column.removesuffix("(us)")
            name = {"aicore_time": "aic_total_time", "aiv_time": "aiv_total_time"}.get(name, name)
            scale = 1000 if column.endswith("(us)") else 1
            rows.append((number, self._database.text(name), round(float(value) * scale, 6)))

    def _collective(self, work: DeviceTask) -> None:
        what, text, place = work.spec.collective, self._database.text, self._place
        assert what is not None
        self._collectives += 1
        number, link = self._collectives, work_connection(work)
        name, group, dtype = text(collective_name(work)), text(GROUP), DATA_TYPES[vocabulary.HCCL[what.dtype]]
        kind = text(work.spec.name) if place.details else self._absent[0]
        count = max(what.elements_in, what.elements_out)
        self._database.table("COMMUNICATION_OP").append(
            (
                name, work.start + place.shift, work.end + place.shift, link, group, number, 0, 0, dtype,
                text("MESH-RING"), count, kind, place.device,
            )
        )  # fmt: skip
        rows = self._database.table("COMMUNICATION_TASK_INFO")
        for sub, part in enumerate(parts(place.job, place.rank, work)):
            where = work.stream, work.number
            times = part.start, part.end
            task = self._task(ON_STREAM.get(part.name, "SDMA"), times, where, link, sub, INVALID)
            if place.details:
                rows.append((name, task, *self._part(part, group, dtype), number))
            else:
                nowhere = (INVALID, group, 0, ABSENT, INVALID, INVALID, ABSENT, -1, ABSENT, ABSENT)
                rows.append((name, task, self._absent[0], *nowhere, number))

    def _part(self, part: CollectiveTask, group: int, dtype: int) -> tuple[int, ...]:
        reduced = dtype if part.name == "Reduce_Inline" else NOT_VALID
        return (
            self._database.text(part.name), part.plane, group, part.plane * 4, NOT_VALID, part.source, part.target,
            TRANSPORTS.get(part.transport, NOT_VALID), part.bytes, reduced, LINKS.get(part.link, NOT_VALID),
        )  # fmt: skip


def _operands(tensors: Sequence[TensorSpec]) -> tuple[str, str, str]:
    """Formats, types and shapes."""
    if not tensors:
        return "N/A", "N/A", "N/A"
    shapes = ";".join(",".join(map(str, tensor.shape)) for tensor in tensors)
    types = ";".join(vocabulary.cann_type(tensor.dtype) for tensor in tensors)
    return ";".join(map(vocabulary.layout, tensors)), types, f'"{shapes}"'
