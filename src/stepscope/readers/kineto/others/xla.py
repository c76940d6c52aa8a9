"""Device work in traces of the XLA profiler, as JAX and TensorFlow write them: lanes tell it, not categories.

A process is called `/device:GPU:0` or `/device:TPU:0`. Of a GPU its lanes `Stream #20(...)` hold the work, of a TPU
`XLA Ops`; other lanes of it say again which module, step or operator that work belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from stepscope.readers.kineto.metadata import recorded_name
from stepscope.readers.kineto.others.queues import KERNELS_SQL
from stepscope.store.staging import Staging

_DEVICE: Final = re.compile(r"^/device:[A-Z]+:(\d+)")
_STREAM: Final = re.compile(r"^Stream #(\d+)")
#: Lanes of work on a device without streams, by the queue that they stand for. A lane of asynchronous work shows from
#: when to when it is under way.
_OPS: Final = {"XLA Ops": "0", "Async XLA Ops": "async"}
#: Lanes of what work is part of; steps are numbered.
_AROUND: Final = {"XLA Modules": "annotation", "Steps": "step"}

#: A device's queue has no thread, and its lane is the device's.
_QUEUE_SQL: Final = """
UPDATE tracks SET kind = 'device', device = ?, stream = ?, process = NULL, thread = NULL, label = ?
WHERE kind = 'host' AND process = ? AND thread = ? RETURNING track
"""
_WORK_SQL: Final = """
UPDATE raw_events SET category = CASE
    WHEN regexp_matches(n.name, '^(Memcpy|MemCpy|copy-(start|done)|infeed|outfeed)') THEN 'copy'
    WHEN regexp_matches(n.name, '^Memset') THEN 'set'
    WHEN regexp_matches(n.name, '^(nccl|rccl)|^(all-(reduce|gather|to-all)|reduce-scatter|collective-permute)')
        THEN 'collective'
    ELSE 'kernel' END
FROM names n WHERE n.name_id = raw_events.name_id AND raw_events.category = 'other'
    AND raw_events.track IN (SELECT unnest(?))
"""
_AROUND_SQL: Final = """
UPDATE raw_events SET category = ? FROM tracks t
WHERE t.track = raw_events.track AND t.kind = 'host' AND t.process = ? AND t.thread = ?
    AND raw_events.category = 'other'
"""


def add_xla(staging: Staging, metadata: Iterable[tuple[str, str, str, str]]) -> bool:
    """Take lanes of XLA's devices for what they are; metadata are names of processes and threads, as recorded.

    Returns:
        Whether there are any.
    """
    names = [(kind, pid, tid, recorded_name(args)) for kind, pid, tid, args in metadata]
    devices = {
        pid: int(found[1]) for kind, pid, _, name in names if kind == "process_name" and (found := _DEVICE.match(name))
    }
    if devices:
        staging.write_tracks()
    streams = {pid for kind, pid, _, name in names if kind == "thread_name" and _STREAM.match(name)}
    queues: list[int] = []
    for kind, pid, tid, name in names:
        if kind != "thread_name" or pid not in devices:
            continue
        stream = _STREAM.match(name)
        # Beside streams that lane says the same again.
        queue = stream[1] if stream else None if pid in streams else _OPS.get(name)
        if queue is not None:
            label = f"device {devices[pid]} stream {queue}"
            tracks = staging.connection.execute(_QUEUE_SQL, [devices[pid], queue, label, pid, tid]).fetchall()
            queues += [track for (track,) in tracks]
        elif name in _AROUND:
            staging.connection.execute(_AROUND_SQL, [_AROUND[name], pid, tid])
    if queues:
        staging.connection.execute(_WORK_SQL, [queues])
        staging.connection.execute(KERNELS_SQL, [queues])
    return bool(queues)
