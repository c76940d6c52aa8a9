"""The data loader: worker processes that fill a queue, or the main thread itself."""

from __future__ import annotations

from random import Random

from stepscope.simulate.job import SimJob


class Loader:
    """Batches in order: batch ``i`` is made by worker ``i mod N``, which starts once the batch was asked for.

    With ``N`` workers and a prefetch factor ``p``, batch ``i`` is asked for when batch ``i - N p`` is taken; the first
    ones when the job starts to iterate.
    """

    __slots__ = ("_load_ns", "_ready", "_rng", "_taken", "job", "next_index")

    def __init__(self, job: SimJob, rank: int) -> None:
        self.job = job
        self._load_ns = int(job.load_ns * (job.slow_loader_factor if rank == job.slow_loader_rank else 1.0))
        self._rng = Random(job.seed * 1_000_003 + rank)
        self._ready: list[int] = [0] * max(1, job.workers)
        self._taken: list[int] = [0] * max(1, job.workers * job.prefetch)
        self.next_index = 0

    def load_ns(self) -> int:
        """Time one loader needs for the next batch, in ns."""
        job = self.job
        if not job.load_jitter:
            return self._load_ns
        return int(self._load_ns * self._rng.lognormvariate(0.0, job.load_jitter))

    def ready_at(self, now: int) -> int:
        """When the next batch lies in the queue; ``now`` is when it is asked for."""
        job, index = self.job, self.next_index
        if not index:
            self._ready, self._taken = [now] * len(self._ready), [now] * len(self._taken)
        asked = self._taken[index % len(self._taken)]
        worker = index % job.workers
        ready = max(asked, self._ready[worker]) + self.load_ns()
        self._ready[worker] = ready
        self._taken[index % len(self._taken)] = max(now, ready)
        self.next_index = index + 1
        return ready
