"""Effects of instructions that concern the host alone: operators, Python, pauses, the loader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stepscope.simulate import causes
from stepscope.simulate.engine.noise import next_alarm, next_pause
from stepscope.simulate.engine.queues import OpenAnnotation
from stepscope.simulate.engine.state import RankState
from stepscope.simulate.program import instructions as ins
from stepscope.simulate.records import AUTOGRAD, MAIN, Flow, FrameRecord, SpanRecord, Wait
from stepscope.simulate.specs import OpSpec, TensorSpec

# Operators the collating main thread runs per batch when there are no workers.
_COLLATE = ("aten::empty", "aten::select", "aten::copy_", "aten::stack", "aten::cat", "aten::resize_")


def enter(r: RankState, i: ins.Enter) -> None:
    """Start an operator or annotation."""
    start = r.now
    r.external += 1
    spec, sequence = i.spec, i.sequence
    if spec.kind == "op":
        slot = len(r.buffer)
        r.buffer.append(None)
        r.open_ops += 1
        r.operators += 1
        mark: OpenAnnotation | None = None
    else:
        slot = -1
        mark = OpenAnnotation(r.thread)
        for queue in r.queues:
            queue.opening.append(mark)
    if sequence >= 0:
        sequence += r.sequence_base
        if not spec.backward:
            r.forward[sequence] = (start, r.thread)
        else:
            origin = r.forward.pop(sequence, None)
            if origin is not None:
                r.flow += 1
                r.buffer.append(Flow(r.flow, origin[0], origin[1], start, r.thread))
    r.stack.append((spec, start, r.external, sequence, slot, mark))
    r.spend(r.job.op_ns, causes.OP)
    if r.recording and r.job.profiler_op_ns:
        r.spend(r.job.profiler_op_ns, causes.PROFILER)
    if r.operators >= r.alarm:
        interrupt(r)


def leave(r: RankState, _: object) -> None:
    """End the innermost operator or annotation."""
    spec, start, external, sequence, slot, mark = r.stack.pop()
    r.spend(r.job.op_ns >> 2, causes.OP)
    span = SpanRecord(start, r.now, r.thread, spec, external, sequence, r.step)
    if slot >= 0:
        r.buffer[slot] = span
        r.open_ops -= 1
        return
    r.buffer.append(span)
    for queue in r.queues:
        queue.opening = [other for other in queue.opening if other is not mark]
    if mark is not None:
        r.close_mark(spec, external, mark)


def interrupt(r: RankState) -> None:
    """Insert a garbage collection or a pause of the process between two operators."""
    job, due = r.job, r.alarm
    if job.gc_interval_ops and due % job.gc_interval_ops == 0:
        start = r.now
        r.spend(job.gc_pause_ns, causes.GC)
        if job.with_stack:
            r.frame_id += 1
            parent = r.frames[-1][2] if r.frames else 0
            r.buffer.append(FrameRecord(start, r.now, r.thread, "Python GC", r.frame_id, parent, r.step))
    if job.pause_interval_ops and due == next_pause(job, due - 1):
        r.spend(job.pause_ns, causes.PYTHON)
    r.alarm = next_alarm(job, r.operators)


def spend(r: RankState, i: ins.Spend) -> None:
    """Spend host time for a cause."""
    r.spend(i.ns, i.cause)


def thread(r: RankState, i: ins.SwitchThread) -> None:
    """Hand over to another thread, which wakes up for it. The main thread waits for autograd's."""
    r.spend(4 * r.job.op_ns, causes.OP)
    r.thread = i.thread
    if i.thread == AUTOGRAD:
        r.handed_over = r.now
    else:
        r.buffer.append(Wait(r.handed_over, r.now, MAIN, "pthread_cond_wait", r.step))


def frame_in(r: RankState, i: ins.FrameIn) -> None:
    """Enter a Python function; where frames are not recorded it costs nothing."""
    if not r.job.with_stack:
        r.frames.append((i.name, r.now, 0, 0))
        return
    r.frame_id += 1
    r.frames.append((i.name, r.now, r.frame_id, r.frames[-1][2] if r.frames else 0))
    r.spend(r.job.python_ns >> 3, causes.PYTHON)


def frame_out(r: RankState, _: ins.FrameOut) -> None:
    """Leave the innermost Python function."""
    name, start, number, parent = r.frames.pop()
    if not r.job.with_stack:
        return
    r.spend(r.job.python_ns >> 4, causes.PYTHON)
    r.buffer.append(FrameRecord(start, r.now, MAIN, name, number, parent, r.step))


def next_batch(r: RankState, _: ins.NextBatch) -> None:
    """Take a batch from the loader: wait for the queue, or load it in this thread."""
    single = r.job.workers == 0
    kind = "Single" if single else "Multi"
    name = f"enumerate(DataLoader)#_{kind}Process{'ing' * (not single)}DataLoaderIter.__next__"
    enter(r, ins.Enter(OpSpec(name, "annotation")))
    if single:
        _load_here(r)
    else:
        asked, ready = r.now, r.loader.ready_at(r.now)
        if ready > asked:
            r.until(ready, causes.DATA)
            r.buffer.append(Wait(asked, ready, MAIN, "poll", r.step))
        r.spend(r.job.collate_ns, causes.DATA)
    leave(r, None)


def _load_here(r: RankState) -> None:
    share = r.loader.load_ns() // len(_COLLATE)
    sample = TensorSpec((max(1, r.job.hidden),), "fp32")
    for name in _COLLATE:
        enter(r, ins.Enter(OpSpec(name, "op", (sample,))))
        r.spend(share, causes.DATA)
        leave(r, None)
    r.spend(r.job.collate_ns, causes.DATA)


TABLE: dict[type, Callable[[Any, Any], None]] = {
    ins.Enter: enter,
    ins.Leave: leave,
    ins.Spend: spend,
    ins.SwitchThread: thread,
    ins.FrameIn: frame_in,
    ins.FrameOut: frame_out,
    ins.NextBatch: next_batch,
}
