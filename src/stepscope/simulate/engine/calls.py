"""Effects of instructions that call the runtime: launches, copies, events, synchronisation, memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stepscope.simulate import causes
from stepscope.simulate.engine.queues import SimQueue
from stepscope.simulate.engine.state import RankState
from stepscope.simulate.program import instructions as ins
from stepscope.simulate.records import MAIN, ActivityRecord, CallRecord, Context, Memory, Overhead, Segment
from stepscope.simulate.specs import KernelSpec

# Time between two kernels of a graph, which the device starts by itself.
GRAPH_GAP_NS = 300
_LIBRARY_COPY = KernelSpec("Memcpy HtoD (Pageable -> Device)", "copy", "copy", 1_200, bytes=112, direction="HtoD")
# What the allocator calls to take a segment and to give one back.
SEGMENT_CALLS = ("cudaMalloc", "cudaFree")


def _call(r: RankState, name: str, ns: int, cause: int = causes.RUNTIME, launches: bool = False) -> CallRecord:
    """Make a runtime call of ``ns``; returns its record, not yet written."""
    start = r.now
    r.correlation += 1
    r.spend(ns, cause)
    external = r.stack[-1][2] if r.stack else 0
    return CallRecord(start, r.now, r.thread, name, r.correlation, external, launches, r.step)


def _submit(r: RankState, name: str, index: int, loading_ns: int = 0) -> CallRecord:
    """Make a launch call, which blocks while the queue is full, and write its record."""
    call = _call(r, name, r.job.launch_ns + loading_ns, launches=True)
    room = r.queues[index].room(r.now)
    if room > r.now:
        r.until(room, causes.RUNTIME)
    call = call._replace(end=r.now, queue=index)
    r.buffer.append(call)
    if r.correlation >= r.flush_at:
        _flush(r)
    return call


def _place(r: RankState, spec: KernelSpec, index: int, call: CallRecord, duration: int, start: int = -1) -> int:
    """Put an activity on a queue and write it; returns its end. ``start`` is given for a collective."""
    queue = r.queues[index]
    earliest, bound = queue.start(call.end)
    if start < 0:
        start = earliest
    end = start + duration
    queue.add(end)
    queue.last[r.thread] = end
    _open_marks(r, queue, index, start)
    r.buffer.append(ActivityRecord(start, end, index, spec, call.correlation, call.external, 0, r.collectives, r.step))
    r.truth.activity(start, end, spec, call.end, bound)
    return end


def _open_marks(r: RankState, queue: SimQueue, index: int, start: int) -> None:
    if queue.opening:
        for mark in queue.opening:
            if mark.thread == r.thread:
                mark.first[index] = start
        queue.opening = [mark for mark in queue.opening if mark.thread != r.thread]


def launch(r: RankState, i: ins.Launch) -> None:
    """Launch a kernel."""
    call = _submit(r, i.call, i.queue, _first_use_ns(r, i))
    _place(r, i.kernel, i.queue, call, r.device_ns(i.kernel))


def _first_use_ns(r: RankState, i: ins.Launch) -> int:
    """Additional time of a kernel's first launch; the library's own copies come before it."""
    if i.kernel.name in r.used:
        return 0
    r.used.add(i.kernel.name)
    if r.job.library_copies and i.kernel.op_class in ("gemm", "convolution"):
        copy(r, ins.Copy(_LIBRARY_COPY, i.queue, blocking=True))
    return r.job.first_use_ns


def make_context(r: RankState) -> None:
    """Create the context at the first runtime call."""
    r.buffer.append(_call(r, "cudaFree", r.job.context_ns, causes.RUNTIME))


def replay(r: RankState, i: ins.Replay) -> None:
    """Launch a graph: one call, many kernels back to back."""
    queue = r.queues[i.queue]
    call = _submit(r, "cudaGraphLaunch", i.queue)
    start, bound = queue.start(call.end)
    _open_marks(r, queue, i.queue, start)
    submitted = call.end
    for node, spec in enumerate(i.kernels, 1):
        end = start + r.device_ns(spec)
        r.buffer.append(ActivityRecord(start, end, i.queue, spec, call.correlation, call.external, node, 0, r.step))
        r.truth.activity(start, end, spec, submitted, bound)
        start = end + GRAPH_GAP_NS
    queue.add(end)
    queue.last[r.thread] = end


def copy(r: RankState, i: ins.Copy) -> None:
    """Copy; from pageable memory the call returns only when the copy is done."""
    slot = len(r.buffer)
    call = _submit(r, "cudaMemcpyAsync", i.queue)
    end = _place(r, i.kernel, i.queue, call, r.device_ns(i.kernel))
    if i.blocking:
        r.until(end + r.job.sync_return_ns, causes.SYNC)
        r.buffer[slot] = call._replace(end=r.now)


def arrive(r: RankState, i: ins.Collect) -> tuple[int, Callable[[int], None]]:
    """Launch a collective; returns when it starts here, and what to do once its end is known."""
    queue = r.queues[i.queue]
    call = _submit(r, "cudaLaunchKernelExC", i.queue)
    start, _ = queue.start(call.end)
    group = i.kernel.collective.group if i.kernel.collective is not None else ""
    r.sequences[group] += 1
    r.collectives = r.sequences[group]

    def finish(end: int) -> None:
        _place(r, i.kernel, i.queue, call, end - start, start)

    return start, finish


def record_event(r: RankState, i: ins.RecordEvent) -> None:
    """Mark the end of what is queued so far."""
    r.events[i.event] = r.queues[i.queue].free
    r.buffer.append(_call(r, "cudaEventRecord", r.job.call_ns)._replace(queue=i.queue, event=i.event))


def wait_event(r: RankState, i: ins.WaitEvent) -> None:
    """Make a queue wait for an event."""
    r.queues[i.queue].wait(r.events.get(i.event, 0))
    r.buffer.append(_call(r, "cudaStreamWaitEvent", r.job.call_ns)._replace(queue=i.queue, event=i.event))


def runtime_call(r: RankState, i: ins.RuntimeCall) -> None:
    """A call without effect on the device."""
    r.buffer.append(_call(r, i.name, r.job.call_ns))


def synchronise(r: RankState, i: ins.Sync) -> None:
    """Block until one queue or all of them have drained."""
    name = "cudaDeviceSynchronize" if i.queue < 0 else "cudaStreamSynchronize"
    queues = r.queues if i.queue < 0 else [r.queues[i.queue]]
    call = _call(r, name, r.job.call_ns, causes.SYNC)
    drained = max(queue.free for queue in queues)
    if drained > call.start:
        r.until(drained + r.job.sync_return_ns, causes.SYNC)
    r.buffer.append(call._replace(end=r.now, queue=i.queue))


def alloc(r: RankState, i: ins.Alloc) -> None:
    """Allocate memory, from the driver if no cached block fits; slot -1 is never freed."""
    allocator = r.allocator
    context = _context(r, i.frames)
    if not allocator.fits(i.bytes):
        if allocator.would_exceed(i.bytes):
            empty_cache(r, ins.EmptyCache())
        call = _call(r, "cudaMalloc", r.job.malloc_ns, causes.ALLOC)
        r.buffer.append(call)
        address, size = allocator.grow(i.bytes)
        r.buffer.append(Segment(r.now, address, size, r.step, context))
    block = allocator.take(i.bytes)
    if i.slot >= 0:
        r.blocks[i.slot] = block
    _memory(r, block.address, (block.bytes, block.requested), context)


def free(r: RankState, i: ins.Free) -> None:
    """Return memory to the cache."""
    block = r.blocks.pop(i.slot)
    address, sizes = block.address, (-block.bytes, -block.requested)
    r.allocator.give(block)
    _memory(r, address, sizes, _context(r))


def _memory(r: RankState, address: int, sizes: tuple[int, int], context: Context) -> None:
    held = r.allocator.allocated, r.allocator.reserved
    external = r.stack[-1][2] if r.stack else 0
    r.buffer.append(Memory(r.now, r.thread, address, sizes[0], *held, external, r.step, sizes[1], context))


def _context(r: RankState, frames: tuple[str, ...] = ()) -> Context:
    """The host's enclosing functions and operators; the autograd thread runs no Python."""
    entered = [frame[0] for frame in r.frames] if r.thread == MAIN else ()
    return Context((*entered, *frames), tuple([entry[0] for entry in r.stack if entry[0].kind == "op"]))


