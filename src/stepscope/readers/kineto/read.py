"""Read PyTorch (Kineto) traces of every generation in one pass."""

from __future__ import annotations

from typing import Any, Final

from stepscope.language import said
from stepscope.model.errors import UnusableInputError
from stepscope.model.recording import RAN_ON, Recording
from stepscope.readers.content import Damage, ReadInto, content
from stepscope.readers.kineto.event_list import HEADER_LIMIT
from stepscope.readers.kineto.events import EventReader
from stepscope.readers.kineto.finish import finish
from stepscope.readers.kineto.inputs import CHROME_NAME, NAME
from stepscope.readers.kineto.metadata import PARTIAL, add_devices, add_groups, attributes, integer, parse_metadata
from stepscope.readers.kineto.reading import read_events
from stepscope.readers.kineto.stage import LAYOUT, Stager
from stepscope.readers.protocol import Progress, Source
from stepscope.store.staging import Staging


def read(source: Source, staging: Staging, progress: Progress, block_bytes: int, chunk_bytes: int) -> Recording:
    """Stage every event that can be read, in blocks and chunks of these sizes."""
    damage = Damage()
    with content(source, damage, progress, block_bytes) as read_block:
        return read_text(read_block, source, staging, damage, block_bytes=block_bytes, chunk_bytes=chunk_bytes)


def read_text(
    read_block: ReadInto, source: Source, staging: Staging, damage: Damage, *, block_bytes: int, chunk_bytes: int,
    hint: str = "",
) -> Recording:  # fmt: skip
    """Stage every event in the text of a source; `damage` is what unpacking found, and `hint` what else to give."""
    reader = read_events(read_block, LAYOUT, Stager(staging), block_bytes, chunk_bytes)
    text, mender = reader.text.list, reader.text.mender
    _observe(staging, reader, damage)
    metadata, whole = parse_metadata(text.header, mender.trailer or "")
    staging.observe(
        "metadata-damaged", "warning", int(not whole), "what the recording says beside its events is broken",
        "rank, devices or process groups may be missing",
    )  # fmt: skip
    staging.observe(
        "recording-partial", "warning", int(PARTIAL in metadata),
        said("the recording is not whole: {metadata}", metadata=str(metadata.get(PARTIAL))[:200]),
        "the last step may be cut, or only the marks of steps are there; record again to see all",
    )  # fmt: skip
    if not text.found or not reader.events:
        none = (
            said("no events begin in its first {header_limit} MiB", header_limit=HEADER_LIMIT >> 20)
            if text.late
            else "it holds no trace events"
        )
        reason = damage.messages[0] if damage.messages else none
        raise UnusableInputError(
            said("{source} can't be used: {reason}", source=source, reason=reason),
            hint=hint or said("give a trace written by torch.profiler"),
        )
    add_devices(staging, metadata)
    add_groups(staging, metadata)
    computes = finish(staging, reader.metadata)
    staging.observe(
        "processor-alone", "info", int(computes == "cpu"), "the operators ran on the processor alone",
        "there is no device time",
    )  # fmt: skip
    info = metadata.get("distributedInfo")
    info = info if isinstance(info, dict) else {}
    return Recording(
        source=str(source),
        reader=CHROME_NAME if computes is not None or _is_other(staging, metadata) else NAME,
        rank=integer(info.get("rank")),
        world_size=integer(info.get("world_size")),
        host=next((str(metadata[k]) for k in ("hostname", "host_name") if k in metadata), None),
        origin_unix_ns=integer(metadata.get("baseTimeNanoseconds")),
        attributes={**attributes(metadata), **({RAN_ON: computes} if computes else {})},
    )


#: Metadata keys that torch.profiler writes, and those that other writers of its format do not copy.
_ABOUT: Final = ("schemaVersion", "deviceProperties", "distributedInfo", "baseTimeNanoseconds", "record_shapes")
_OF_A_JOB: Final = ("deviceProperties", "distributedInfo", "record_shapes", "with_stack", "profile_memory")
_KNOWN_SQL: Final = "SELECT count(*), count(*) FILTER (category <> 'other') FROM raw_events"


def _is_other(staging: Staging, metadata: dict[str, Any]) -> bool:
    """Whether it is a Chrome trace of something else than a job, which is reported in health."""
    events, known = staging.one(_KNOWN_SQL)
    other = not known and not any(name in metadata for name in (_OF_A_JOB if events else _ABOUT))
    staging.observe(
        "not-a-profile", "warning", int(other), "no event is of a kind that profilers of jobs write",
        "it looks like a Chrome trace of something else: it can't show what is slow",
    )  # fmt: skip
    return other


def _observe(staging: Staging, reader: EventReader, damage: Damage) -> None:
    mender = reader.text.mender
    damage.observe(staging)
    staging.observe(
        "events-repaired", "info", mender.repaired, "events had broken JSON and were mended",
        "none for times; mended names may differ from the originals by a character",
    )  # fmt: skip
    staging.observe(
        "events-lost", "error", mender.lost + reader.text.lost,
        "stretches of text could not be read as events", "they are missing from every number",
    )  # fmt: skip
    staging.observe(
        "events-untimed", "warning", reader.untimed, "events have no number as their start time",
        "they are missing from every number",
    )  # fmt: skip
    staging.observe(
        "durations-missing", "warning", reader.endless, "intervals have no number as their duration",
        "they count as events of no duration",
    )  # fmt: skip
    staging.observe(
        "values-unreadable", "warning", reader.renamed, "events of the allocator are not called [memory]",
        "they are shown as events, and missing from the memory over time",
    )  # fmt: skip
    staging.observe(
        "events-foreign", "info", reader.foreign,
        "events are of kinds that are not read (async, samples)",
        "none for numbers of steps, operators and device work",
    )  # fmt: skip
    if mender.cut or (mender.trailer is None and not reader.text.list.bare):
        staging.observe(
            "truncated", "error", 1, "the recording ends in the middle",
            "later events are missing, and sums are lower bounds; write the trace again with enough disk space",
        )  # fmt: skip
