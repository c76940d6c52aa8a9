"""NCCL's NVTX records: a domain, its ranges' names, and payloads with declared layouts.

Names and layouts are those of NCCL 2.26 and later (src/include/nvtx.h and nvtx_payload_schemas.h).
"""

from __future__ import annotations

import json
from typing import Final

from stepscope.simulate.job import SimJob
from stepscope.simulate.records import SpanRecord
from stepscope.simulate.specs import DTYPE_BYTES, Collective
from stepscope.simulate.writers import nsight_enums as enums
from stepscope.simulate.writers.export_database import ExportDatabase
from stepscope.simulate.writers.nsight_identity import Identity
from stepscope.simulate.writers.nsight_range import Range

DOMAIN: Final = 1
#: The library's call for each collective of the process group.
CALLS: Final = {
    "allreduce": "ncclAllReduce",
    "_allgather_base": "ncclAllGather",
    "_reduce_scatter_base": "ncclReduceScatter",
}
_COMMUNICATOR, _SIZE = "NCCL communicator ID", "Message size [bytes]"
#: Layouts by number: entries (name, type, offset) and size. Types: 5 int, 18 uint64, 22 size_t.
_STATIC: Final = 1 << 24
_INIT: Final = ((_COMMUNICATOR, 18, 0), ("No. of ranks", 5, 8), ("Rank", 5, 12), ("CUDA device", 5, 16))
_CALL: Final = ((_COMMUNICATOR, 18, 0), (_SIZE, 22, 8))
_LAYOUTS: Final = {
    _STATIC + 4: (_CALL, 16),
    _STATIC + 5: (_CALL, 16),
    _STATIC + 7: (_CALL, 16),
    _STATIC + 11: (_INIT, 24),
}


def add_call(database: ExportDatabase, who: Identity, around: SpanRecord, what: Collective) -> None:
    """The range of a call, with the times of the process group's annotation around it.

    Its payload has the size of one rank's message: the smaller of input and output.
    """
    size = min(what.elements_in, what.elements_out) * DTYPE_BYTES[what.dtype]
    payload = {_COMMUNICATOR: _communicator(what.ranks), _SIZE: size}
    times = around.start + who.shift, around.end + who.shift
    name = database.text(CALLS[what.name])
    row = Range(*times, enums.PUSH_POP, who.threads[around.thread], None, name, DOMAIN, json.dumps(payload))
    database.table("NVTX_EVENTS").append(row.row())


def declare(job: SimJob, rank: int, database: ExportDatabase, who: Identity) -> None:
    """The domain, its layouts, and the creation of the communicator, which came before the recorded steps."""
    for number, (entries, size) in _LAYOUTS.items():
        row = (DOMAIN, number, None, 1, None, len(entries), size, None)
        database.table("NVTX_PAYLOAD_SCHEMAS").append(row)
        for index, (entry, kind, offset) in enumerate(entries):
            place = (DOMAIN, number, index, None, kind, entry, None, None, offset or None)
            database.table("NVTX_PAYLOAD_SCHEMA_ENTRIES").append(place)
    payload = {_COMMUNICATOR: _communicator(tuple(range(job.ranks))), "No. of ranks": job.ranks}
    payload |= {"Rank": rank, "CUDA device": who.index}
    thread, name = who.threads[0], database.text("ncclCommInitRankConfig")
    # The job's first millisecond is the interpreter's.
    domain = Range(who.shift + 100_000, None, enums.DOMAIN, thread, "NCCL", None, DOMAIN)
    times = who.shift + 200_000, who.shift + 900_000
    creation = Range(*times, enums.PUSH_POP, thread, None, name, DOMAIN, json.dumps(payload))
    database.table("NVTX_EVENTS").extend((domain.row(), creation.row()))


def _communicator(ranks: tuple[int, ...]) -> int:
    """An id that all ranks of a communicator agree on."""
    return 0x9E3779B97F4A7C15 * (len(ranks) + 1) & (1 << 63) - 1
