"""Records of a simulated rank, independent of file formats. Times are true ns since the job's start."""

from __future__ import annotations

from typing import NamedTuple

from stepscope.simulate.specs import KernelSpec, OpSpec

MAIN, AUTOGRAD = 0, 1
THREADS = ("main", "autograd")

COMPUTE, COMM, COPY = 0, 1, 2
QUEUES = ("compute", "comm", "copy")
#: Why an activity began no sooner on its queue: its launch, an event that the queue waited for, or work before it.
LATENCY, DEPENDENCY, BUSY = 0, 1, 2


class SpanRecord(NamedTuple):
    """An operator or annotation on a host thread; ``sequence`` links forward and backward (-1: none)."""

    start: int
    end: int
    thread: int
    spec: OpSpec
    external: int
    sequence: int
    step: int


class CallRecord(NamedTuple):
    """A runtime call; ``launches`` says that device activities carry its correlation.

    ``queue`` is the one that it fills, marks, lets wait or waits for (-1: none, or all); ``event`` the mark (-1: none).
    """

    start: int
    end: int
    thread: int
    name: str
    correlation: int
    external: int
    launches: bool
    step: int
    queue: int = -1
    event: int = -1


class Wait(NamedTuple):
    """A host thread blocked in an operating-system call."""

    start: int
    end: int
    thread: int
    name: str
    step: int


class ActivityRecord(NamedTuple):
    """A kernel, copy, memset or collective on a device queue; ``node`` is its place in a graph (0: none)."""

    start: int
    end: int
    queue: int
    spec: KernelSpec
    correlation: int
    external: int
    node: int
    sequence: int
    step: int


class Context(NamedTuple):
    """Enclosing Python functions and operators of a host thread, outermost first."""

    frames: tuple[str, ...] = ()
    operators: tuple[OpSpec, ...] = ()


class Memory(NamedTuple):
    """An allocation (positive bytes) or a free (negative) by the caching allocator; ``requested`` is what was asked."""

    ts: int
    thread: int
    address: int
    bytes: int
    allocated: int
    reserved: int
    external: int
    step: int
    requested: int
    context: Context


class Segment(NamedTuple):
    """Memory the allocator took from (positive bytes) or gave back to (negative) the driver."""

    ts: int
    address: int
    bytes: int
    step: int
    context: Context


class Past(NamedTuple):
    """Allocator events before the recording started, with its driver calls."""

    records: tuple[Memory | Segment | CallRecord, ...]


class Flow(NamedTuple):
    """From a forward operator to its backward."""

    id: int
    start: int
    start_thread: int
    end: int
    end_thread: int


class DeviceSpanRecord(NamedTuple):
    """An annotation as the device saw it: first to last activity launched inside on one queue."""

    start: int
    end: int
    queue: int
    spec: OpSpec
    external: int
    step: int


class FrameRecord(NamedTuple):
    """A Python function call; ``parent`` is the caller's ``id`` (0: none)."""

    start: int
    end: int
    thread: int
    name: str
    id: int
    parent: int
    step: int


class Overhead(NamedTuple):
    """Time the profiler itself took from the host."""

    start: int
    end: int
    name: str


Record = (
    SpanRecord
    | CallRecord
    | Wait
    | ActivityRecord
    | Memory
    | Segment
    | Past
    | Flow
    | DeviceSpanRecord
    | FrameRecord
    | Overhead
)
