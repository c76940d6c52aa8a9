"""State of a simulated rank: its clock, queues, memory, open operators and records."""

from __future__ import annotations

from collections import Counter

from stepscope.simulate import causes
from stepscope.simulate.devices import DEVICES
from stepscope.simulate.engine.allocator import Allocator, Block
from stepscope.simulate.engine.loader import Loader
from stepscope.simulate.engine.noise import factors, next_alarm
from stepscope.simulate.engine.queues import OpenAnnotation, SimQueue
from stepscope.simulate.hostlog import HostLog
from stepscope.simulate.job import SimJob
from stepscope.simulate.records import QUEUES, ActivityRecord, CallRecord, DeviceSpanRecord, Memory, Record, Segment
from stepscope.simulate.specs import KernelSpec, OpSpec
from stepscope.simulate.truth import RankTruth

Open = tuple[OpSpec, int, int, int, int, OpenAnnotation | None]


class RankState:
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
        self.past: list[Memory | Segment | CallRecord] = []
        self.running: list[ActivityRecord] = []
        self.handed_over = 0
        self.stack: list[Open] = []
        self.operators = 0
        self.open_ops = 0
        self.frames: list[tuple[str, int, int, int]] = []
        self.forward: dict[int, tuple[int, int]] = {}
        self.events: dict[int, int] = {}
        self.blocks: dict[int, Block] = {}
        latency = job.launch_latency_ns, job.event_latency_ns
        self.queues = [SimQueue(job.queue_depth, job.kernel_gap_ns, *latency) for _ in QUEUES]
        self.allocator = Allocator(job.memory_bytes or DEVICES[job.device].memory)
        self.loader = Loader(job, index)
        self.log = HostLog()
        self.log.add(self.now, causes.PYTHON)
        self.truth = RankTruth(self.log, self.now)
        self.recording = False
        self.recorded_from = 0
        self.alarm = next_alarm(job, 0)
        self.used: set[str] = set()
        self.flush_at = 1 << 62

    def spend(self, ns: int, cause: int) -> None:
        """Spend host time on a cause, with noise."""
        turn = self.host_turn = self.host_turn + 1
        self.now += ns * self.host_noise[turn & self.host_mask] >> 10
        log = self.log
        if log.kinds[-1] == cause:
            log.ends[-1] = self.now
        else:
            log.add(self.now, cause)

    def until(self, time: int, cause: int) -> None:
        """Let the host wait until a time."""
        if time > self.now:
            self.now = time
            self.log.add(time, cause)

    def device_ns(self, spec: KernelSpec) -> int:
        """Duration of an activity on this rank's device."""
        turn = self.device_turn = self.device_turn + 1
        return max(1, spec.duration_ns * self.device_noise[turn & self.device_mask] >> 10)

    def drain(self) -> list[Record]:
        """Hand over the records that are complete; none while an operator is open."""
        if self.open_ops or not self.recording:
            return []
        records, self.buffer = self.buffer, []
        return [record for record in records if record is not None]

    def close_mark(self, spec: OpSpec, external: int, mark: OpenAnnotation) -> None:
        """Write the device-side copies of an annotation that ends."""
        for index, start in mark.first.items():
            end = self.queues[index].last[mark.thread]
            self.buffer.append(DeviceSpanRecord(start, end, index, spec, external, self.step))