def empty_cache(r: RankState, _: ins.EmptyCache) -> None:
    """Give free segments back to the driver; cudaFree waits for the device."""
    context = _context(r)
    for address, size in r.allocator.trim():
        drained = max(queue.free for queue in r.queues)
        call = _call(r, "cudaFree", 2 * r.job.malloc_ns, causes.ALLOC)
        r.until(drained, causes.ALLOC)
        r.buffer.append(call._replace(end=r.now))
        r.buffer.append(Segment(r.now, address, -size, r.step, context))


def _flush(r: RankState) -> None:
    """Stop the host while the profiler gets a new buffer."""
    start = r.now
    r.spend(r.job.buffer_flush_ns, causes.PROFILER)
    r.buffer.append(Overhead(start, r.now, "Activity Buffer Request"))
    r.flush_at = r.correlation + r.job.buffer_flush_ops


TABLE: dict[type, Callable[[Any, Any], None]] = {
    ins.Launch: launch,
    ins.Replay: replay,
    ins.Copy: copy,
    ins.RecordEvent: record_event,
    ins.WaitEvent: wait_event,
    ins.RuntimeCall: runtime_call,
    ins.Sync: synchronise,
    ins.Alloc: alloc,
    ins.Free: free,
    ins.EmptyCache: empty_cache,
}
