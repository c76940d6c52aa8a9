"""Exports of several processes with a GPU each: find them, and select the rows of one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stepscope.readers.nsight.tables import Tables, records
from stepscope.readers.sqlite.columns import Columns

_WORK: Final = ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE")
_PLACE: Final = Columns(ints=("globalPid", "deviceId"))
_CUDA_DEVICE: Final = Columns(ints=("gpuId", "cudaId", "pid"))

#: Columns that identify the process of a row; a globalPid is a globalTid with a thread id of 0.
_IDENTITIES: Final = ("globalPid", "globalTid")
_THREAD_BITS: Final = 0xFFFFFF
#: Tables about the machine, the session or names, and stacks, which rows of other tables refer to.
_COMMON: Final = (
    "StringIds", "META_DATA", "EXPORT_META", "TARGET_INFO", "NVTX_PAYLOAD", "ANALYSIS", "ENUM", "SAMPLING_CALLCHAINS",
)  # fmt: skip


def pid(identity: int) -> int:
    """The process id in a globalTid or globalPid (bits 24 to 47)."""
    return (identity >> 24) & _THREAD_BITS


def gpu_processes(tables: Tables) -> list[int]:
    """The globalPids of processes that run kernels, by the GPU they use, then by process id.

    Found in a sample of the kernels: a process with very few may be missed.
    """
    physical = {
        (row["pid"], row["cudaId"]): row["gpuId"] for row in records(tables, "TARGET_INFO_CUDA_DEVICE", _CUDA_DEVICE)
    }
    first: dict[int, tuple[int, int]] = {}
    for table in _WORK:
        for chunk in tables.sample(table, _PLACE):
            for row in pa.TableGroupBy(chunk, list(_PLACE.ints)).aggregate([]).to_pylist():
                process, device = row["globalPid"], row["deviceId"] or 0
                if process is not None:
                    gpu = physical.get((pid(process), device))
                    place = (device if gpu is None else gpu, pid(process))
                    first[process] = min(place, first.get(process, place))
    return sorted(first, key=lambda process: first[process])


class ProcessTables:
    """The part of an export that belongs to one process.

    Attributes:
        damage: What could not be read.
        losses: What was left out though nothing is damaged.
    """

    def __init__(self, tables: Tables, process: int | None, others: list[int]) -> None:
        """Select the rows of `process`; without one, all rows that do not belong to `others`."""
        self._tables = tables
        self._process = process
        self._others = np.array(others, np.int64)
        self.damage = tables.damage
        self.losses = tables.losses

    def names(self) -> frozenset[str]:
        """Names of the tables."""
        return self._tables.names()

    def rows(self, table: str) -> int:
        """Estimated number of rows of the whole table."""
        return self._tables.rows(table)

    def sample(self, table: str, columns: Columns) -> Iterator[pa.Table]:
        """Some rows of the whole table."""
        return self._tables.sample(table, columns)

    def scan(self, table: str, columns: Columns) -> Iterator[pa.Table]:
        """The process's rows in chunks, in their order."""
        if table.startswith(_COMMON):
            yield from self._tables.scan(table, columns)
            return
        added = [name for name in _IDENTITIES if name not in columns.ints]
        more = Columns((*columns.ints, *added), columns.texts, columns.floats, columns.blobs)
        for chunk in self._tables.scan(table, more):
            rows = chunk.filter(pa.array(self._is_mine(chunk))).drop_columns(added)
            if rows.num_rows:
                yield rows

    def close(self) -> None:
        """Release the files."""
        self._tables.close()

    def _is_mine(self, chunk: pa.Table) -> NDArray[np.bool_]:
        # Imported late: recognising a file imports this module.
        import pyarrow.compute as pc

        known: Any = pc.coalesce(*[chunk.column(name) for name in _IDENTITIES])
        owner = pc.fill_null(known, 0).to_numpy() & ~_THREAD_BITS
        if self._process is None:
            return ~np.isin(owner, self._others)
        mine: NDArray[np.bool_] = owner == self._process
        return mine
