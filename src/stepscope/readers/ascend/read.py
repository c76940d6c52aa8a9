"""The reader of Ascend results."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from stepscope.model.errors import UnusableInputError
from stepscope.model.recording import Recording
from stepscope.readers import content
from stepscope.readers.ascend import files
from stepscope.readers.ascend.gathered import Told, create
from stepscope.readers.ascend.info import add_groups, attributes, group_names, world_size
from stepscope.readers.ascend.unpacked import unpacked
from stepscope.readers.protocol import MAYBE, NO, YES, Progress, Source
from stepscope.store.staging import Staging

_SQLITE: Final = b"SQLite format 3\0"
#: Words of a trace that no other profiler writes.
_TRACE: Final = re.compile(
    rb'"name":\s*"(?:Ascend Hardware|CANN|HCCL|Overlap Analysis|torch_to_npu|enqueue_to_dequeue|AscendCL@)'
    rb'|"(?:Physic Stream Id|async_npu|async_task_queue)"|"Dequeue@|torch_npu/'
)
#: Start times are texts there, with three digits after the point.
_TEXT_TIME: Final = re.compile(rb'"ts":\s*"\d{13,}\.\d{3}"')
_DETAILS: Final = re.compile(rb"^(?:\xef\xbb\xbf)?[^\r\n]*\bName,[^\r\n]*\bStart Time\(us\),[^\r\n]*Duration\(us\)")


@dataclass(frozen=True, slots=True)
class AscendReader:
    """Reads a rank's folder, its output folder, or one of its files by itself."""

    name: str = "ascend"
    version: int = 2

    def sniff(self, path: Path, head: bytes) -> int:
        """By content; a folder counts if one rank's files lie in it."""
        if not head:
            return YES if path.is_dir() and files.is_result(path) else NO
        if head.startswith(_SQLITE):
            return _sniff_database(path, head)
        if _DETAILS.match(head):
            return YES
        text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
        if text.startswith(b"[") and b'"ph"' in text and _TEXT_TIME.search(text):
            return YES
        return YES if text.startswith((b"[", b"{")) and _TRACE.search(text) else NO

    def read(self, source: Source, staging: Staging, progress: Progress) -> Recording:
        """Stage the rank's calls, tasks, collectives, memory and counters.

        Raises:
            UnusableInputError: None of its files can be used.
        """
        # Recognising a file imports this module, and should be quick.
        from stepscope.readers.ascend.link import link
        from stepscope.readers.ascend.stage import stage, stage_collectives

        result = files.find(source.path) if source.path.is_dir() else _single(source, staging)
        create(staging)
        told = _read_files(result, staging, progress)
        if staging.one("SELECT (SELECT count(*) FROM ascend_host) + (SELECT count(*) FROM ascend_device)") == (0,):
            raise UnusableInputError(
                f"{source} holds no events of an Ascend profiler",
                hint="give the folder that ends in _ascend_pt, after torch_npu.profiler.profiler.analyse has run on it",
            )
        link(staging)
        stage(staging)
        members = add_groups(staging, told.metadata)
        stage_collectives(staging, group_names(told.operations, members), members)
        _observe(staging, result)
        return Recording(
            source=str(source),
            reader=self.name,
            rank=told.rank if result.rank is None else result.rank,
            world_size=world_size(told.metadata),
            host=told.host,
            attributes={**told.attributes, **attributes(result.info, told.metadata)},
        )


def _read_files(result: files.Result, staging: Staging, progress: Progress) -> Told:
    """Gather what the rank's files hold; of two exports of the same result the text one counts."""
    from stepscope.readers.ascend.database import read_analysis, read_database
    from stepscope.readers.ascend.text import read_text

    if result.trace or (result.tables and not result.database):
        told = Told(metadata=result.metadata, operations=read_text(result, staging, progress))
    elif result.database:
        told = read_database(result.database, staging, progress)
        told = replace(told, metadata={**told.metadata, **result.metadata})
    else:
        told = Told(metadata=result.metadata)
    if result.analysis and not result.summaries:
        told = replace(told, operations={**read_analysis(result.analysis, staging), **told.operations})
    return told


def _sniff_database(path: Path, head: bytes) -> int:
    if path.name == "analysis.db" and b"CommAnalyzer" in head:
        return MAYBE
    known = sum(
        table in head for table in (b"STRING_IDS", b"NPU_INFO", b"CANN_API", b"PYTORCH_API", b"RANK_DEVICE_MAP")
    )
    return YES if known >= 2 or files.is_database(path) else NO


def _single(source: Source, staging: Staging) -> files.Result:
    """The result that consists of one file."""
    head = content.head(source)
    if head.startswith(_SQLITE):
        path = unpacked(source, staging)
        if source.path.name == "analysis.db":
            return files.Result(analysis=path)
        return files.Result(database=path, rank=files.rank_in_name(source.path.name))
    if _DETAILS.match(head):
        return files.Result(tables={"kernel_details": unpacked(source, staging)})
    return files.Result(trace=source)


def _observe(staging: Staging, result: files.Result) -> None:
    for name in result.unreadable:
        staging.observe("file-unreadable", "warning", 1, f"{name} is no JSON", "what it tells is missing")
    level = str(attributes(result.info, {}).get("profiler_level", "")).lower()
    details = "kernel_details" in result.tables or result.database
    if result.trace and not details:
        staging.observe(
            "no-kernel-details", "info", 1, "there is no kernel_details.csv",
            "kinds of cores, shapes and counters of kernels are unknown; give the whole folder",
        )  # fmt: skip
    if level in ("level0", "level_none"):
        staging.observe(
            "level-low", "info", 1, f"it was recorded at profiler level {level}",
            "calls of CANN, core types, counters and parts of collectives are missing; record with "
            "profiler_level=ProfilerLevel.Level1",
        )  # fmt: skip
