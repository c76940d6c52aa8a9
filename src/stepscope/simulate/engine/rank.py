"""One rank: its host threads, one after the other, and the device queues they feed."""

from __future__ import annotations

from collections.abc import Callable, Generator
from types import MethodType
from typing import Any

from stepscope.simulate import causes
from stepscope.simulate.engine import calls, host
from stepscope.simulate.engine.state import RankState
from stepscope.simulate.program import instructions as ins
from stepscope.simulate.program.step import StepProgram
from stepscope.simulate.records import ActivityRecord, CallRecord, Memory, Past, Segment
from stepscope.simulate.specs import KernelSpec, OpSpec
from stepscope.simulate.truth import RankTruth

# Instructions between two looks at whether the buffer should be handed on.
CHUNK = 2000


Action = tuple[Callable[[Any], None], Any]
# What a rank hands over: a collective it has arrived at, or None for a chance to empty its buffer.
Request = tuple[KernelSpec, int] | None


class Rank(RankState):
    """One rank that runs its program; the instructions' effects on its state are in ``host`` and ``calls``."""

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
            self.truth.start_step(self.step, self.now, typical=self.step >= self.job.warmup_steps and not edge)
        mark = self.job.mark_steps
        if mark:
            host.enter(self, ins.Enter(OpSpec(self.job.step_name.format(self.step), "annotation")))
        for first in range(0, len(actions), CHUNK):
            for effect, instruction in actions[first : first + CHUNK]:
                if type(instruction) is ins.Collect:
                    start, finish = calls.arrive(self, instruction)
                    end = yield (instruction.kernel, start)
                    finish(end or start + instruction.kernel.duration_ns)
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
        """Drop what is not recorded, except allocator events and the device's pending work."""
        launched = (*self.running, *(record for record in self.buffer if isinstance(record, ActivityRecord)))
        self.running = [activity for activity in launched if activity.end > self.now]
        for record in self.buffer:
            if isinstance(record, CallRecord) and record.name not in calls.SEGMENT_CALLS:
                continue
            if isinstance(record, (Memory, Segment, CallRecord)):
                self.past.append(record)
        self.buffer.clear()


def _method(effect: Callable[[Rank, Any], None], rank: Rank) -> Callable[[Any], None]:
    return MethodType(effect, rank)


def _never(instruction: object) -> None:
    raise TypeError(f"no effect for {instruction!r}")
