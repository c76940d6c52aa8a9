"""Ids of a rank's recording, and its folder."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Final

from stepscope.simulate.devices import DEVICES, SimDevice
from stepscope.simulate.engine.run import clock_offset
from stepscope.simulate.job import SimJob
from stepscope.simulate.writers.formats import Targets
from stepscope.simulate.writers.kineto_events import BASE_NS, START_NS

#: Processes that the profiler makes up, one per layer of the stack, by their place in the list of processes.
GC, CANN, HARDWARE, FREQUENCY, COMMUNICATION, MEMORY, OVERLAP = 1, 7, 13, 14, 15, 19, 23

#: Value of unset ids.
INVALID: Final = 2**32 - 1


@dataclass(frozen=True, slots=True)
class RankPlace:
    """Where one rank ran.

    Attributes:
        job: what ran.
        rank: which rank it was.
        device_kind: the device's description.
        host: name of its machine.
        pid: process id.
        threads: thread ids of the main thread and of autograd's.
        queue_thread: thread that takes tasks off the framework's queue and calls CANN.
        device: index of its device on the machine.
        streams: stream numbers by queue.
        shift: from the job's time to Unix time on the rank's machine, in ns.
    """

    job: SimJob
    rank: int
    device_kind: SimDevice
    host: str
    pid: int
    threads: tuple[int, int]
    queue_thread: int
    device: int
    streams: tuple[int, int, int]
    shift: int

    @classmethod
    def of(cls, job: SimJob, rank: int) -> RankPlace:
        """The place of a rank."""
        pid = 4100 + 131 * rank
        device = DEVICES[job.device]
        return cls(
            job=job,
            rank=rank,
            device_kind=device,
            host=f"node{rank // job.ranks_per_host}",
            pid=pid,
            threads=(pid, pid + 117),
            queue_thread=pid + 58,
            device=rank % job.ranks_per_host,
            streams=(device.compute_stream, device.comm_stream, device.copy_stream),
            shift=BASE_NS + START_NS + clock_offset(job, rank),
        )

    @property
    def tasks(self) -> bool:
        """Whether anything of the device and of CANN is recorded."""
        return self.job.profiler_level >= 0

    @property
    def renamed(self) -> bool:
        """Whether tables have the names of releases from CANN 8.5 on, and a column for the device."""
        return self.job.cann != "8.0"

    @property
    def device_column(self) -> str:
        """Head of a table's column for the device, which older releases lack."""
        return "Device_id," if self.renamed else ""

    @property
    def device_cell(self) -> str:
        """What stands below it."""
        return f"{self.device}," if self.renamed else ""

    @property
    def only_sums(self) -> bool:
        """Whether the rank keeps its sums alone: a timeline of each would fill the disks of clusters."""
        return 0 <= self.job.sums_from_rank <= self.rank

    @property
    def details(self) -> bool:
        """Whether calls of CANN, kinds of cores, counters and parts of collectives are recorded."""
        return self.job.profiler_level >= 1

    @property
    def everything(self) -> bool:
        """Whether calls of CANN's runtime, sizes of copies, caches and the AI CPU are recorded, too."""
        return self.job.profiler_level >= 2

    @property
    def megahertz(self) -> int:
        """Clock of the cores; a slower device has a lower clock."""
        slow = self.job.slow_factor if self.rank == self.job.slow_rank else 1.0
        return round(self.device_kind.megahertz / slow)

    @property
    def folder(self) -> str:
        """Name of the rank's folder: machine, process, and when the profiler was set up, in UTC."""
        begun = datetime.fromtimestamp(self.shift // 10**9, timezone.utc)
        return f"{self.host}_{self.pid}_{begun:%Y%m%d%H%M%S}{self.shift // 10**6 % 1000:03d}_ascend_pt"

    def process(self, layer: int) -> int:
        """Id of the process made up for a layer."""
        return self.pid << 10 | layer << 5 | self.device

    def stamp(self, time: int) -> str:
        """A time of the job as µs since 1970, exactly."""
        return micros(time + self.shift)


def micros(ns: int) -> str:
    """Nanoseconds, not negative, as µs with three decimals."""
    return f"{ns // 1000}.{ns % 1000:03d}"


def trimmed(ns: int) -> str:
    """Nanoseconds, not negative, as µs with as few decimals as are needed, as CANN writes them into tables."""
    return micros(ns).rstrip("0").rstrip(".") if ns % 1000 else f"{ns // 1000}.0"


def folders(job: SimJob, out: Path) -> Targets:
    """A folder per rank inside ``out``, which exists afterwards."""
    out.mkdir(parents=True, exist_ok=True)
    return Targets([out / RankPlace.of(job, rank).folder for rank in range(job.ranks)], out / "job.truth.json")
