"""One rank: its host threads, one after the other, and the device queues they feed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from types import MethodType
from typing import Any

from stepscope.simulate import causes
from stepscope.simulate.devices import DEVICES
from stepscope.simulate.engine import calls, host
from stepscope.simulate.engine.allocator import Allocator, Block
from stepscope.simulate.engine.hostlog import HostLog
from stepscope.simulate.engine.loader import Loader
from stepscope.simulate.engine.noise import factors
from stepscope.simulate.engine.queues import Mark, Queue
from stepscope.simulate.job import SimJob
from stepscope.simulate.program import instructions as ins
from stepscope.simulate.program.step import StepProgram
from stepscope.simulate.records import QUEUES, Activity, Call, DeviceSpan, Memory, Past, Record, Segment
from stepscope.simulate.specs import KernelSpec, OpSpec
from stepscope.simulate.truth import RankTruth

# Instructions between two looks at whether the buffer should be handed on.
CHUNK = 2000


Open = tuple[OpSpec, int, int, int, int, Mark | None]
Action = tuple[Callable[[Any], None], Any]
# What a rank hands over: a collective it has arrived at, or None for a chance to empty its buffer.
Request = tuple[KernelSpec, int] | None


class Rank:
    """State of one rank while it runs; the instructions' effects are in ``host`` and ``calls``."""

    def __init__(self, job: SimJob, index: int) -> None:
        self.job = job
        self.index = index
        slow_host = job.slow_host_factor if index == job.slow_host_rank else 1.0
        slow = job.slow_factor if index == job.slow_rank else 1.0
        self.host_noise = factors(job.noise_seed * 7919 + index, job.noise, slow_host)
        self.device_noise = factors(job.noise_seed * 104_729 + index, job.noise, slow)
        self.host_mask = len(self.host_noise) - 1
        self.device_mask = len(self.device_noise) - 1
        self.host_turn = self.device_turn = 0
        self.now = 1_000_000
        self.thread = 0
        self.step = 0
        self.external = 0
        self.correlation = 1000
        self.flow = 0
        self.frame_id = 0
        self.sequence_base = 0
        self.collectives = 0
        self.sequences: Counter[str] = Counter()
        self.buffer: list[Record | None] = []
        self.past: list[Memory | Segment | Call] = []
        self.running: list[Activity] = []
        self.handed_over = 0
        self.stack: list[Open] = []
        self.operators = 0
        self.open_ops = 0
        self.frames: list[tuple[str, int, int, int]] = []
        self.forward: dict[int, tuple[int, int]] = {}
        self.events: dict[int, int] = {}
        self.blocks: dict[int, Block] = {}
        latency = job.launch_latency_ns, job.event_latency_ns
        self.queues = [Queue(job.queue_depth, job.kernel_gap_ns, *latency) for _ in QUEUES]
        self.allocator = Allocator(job.memory_bytes or DEVICES[job.device].memory)
        self.loader = Loader(job, index)
        self.log = HostLog()
        self.log.add(self.now, causes.PYTHON)
        self.truth = RankTruth(self.log, self.now)
        self.recording = False
        self.recorded_from = 0
        self.alarm = host.next_alarm(job, 0)
        self.used: set[str] = set()
        self.flush_at = 1 << 62

    def spend(self, ns: int, cause: int) -> None:
        """The host spends time, disturbed by noise, on a cause."""
        turn = self.host_turn = self.host_turn + 1
        self.now += ns * self.host_noise[turn & self.host_mask] >> 10
        log = self.log
        if log.kinds[-1] == cause:
            log.ends[-1] = self.now
        else:
            log.add(self.now, cause)

    def until(self, time: int, cause: int) -> None:
        """The host waits until a time."""
        if time > self.now:
            self.now = time
            self.log.add(time, cause)

    def device_ns(self, spec: KernelSpec) -> int:
        """How long an activity takes on this rank's device."""
        turn = self.device_turn = self.device_turn + 1
        return max(1, spec.duration_ns * self.device_noise[turn & self.device_mask] >> 10)

    def bind(self, program: ins.Program) -> list[Action]:
        """The program as calls on this rank; a collective has no call, the runner handles it."""
        table = {**host.TABLE, **calls.TABLE}
        bound = {kind: _method(effect, self) for kind, effect in table.items()}
        return [(bound.get(type(i), _never), i) for i in program]

    def run(self, programs: Callable[[int], StepProgram]) -> Generator[Request, int | None, None]:
        """Run all steps; yields collectives (the answer is their end) and chances to empty the buffer."""
        job = self.job
        bound: dict[int, tuple[StepProgram, list[Action]]] = {}
        for number in range(job.warmup_steps + job.steps):
            variant = number % job.sequence_cycle
            if variant not in bound:
                program = programs(variant)
                bound[variant] = (program, self.bind(program.body))
            program, actions = bound[variant]
            if number == 0:
                if job.record_start:
                    self._start_recording()
                if job.context_ns:
                    calls.make_context(self)
                for effect, instruction in self.bind(program.setup):
                    effect(instruction)
            if number == job.warmup_steps and not self.recording:
                self._start_recording()
            self.step = number
            yield from self._step(program, actions)
        calls.synchronise(self, ins.Sync(-1))
        self.spend(job.profiler_stop_ns, causes.PROFILER)
        self.truth.finish(self.now)
        yield None

    def _start_recording(self) -> None:
        if not self.job.start_edge:
            calls.synchronise(self, ins.Sync(-1))
        self._forget()
        self.buffer.append(Past(tuple(self.past)))
        if self.job.start_edge:
            self.buffer.extend(self.running)
        self.recording = True
        self.truth = RankTruth(self.log, self.now)
        self.recorded_from = self.now
        if self.job.buffer_flush_ops:
            self.flush_at = self.correlation + self.job.buffer_flush_ops

    def _step(self, program: StepProgram, actions: list[Action]) -> Generator[Request, int | None, None]:
        recording = self.recording
        if recording:
            # What still ran when recording began makes the first step longer than the others.
            edge = self.job.start_edge and self.step == self.job.warmup_steps
            self.truth.begin_step(self.step, self.now, typical=self.step >= self.job.warmup_steps and not edge)
        mark = self.job.mark_steps
        if mark:
            host.enter(self, ins.Enter(OpSpec(self.job.step_name.format(self.step), "annotation")))
        for start in range(0, len(actions), CHUNK):
            for effect, instruction in actions[start : start + CHUNK]:
                if type(instruction) is ins.Collect:
                    begin, finish = calls.arrive(self, instruction)
                    end = yield (instruction.kernel, begin)
                    finish(end or begin + instruction.kernel.duration_ns)
                else:
                    effect(instruction)
            yield None
        if mark:
            host.leave(self, None)
        self.sequence_base += program.sequences
        self.forward.clear()
        if recording:
            self.truth.end_step(self.now)
        else:
            self._forget()
            self.log.forget(self.now)

    def _forget(self) -> None:
        """Drop what is not recorded; only what the allocator did is kept, and what the device has still to do."""
        launched = (*self.running, *(record for record in self.buffer if isinstance(record, Activity)))
        self.running = [activity for activity in launched if activity.end > self.now]
        for record in self.buffer:
            if isinstance(record, Call) and record.name not in calls.SEGMENT_CALLS:
                continue
            if isinstance(record, (Memory, Segment, Call)):
                self.past.append(record)
        self.buffer.clear()

    def drain(self) -> list[Record]:
        """Hand over the records that are complete; none while an operator is open."""
        if self.open_ops or not self.recording:
            return []
        records, self.buffer = self.buffer, []
        return [record for record in records if record is not None]

    def close_mark(self, spec: OpSpec, external: int, mark: Mark) -> None:
        """Write the device-side copies of an annotation that ends."""
        for index, begin in mark.first.items():
            end = self.queues[index].last[mark.thread]
            self.buffer.append(DeviceSpan(begin, end, index, spec, external, self.step))


def _method(effect: Callable[[Rank, Any], None], rank: Rank) -> Callable[[Any], None]:
    return MethodType(effect, rank)


def _never(instruction: object) -> None:
    raise TypeError(f"no effect for {instruction!r}")
