"""Workers of Dask, on many machines or on this one. Stores lie on storage that all of them see."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any, Final

from stepscope.ingest.capacity import available_memory, cores
from stepscope.ingest.workers import MakeWorkers, Workers
from stepscope.language import said
from stepscope.model.errors import UserError

#: Instead of an address: workers of this machine, started for this run.
LOCAL: Final = "local"
_TIMEOUT: Final = "20s"
#: A local worker has room for one task of this size at least.
_MEMORY: Final = 1 << 30


class _Lent(Workers):
    """Workers that outlive the tasks of one round: Dask's scheduler replaces those that die."""

    def renew(self) -> None:
        """Go on with the same executor."""

    def close(self) -> None:
        """Leave the executor to who made it."""


@contextmanager
def dask_workers(where: str) -> Iterator[MakeWorkers]:
    """Makes workers of Dask's executor.

    Args:
        where: Address of a scheduler, such as `tcp://host:8786`; or `local`.

    Raises:
        UserError: Dask is not installed, or no scheduler answers there.
    """
    try:
        import distributed
    except ImportError as error:
        raise UserError("Dask is not installed", hint="install it with `pip install 'stepscope[dask]'`") from error
    client, cluster = _connected(distributed, where)
    try:
        number = _number(client, where)
        executor: Executor = client.get_executor(pure=False)
        died = (distributed.scheduler.KilledWorker,)

        def make(tasks: int, _: int) -> Workers:
            return _Lent(max(min(number, tasks), 1), lambda: executor, died=died)

        yield make
    finally:
        client.close()
        if cluster is not None:
            cluster.close()


def _number(client: Any, where: str) -> int:
    """Number of workers, once there is one."""
    try:
        client.wait_for_workers(1, timeout=_TIMEOUT)
    except TimeoutError as error:
        raise UserError(
            said("the scheduler at {where} has no workers", where=where), hint="start `dask worker` for it"
        ) from error
    return len(client.nthreads())


def _connected(distributed: Any, where: str) -> tuple[Any, Any]:
    try:
        if where != LOCAL:
            return distributed.Client(where, timeout=_TIMEOUT, set_as_default=False), None
        number = max(min(cores(), available_memory() // _MEMORY), 1)
        cluster = distributed.LocalCluster(
            n_workers=number, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit=0
        )
        return distributed.Client(cluster, set_as_default=False), cluster
    except (OSError, ValueError, TypeError) as error:
        raise UserError(
            said("no scheduler of Dask answers at {where}", where=where),
            hint="give an address such as tcp://host:8786, or local",
        ) from error
