"""Read the events of a recording, and have them staged meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from stepscope.native.scanning import ScanLayout
from stepscope.readers.content import BLOCK_BYTES, CHUNK_BYTES, ReadInto
from stepscope.readers.kineto.events import EventBatch, EventReader


def read_events(
    read: ReadInto,
    layout: ScanLayout,
    stage: Callable[[EventBatch], None],
    block_bytes: int = BLOCK_BYTES,
    part_bytes: int = CHUNK_BYTES,
    first: int = 0,
) -> EventReader:
    """Read every event that can be read; returns what there is to be said of them.

    Args:
        read: Reads the recording.
        layout: What is read of each event, by `events.layout`.
        stage: Stages a batch of events; called for one after the other, in order, while the next ones are read.
        block_bytes: Bytes read at a time.
        part_bytes: Bytes scanned at a time.
        first: Number of the first event.

    Raises:
        Exception: What reading or staging raised.
    """
    reader = EventReader(read, layout, block_bytes, part_bytes, first)
    with ThreadPoolExecutor(1, thread_name_prefix="stepscope-staging") as executor:
        staged: Future[None] | None = None
        for events in reader:
            if staged is not None:
                staged.result()
            staged = executor.submit(stage, events)
        if staged is not None:
            staged.result()
    return reader
