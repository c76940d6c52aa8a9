"""``kernel_details.csv``: every kernel and collective, with what the counters of the cores say."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from stepscope.simulate.specs import KernelSpec, TensorSpec
from stepscope.simulate.writers.ascend import metrics, vocabulary
from stepscope.simulate.writers.ascend.collectives import collective_name
from stepscope.simulate.writers.ascend.device import DeviceTask, is_collective
from stepscope.simulate.writers.ascend.output import Output
from stepscope.simulate.writers.ascend.place import INVALID, RankPlace, trimmed

_SHORT = ("Name", "Type", "Accelerator Core", "Start Time(us)", "Duration(us)", "Wait Time(us)", "Block Dim")
_LONG = (
    "Model ID", "Task ID", "Stream ID", "Name", "Type", "OP State", "Accelerator Core", "Start Time(us)",
    "Duration(us)", "Wait Time(us)", "Block Dim", "Mix Block Dim", "HF32 Eligible", "Input Shapes",
    "Input Data Types", "Input Formats", "Output Shapes", "Output Data Types", "Output Formats", "Context ID",
    *metrics.COLUMNS,
)  # fmt: skip


class KernelDetails:
    """Rows of kernels and collectives, in order of their starts."""

    def __init__(self, place: RankPlace, output: Output) -> None:
        self._place = place
        self._file = output.open("kernel_details.csv")
        self._steps = place.job.mark_steps
        self._end = 0
        header = ",".join((*(("Step Id",) if self._steps else ()), f"{place.device_column}{_header(place)}"))
        self._file.write(f"{header}\r\n")

    def add(self, work: DeviceTask, step: str) -> None:
        """Append a row; ``step`` is empty outside of steps."""
        spent = work.end - work.start
        wait = max(0, work.start - self._end) if self._end else 0
        self._end = work.end
        times = f"{self._place.stamp(work.start)}\t,{trimmed(spent)},{trimmed(wait) if wait else 0}"
        name = collective_name(work) if is_collective(work) else work.spec.name
        row = self._long(work, name, times) if self._place.details else f"{name},N/A,N/A,{times},0"
        row = self._place.device_cell + row
        self._file.write(f"{step},{row}\r\n" if self._steps else f"{row}\r\n")

    def _long(self, work: DeviceTask, name: str, times: str) -> str:
        spec = work.spec
        if is_collective(work):
            absent = ",".join(["N/A"] * (len(_LONG) - 11))
            core = "COMMUNICATION" if self._place.renamed else "HCCL"
            return f"{INVALID},N/A,N/A,{name},{spec.name},N/A,{core},{times},0,{absent}"
        device = self._place.device_kind
        size, beside = metrics.blocks(spec, device)
        kind = vocabulary.core(spec)
        state = "N/A" if kind == "AI_CPU" else "dynamic"
        counted = ",".join(metrics.counters(spec, work.end - work.start, device, self._place.megahertz))
        task = f"{1 if work.node else INVALID},{work.number % 65536},{work.stream}"
        context = "0" if kind.startswith("MIX") else "N/A"
        return (
            f"{task},{name},{vocabulary.op_type(spec)},{state},{kind},{times},{size},{beside},{vocabulary.hf32(spec)},"
            f"{_shapes(spec)},"
            f"{context},{counted}"
        )


def _header(place: RankPlace) -> str:
    header = ",".join(_LONG if place.details else _SHORT)
    return header.replace("Block Dim", "Block Num") if place.renamed else header


@lru_cache(maxsize=4096)
def _shapes(spec: KernelSpec) -> str:
    return ",".join((_tensors(spec.inputs), _tensors(spec.outputs)))


def _tensors(tensors: Sequence[TensorSpec]) -> str:
    """Shapes in quotes within a quoted cell, then types, then formats."""
    if not tensors:
        return "N/A,N/A,N/A"
    shapes = ";".join(",".join(map(str, tensor.shape)) for tensor in tensors)
    types = ";".join(vocabulary.cann_type(tensor.dtype) for tensor in tensors)
    return f'"""{shapes}""",{types},{";".join(map(vocabulary.layout, tensors))}'
