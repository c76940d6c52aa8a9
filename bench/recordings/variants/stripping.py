"""Recordings without what the recorder was not asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bench.kineto_json import Event
from bench.recordings.variants.ascend import AscendRecording
from bench.recordings.variants.kineto import KinetoRecording, category, is_mark, is_runtime, on_device
from bench.recordings.variants.nsight import NsightRecording
from bench.recordings.variants.recording import NotApplicableError, Recording
from bench.recordings.variants.snapshot import SnapshotRecording

Change = Callable[[Recording], None]

_OPS: Final = ("cpu_op", "operator")
_STACK: Final = ("Call stack", "Python id", "Python parent id", "Python module id")
#: What ties events together or places them; the rest of the arguments describes.
_TIES: Final = (
    "correlation", "External id", "device", "stream", "context", "Rank", "Record function id", "Ev Idx", "labels",
    "name", "sort_index",
)  # fmt: skip


def without_events(unwanted: Callable[[Event], bool]) -> Change:
    """A trace of PyTorch without some events."""

    def change(recording: Recording) -> None:
        kineto = _kineto(recording)
        kineto.keep(not unwanted(event) for timeline in [*kineto.files.values()] for event in [*timeline.events])

    return change


def _kineto(recording: Recording) -> KinetoRecording:
    if not isinstance(recording, KinetoRecording):
        raise NotApplicableError
    return recording


def without_python(recording: Recording) -> None:
    """No stacks: neither Python's functions nor the operators' call stacks."""
    without_events(lambda event: category(event) == "python_function")(recording)
    for event in _kineto(recording).events():
        _drop_args(event, lambda key: key in _STACK)


def without_arguments(recording: Recording) -> None:
    """No shapes, types, sizes, grids."""
    for event in _kineto(recording).events():
        _drop_args(event, lambda key: key not in _TIES)


def without_shapes(recording: Recording) -> None:
    """`record_shapes` was off."""
    inputs = "Input Dims", "Input type", "Input Strides", "Concrete Inputs", "Input Shapes", "Input dims", "Input"
    changed = False
    for event in _kineto(recording).events():
        changed |= _drop_args(event, lambda key: key in inputs)
    if not changed:
        raise NotApplicableError


def _drop_args(event: Event, unwanted: Callable[[str], bool]) -> bool:
    args = event.get("args")
    if not args or not any(map(unwanted, args)):
        return False
    event["args"] = {key: value for key, value in args.items() if not unwanted(key)}
    return True


def without_device_properties(recording: Recording) -> None:
    """The file does not say which device it is."""
    for timeline in _kineto(recording).files.values():
        if timeline.head.pop("deviceProperties", None) is None:
            raise NotApplicableError


def without_head(recording: Recording) -> None:
    """Events alone."""
    kineto = _kineto(recording)
    for timeline in kineto.files.values():
        timeline.head = {key: value for key, value in timeline.head.items() if key == "distributedInfo"}
    without_events(lambda event: event.get("ph") == "M")(recording)


PYTORCH: Final[dict[str, Change]] = {
    "without Python and stacks": without_python,
    "without operators": without_events(lambda event: category(event) in _OPS),
    "without shapes": without_shapes,
    "without arguments": without_arguments,
    "without marks of steps": without_events(is_mark),
    "without annotations": without_events(
        lambda event: category(event) in ("user_annotation", "gpu_user_annotation") or is_mark(event)
    ),
    "without calls of the runtime": without_events(is_runtime),
    "device only": without_events(
        lambda event: (
            event.get("ph") in ("s", "t", "f")
            or (event.get("ph") != "M" and not on_device(event) and category(event) != "trace")
            or category(event) == "gpu_user_annotation"
        )
    ),
    "without flows": without_events(lambda event: event.get("ph") in ("s", "t", "f")),
    "without device properties": without_device_properties,
    "without head and metadata": without_head,
}


def _ranges(event: Event) -> bool:
    return category(event) == "user_annotation" or event.get("ph") == "M"


def without_late_kernels(recording: Recording) -> None:
    """The tracer's buffer was full after a part of the work, of which the first half is there."""
    kineto = _kineto(recording)
    times = sorted(event["ts"] for event in kineto.events() if on_device(event))
    if not times:
        raise NotApplicableError
    limit = times[len(times) // 2]
    without_events(lambda event: on_device(event) and event["ts"] > limit)(recording)


#: What the tracer did not give though it was asked for, and files of almost nothing.
LOST: Final[dict[str, Change]] = {
    "without kernels": without_events(on_device),
    "the host alone": without_events(lambda event: on_device(event) or is_runtime(event) or category(event) == "ac2g"),
    "only ranges": without_events(lambda event: not _ranges(event)),
    "without the later kernels": without_late_kernels,
}


def without_tables(*names: str) -> Change:
    """An export of Nsight Systems without some tables."""

    def change(recording: Recording) -> None:
        if not isinstance(recording, NsightRecording):
            raise NotApplicableError
        recording.drop(*names)

    return change


NSIGHT: Final[dict[str, Change]] = {
    "without NVTX": without_tables("NVTX_EVENTS"),
    "without OS calls": without_tables("OSRT_API"),
    "without samples": without_tables("COMPOSITE_EVENTS", "SCHED_EVENTS", "SAMPLING_CALLCHAINS"),
    "without waits": without_tables("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"),
    "without the runtime": without_tables("CUPTI_ACTIVITY_KIND_RUNTIME"),
    "without overhead": without_tables("PROFILER_OVERHEAD", "CUPTI_ACTIVITY_KIND_OVERHEAD"),
}


def without_files(*patterns: str) -> Change:
    """A folder of Ascend without some files."""

    def change(recording: Recording) -> None:
        if not isinstance(recording, AscendRecording):
            raise NotApplicableError
        for path in recording.found(*patterns):
            path.unlink()

    return change


ASCEND: Final[dict[str, Change]] = {
    "without operators' tables": without_files("operator_details.csv", "op_statistic.csv", "api_statistic.csv"),
    "without memory's tables": without_files("operator_memory.csv", "memory_record.csv", "npu_module_mem.csv"),
    "without kernel details": without_files("kernel_details.csv"),
    "without timeline": without_files("trace_view.json"),
    "without sums of steps": without_files("step_trace_time.csv"),
    "without communication's tables": without_files("communication.json", "communication_matrix.json"),
    "without metadata": without_files("profiler_metadata.json"),
}


def without_frames(recording: Recording) -> None:
    """A snapshot without stacks."""
    if not isinstance(recording, SnapshotRecording):
        raise NotApplicableError
    for history in recording.histories:
        for entry in history:
            entry.pop("frames", None)
    for segment in recording.content.get("segments", []):
        segment.pop("frames", None)
        for block in segment.get("blocks", []):
            block.pop("frames", None)
            for former in block.get("history", []):
                former.pop("frames", None)


SNAPSHOT: Final[dict[str, Change]] = {"without stacks": without_frames}
