"""Size limits above which data is processed in parts, and those above which it is refused.

They are process-wide values that tests can set.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields


@dataclass(slots=True)
class Sizes:
    """Every size at which an algorithm switches, and every limit on inputs.

    Attributes:
        nested_events: Host events nested together, about; each takes some 500 bytes meanwhile. Of ranks with more than
            twice as many, columns of all events are not in memory at once.
        threaded_events: Events of a recording from which on threads derive its tables; a few milliseconds of each would
            be spent on starting and stopping them.
        streamed_events: Events of a trace from which on queries for columns of most of them are planned twice, a
            millisecond each, and the columns taken over from Arrow.
        divided_intervals: Intervals that are divided among layers at once; each takes some 60 bytes meanwhile.
        merged_entries: Entries of a timeline's track that are merged at once; each takes 42 bytes meanwhile.
        joined_activities: Device activities of which many columns may be in memory twice (200,000 take 20 MB).
        concurrent_events: Events of a rank about which several questions are asked at a time; each may need some 100
            bytes per event.
        kept_bytes: Results of a large rank above this size are recomputed instead of kept,
        kept_last: but for so many bytes of those that were used last.
        kept_tables: Tables of a report above this size are in files.
        parallel_bytes: Input from which on several recordings are read by processes, which take a while to start.
        chunk_segments: Events of text staged together; 16 MiB of a real trace hold some 60,000.
        event_bytes: Text of one event; those of real traces with long stacks have some 100 kB.
        name_characters: Characters of a name; those of kernels with many template arguments have some thousands.
        metadata_bytes: Text around the events that is read as a whole: Python's objects are some twenty times as large.
        sums_bytes: A JSON file of a profiler's sums, which is read as a whole: Python's objects are some seven times as
            large.
        table_rows: Rows of a database's table that is read as a whole; each takes some 500 bytes.
        unpacked_bytes: What any input may unpack to. Recordings unpack to 5 to 60 times their size.
        unpacked_times: Larger inputs may unpack to this multiple of their size; deflate's highest ratio is 1030.
        archive_members: Files in one zip archive; each takes some 500 bytes of memory.
        folder_files: Files in one input that are no recordings; each is opened to be recognised.
        recordings: Recordings in one input; each takes half a second or more.
        joined_ranks: Up to so many ranks can be asked about in one query at once; the plan of a query over more takes
            megabytes and tenths of a second for each dozen.
        parallel_ranks: Ranks from which on workers analyse them, each of which takes a second to start.
        workers: Processes that read or analyse ranks at a time; 0 for as many as cores and memory allow.
    """

    nested_events: int = 500_000
    threaded_events: int = 5_000
    streamed_events: int = 200_000
    divided_intervals: int = 1_000_000
    merged_entries: int = 1_000_000
    joined_activities: int = 200_000
    concurrent_events: int = 4_000_000
    kept_bytes: int = 16 << 20
    kept_last: int = 256 << 20
    kept_tables: int = 64 << 20
    parallel_bytes: int = 48 << 20
    chunk_segments: int = 1 << 16
    event_bytes: int = 4 << 20
    name_characters: int = 8192
    metadata_bytes: int = 16 << 20
    sums_bytes: int = 128 << 20
    table_rows: int = 1_000_000
    unpacked_bytes: int = 2 << 30
    unpacked_times: int = 250
    archive_members: int = 100_000
    folder_files: int = 5_000
    recordings: int = 16_384
    joined_ranks: int = 64
    parallel_ranks: int = 16
    workers: int = 0

    @property
    def whole_columns(self) -> int:
        """Largest number of events of a rank whose columns may be in memory whole."""
        return 2 * self.nested_events

    def unpacked_limit(self, packed: int) -> int:
        """Largest number of bytes that `packed` bytes may unpack to."""
        return self.unpacked_bytes + self.unpacked_times * packed

    @contextmanager
    def changed(self, **limits: int) -> Iterator[None]:
        """Override limits within a context; other threads see them too."""
        before = {one.name: getattr(self, one.name) for one in fields(self)}
        for name, value in limits.items():
            setattr(self, name, value)
        try:
            yield
        finally:
            for name, value in before.items():
                setattr(self, name, value)


SIZES = Sizes()
