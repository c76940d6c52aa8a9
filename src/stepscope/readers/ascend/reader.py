"""Recognise results of the Ascend profiler; the reading code is imported only for one."""

from __future__ import annotations

import re
from collections.abc import Container
from pathlib import Path
from typing import Final

from stepscope.model.errors import UnusableInputError
from stepscope.model.recording import Recording
from stepscope.model.sums.rank import Glance, RankSummaries
from stepscope.readers.ascend import files
from stepscope.readers.ascend.inputs import NAME
from stepscope.readers.ascend.kinds import summary_kind, table_kind
from stepscope.readers.protocol import MAYBE, NO, YES, Progress, Source
from stepscope.store.staging import Staging

#: Words unique to the profiler's traces.
_TRACE: Final = re.compile(
    rb'"name":\s*"(?:Ascend Hardware|CANN|HCCL|Overlap Analysis|torch_to_npu|enqueue_to_dequeue|AscendCL@)'
    rb'|"(?:Physic Stream Id|async_npu|async_task_queue)"|"Dequeue@|torch_npu/'
)
#: One of these stands in what that pattern matches: looking for them takes half the time in what has none.
_WORDS: Final = (
    b"Ascend Hardware", b"CANN", b"HCCL", b"Overlap Analysis", b"torch_to_npu", b"enqueue_to_dequeue", b"AscendCL@",
    b"Physic Stream Id", b"async_npu", b"async_task_queue", b"Dequeue@", b"torch_npu/",
)  # fmt: skip
_TABLES: Final = ("STRING_IDS", "NPU_INFO", "CANN_API", "PYTORCH_API", "RANK_DEVICE_MAP")
#: Start times are strings with three decimals.
_TEXT_TIME: Final = re.compile(rb'"ts":\s*"\d{13,}\.\d{3}"')


class AscendReader:
    """Reads a rank's folder, its output folder, or one of its files by itself."""

    name = NAME
    version = 8

    def sniff(self, path: Path, head: bytes) -> int:
        """Recognise by content; a folder is recognised if it holds one rank's files."""
        if not head:
            return YES if path.is_dir() and files.is_result(path) else NO
        if head.startswith(files.SQLITE):
            return _sniff_database(path, head)
        if kind := table_kind(head):
            return YES if kind == "kernel_details" else MAYBE
        if summary_kind(head):
            return MAYBE
        text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
        if text.startswith(b"[") and b'"ph"' in text and _TEXT_TIME.search(text):
            return YES
        if not text.startswith((b"[", b"{")) or not any(word in text for word in _WORDS):
            return NO
        return YES if _TRACE.search(text) else NO

    def read(self, source: Source, staging: Staging, progress: Progress) -> Recording:
        """Stage the rank's calls, tasks, collectives, memory and counters.

        Raises:
            UnusableInputError: None of its files can be used.
        """
        from stepscope.readers.ascend.read import read

        return read(source, staging, progress)

    def glance(self, source: Source) -> Glance | None:
        """Whose recording a folder holds and when it was made; None if no small file tells."""
        from stepscope.readers.ascend.summary.read import glance

        return glance(source)

    def summaries(self, source: Source) -> RankSummaries:
        """The sums of a folder that `glance` knows.

        Raises:
            UnusableInputError: A file that they come from is not whole.
        """
        from stepscope.readers.ascend.summary.read import summaries

        return summaries(source)


def _sniff_database(path: Path, head: bytes) -> int:
    if files.is_database(path) or _tables_in(head.decode("latin-1")):
        return YES
    if b"CommAnalyzer" in head or re.search(rb"(?<!Cluster)StepTraceTime", head):
        return MAYBE
    # The list of a database's tables may lie anywhere in it.
    return YES if path.is_file() and _tables_in(_table_names(path)) else NO


def _table_names(path: Path) -> frozenset[str]:
    """The names of a database's tables; none if it is damaged or packed."""
    from stepscope.readers.sqlite.tables import SqliteTables

    try:
        tables = SqliteTables(path)
    except UnusableInputError:
        return frozenset()
    try:
        return tables.names()
    finally:
        tables.close()


def _tables_in(text: Container[str]) -> bool:
    """Whether a text, or the names of tables, has enough of those that the profilers' databases have."""
    return sum(table in text for table in _TABLES) >= 2
