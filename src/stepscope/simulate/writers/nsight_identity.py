"""Who is who in an export: processes, threads, queues and clocks, in Nsight Systems' numbers."""

from __future__ import annotations

from dataclasses import dataclass

from stepscope.simulate.devices import DEVICES
from stepscope.simulate.engine.run import clock_offset
from stepscope.simulate.job import SimJob
from stepscope.simulate.writers.kineto_events import BASE_NS, START_NS

# The upper 16 bits of every identity: no hardware id, virtual machine 1. 24 bits for the process follow, 24 for the
# thread.
GLOBAL_VM = 1 << 48
# How long the profiler had been running when the job began; further sessions began a little earlier.
_LEAD_NS = 2_417_000_000
_STAGGER_NS = 7_351_000


@dataclass(frozen=True, slots=True)
class Identity:
    """One rank in the recording of a session.

    Attributes:
        index: the device's number on the host.
        pid: the process.
        threads: identities of the host threads, by the records' numbers.
        streams: numbers of the device queues, likewise.
        shift: added to a record's time it gives ns since the session's start.
        utc_ns: the session's start, as the host's clock showed it (Unix ns).
    """

    index: int
    pid: int
    threads: tuple[int, ...]
    streams: tuple[int, ...]
    shift: int
    utc_ns: int

    @classmethod
    def of(cls, job: SimJob, rank: int, session: int) -> Identity:
        """A rank recorded in the session of the rank ``session``."""
        pid = 4100 + 131 * rank
        device = DEVICES[job.device]
        shift = _LEAD_NS + _STAGGER_NS * (session % 64)
        return cls(
            index=rank % job.ranks_per_host,
            pid=pid,
            threads=tuple(GLOBAL_VM | pid << 24 | tid for tid in (pid, pid + 117)),
            streams=(device.compute_stream, device.comm_stream, device.copy_stream),
            shift=shift,
            utc_ns=BASE_NS + START_NS - shift + clock_offset(job, rank),
        )

    @property
    def process(self) -> int:
        """The process's identity: a thread's without the thread."""
        return GLOBAL_VM | self.pid << 24

    @property
    def context(self) -> int:
        """The CUDA context's number."""
        return self.index + 1
