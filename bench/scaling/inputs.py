"""Inputs that are alike in all but one size."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_STEP_US: Final = 10.0
_DEVICE: Final = {
    "id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85_899_345_920, "numSms": 132, "computeMajor": 9,
    "computeMinor": 0,
}  # fmt: skip
_ROWS: Final = 100


@dataclass(frozen=True, slots=True)
class Size:
    """How much of everything a trace has; threads, streams and names take turns.

    Attributes:
        kernels: Kernels, each with an operator and a launch.
        threads: Host threads that launch.
        streams: Streams.
        names: Names of kernels.
        characters: Characters of each name.
        steps: Steps.
    """

    kernels: int
    threads: int = 1
    streams: int = 1
    names: int = 20
    characters: int = 20
    steps: int = 4


def write_trace(size: Size, path: Path) -> None:
    """Write a trace of PyTorch."""
    document = {"schemaVersion": 1, "deviceProperties": [_DEVICE], "traceEvents": list(_events(size))}
    path.write_text(json.dumps(document), encoding="utf-8")


def _events(size: Size) -> Iterator[dict[str, Any]]:
    per_step = size.kernels // size.steps
    for at in range(size.kernels):
        ts, thread, stream = 1000 + _STEP_US * at, at % size.threads + 1, 7 + at % size.streams
        if at % per_step == 0 and at // per_step < size.steps:
            name = f"ProfilerStep#{at // per_step}"
            yield _event("user_annotation", name, ts, _STEP_US * per_step - 1, thread=1)
        name = f"kernel_{at % size.names}_".ljust(size.characters, "x")
        args = {"External id": at + 1}
        yield _event("cpu_op", "aten::mm", ts + 1, 4, thread=thread, args=args)
        args = {**args, "correlation": at + 1}
        yield _event("cuda_runtime", "cudaLaunchKernel", ts + 2, 2, thread=thread, args=args)
        args = {**args, "device": 0, "stream": stream}
        yield _event("kernel", name, ts + 5, 4, process=0, thread=stream, args=args)


def _event(
    category: str,
    name: str,
    ts: float,
    dur: float,
    *,
    thread: int,
    process: int = 1,
    args: dict[str, Any] | None = None,
) -> dict[str, Any]:
    event = {"ph": "X", "cat": category, "name": name, "pid": process, "tid": thread, "ts": ts, "dur": dur}
    return event | {"args": args} if args else event


def write_table(columns: int, path: Path) -> None:
    """Write a folder of the Ascend profiler with a table of kernels of so many columns."""
    folder = path / "rank0_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    folder.mkdir(parents=True)
    known = {
        "Device_id": 0, "Model ID": 4294967295, "Task ID": 1, "Stream ID": 2, "Name": "aclnnMm_MatMulV2",
        "Type": "MatMulV2", "Accelerator Core": "AI_CORE", "Start Time(us)": "", "Duration(us)": 10.0,
        "Wait Time(us)": 0, "Block Dim": 20, "Mix Block Dim": 0, "Input Shapes": "64,64;64,64",
        "Input Data Types": "FLOAT16;FLOAT16", "Input Formats": "ND;ND", "Output Shapes": "64,64",
    }  # fmt: skip
    more = [f"aic_more_{number}(us)" for number in range(columns - len(known))]
    with (folder / "kernel_details.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*known, *more])
        for row in range(_ROWS):
            cells = {**known, "Task ID": row, "Start Time(us)": f"1700000000{row * 20 + 100:06d}.000"}
            writer.writerow([*cells.values(), *["1.5"] * len(more)])
