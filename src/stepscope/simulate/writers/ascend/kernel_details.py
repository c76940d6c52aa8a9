"""``kernel_details.csv`` and what is drawn from the same rows: ``op_statistic.csv``, ``l2_cache.csv`` and others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

from stepscope.simulate.specs import KernelSpec, Tensor
from stepscope.simulate.writers.ascend import metrics, vocabulary
from stepscope.simulate.writers.ascend.collectives import collective_name
from stepscope.simulate.writers.ascend.device import Work, is_collective
from stepscope.simulate.writers.ascend.output import Output
from stepscope.simulate.writers.ascend.place import INVALID, Place, micros, trimmed

_SHORT = ("Name", "Type", "Accelerator Core", "Start Time(us)", "Duration(us)", "Wait Time(us)", "Block Dim")
_LONG = (
    "Model ID", "Task ID", "Stream ID", "Name", "Type", "OP State", "Accelerator Core", "Start Time(us)",
    "Duration(us)", "Wait Time(us)", "Block Dim", "Mix Block Dim", "HF32 Eligible", "Input Shapes",
    "Input Data Types", "Input Formats", "Output Shapes", "Output Data Types", "Output Formats", "Context ID",
    *metrics.COLUMNS,
)  # fmt: skip


class KernelDetails:
    """Rows of kernels and collectives, in order of their begins."""

    def __init__(self, place: Place, output: Output) -> None:
        self._place = place
        self._file = output.open("kernel_details.csv")
        self._steps = place.job.mark_steps
        self._end = 0
        header = _LONG if place.details else _SHORT
        self._file.write(",".join((*(("Step Id",) if self._steps else ()), *header)) + "\r\n")

    def add(self, work: Work, step: str) -> None:
        """Append a row; ``step`` is empty outside of steps."""
        spent = work.end - work.begin
        wait = max(0, work.begin - self._end) if self._end else 0
        self._end = work.end
        times = f"{self._place.stamp(work.begin)}\t,{trimmed(spent)},{trimmed(wait) if wait else 0}"
        name = collective_name(work) if is_collective(work) else work.spec.name
        row = self._long(work, name, times) if self._place.details else f"{name},N/A,N/A,{times},0"
        self._file.write(f"{step},{row}\r\n" if self._steps else f"{row}\r\n")

    def _long(self, work: Work, name: str, times: str) -> str:
        spec = work.spec
        if is_collective(work):
            absent = ",".join(["N/A"] * (len(_LONG) - 11))
            return f"{INVALID},N/A,N/A,{name},{spec.name},N/A,HCCL,{times},0,{absent}"
        device = self._place.device_kind
        size, beside = metrics.blocks(spec, device)
        kind = vocabulary.core(spec)
        state = "N/A" if kind == "AI_CPU" else "dynamic"
        counted = ",".join(metrics.counters(spec, work.end - work.begin, device, self._place.megahertz))
        task = f"{1 if work.node else INVALID},{work.number % 65536},{work.stream}"
        context = "0" if kind.startswith("MIX") else "N/A"
        return (
            f"{task},{name},{vocabulary.op_type(spec)},{state},{kind},{times},{size},{beside},NO,{_shapes(spec)},"
            f"{context},{counted}"
        )


@lru_cache(maxsize=4096)
def _shapes(spec: KernelSpec) -> str:
    return ",".join((_tensors(spec.inputs), _tensors(spec.outputs)))


def _tensors(tensors: Sequence[Tensor]) -> str:
    """Shapes in quotes within a quoted cell, then types, then formats."""
    if not tensors:
        return "N/A,N/A,N/A"
    shapes = ";".join(",".join(map(str, tensor.shape)) for tensor in tensors)
    types = ";".join(vocabulary.cann_type(tensor.dtype) for tensor in tensors)
    return f'"""{shapes}""",{types},{";".join(map(vocabulary.layout, tensors))}'


class OpStatistic:
    """``op_statistic.csv``: kernels by type and core, the most time first."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 1 << 62, 0])

    def add(self, work: Work) -> None:
        """Count a kernel."""
        spent = work.end - work.begin
        row = self._sums[vocabulary.op_type(work.spec), vocabulary.core(work.spec)]
        row[:] = row[0] + 1, row[1] + spent, min(row[2], spent), max(row[3], spent)

    def write(self, output: Output) -> None:
        """Write the file."""
        whole = sum(row[1] for row in self._sums.values()) or 1
        lines = ["OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)\n"]
        for (kind, core), (count, total, least, most) in sorted(
            self._sums.items(), key=lambda item: (-item[1][1], item[0])
        ):
            lines.append(
                f"{kind},{core},{count},{total / 1000},{least / 1000},{round(total / count / 1000, 3)},"
                f"{most / 1000},{round(100 * total / whole, 3)}\n"
            )
        output.write("op_statistic.csv", "".join(lines))


class CacheRates:
    """``l2_cache.csv``: how often the level-2 cache had what a kernel asked for, and gave up what it had."""

    def __init__(self, output: Output) -> None:
        self._file = output.open("l2_cache.csv")
        self._file.write("Stream Id,Task Id,Hit Rate,Victim Rate,Op Name\n")

    def add(self, work: Work) -> None:
        """Append a row: the larger what a kernel moves against a cache of 192 MiB, the less of it is found there."""
        fill = min(1.0, work.spec.bytes / (192 << 20))
        rates = f"{round(0.95 - 0.6 * fill, 6)},{round(0.01 + 0.4 * fill, 6)}"
        self._file.write(f"{work.stream},{work.number % 65536},{rates},{work.spec.name}\n")


class AiCpuTimes:
    """``data_preprocess.csv``: what the device's own processor worked on; there is none where nothing ran on it."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._lines: list[str] = []

    def add(self, work: Work) -> None:
        """Append a row, if the kernel ran there: an eighth of its time goes to dispatching it, another to copying."""
        if vocabulary.core(work.spec) != "AI_CPU":
            return
        spent = work.end - work.begin
        part = spent // 8
        self._lines.append(
            f"{self._place.stamp(work.begin)},{work.spec.name},{micros(spent - 2 * part)},{micros(part)},"
            f"{micros(spent - part)},{micros(part)},{micros(spent)},{work.stream},{work.number % 65536}\n"
        )

    def write(self, output: Output) -> None:
        """Write the file, if there is anything in it."""
        header = (
            "Timestamp(us),Node,Compute_time(us),Memcpy_time(us),Task_time(us),Dispatch_time(us),Total_time(us),"
            "Stream ID,Task ID\n"
        )
        if self._lines:
            output.write("data_preprocess.csv", header + "".join(self._lines))
