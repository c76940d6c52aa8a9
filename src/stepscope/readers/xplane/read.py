"""Read an XSpace: as the Chrome trace of the same profiler, which is not written by all, and cut where it is large."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from stepscope.language import said
from stepscope.model.recording import Recording
from stepscope.readers.content import CHUNK_BYTES, Damage, from_blocks, on_disk
from stepscope.readers.kineto.read import read_text
from stepscope.readers.protocol import Progress, Source
from stepscope.readers.xplane.chrome import Chrome
from stepscope.readers.xplane.inputs import NAME
from stepscope.readers.xplane.space import Space
from stepscope.readers.xplane.wire import Data, WireLosses
from stepscope.store.staging import Staging

_HINT: Final = said("record a few steps with jax.profiler.trace or tf.profiler.experimental.start")
#: Most messages of the profiler that are shown.
_SHOWN: Final = 3
#: Bytes of a Chrome trace that are framed at a time.
_BLOCK_BYTES: Final = 1 << 20


def read(source: Source, staging: Staging, progress: Progress) -> Recording:
    """Stage every event that can be read."""
    damage, losses = Damage(), WireLosses()
    with _mapped(source, staging.folder / "spill" / "unpacked.pb", damage) as data:
        space = Space.of(data, losses)
        scale = source.path.stat().st_size / max(1, len(data))
        chrome = Chrome(space, lambda size: progress(int(scale * size)))
        recording = read_text(
            from_blocks(chrome.blocks()), source, staging, damage, block_bytes=_BLOCK_BYTES, chunk_bytes=CHUNK_BYTES,
            hint=_HINT,
        )  # fmt: skip
    _observe(staging, losses, chrome.unnamed)
    _observe_messages(staging, "profiler-failed", "warning", space.errors)
    _observe_messages(staging, "profiler-warned", "info", space.warnings)
    return replace(recording, reader=NAME)


@contextmanager
def _mapped(source: Source, unpacked: Path, damage: Damage) -> Iterator[Data]:
    """The content, of which only what is looked at takes memory."""
    path = on_disk(source, unpacked, damage)
    with path.open("rb") as file:
        if not path.stat().st_size:
            yield b""
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield data


def _observe(staging: Staging, losses: WireLosses, unnamed: bool) -> None:
    staging.observe(
        "truncated", "error", int(losses.cut), "the recording ends in the middle",
        "later events are missing, and sums are lower bounds; write the trace again with enough disk space",
    )  # fmt: skip
    staging.observe(
        "events-lost", "error", losses.broken, "stretches could not be read as events",
        "they are missing from every number",
    )  # fmt: skip
    staging.observe(
        "names-lost", "warning", int(unnamed), "names of events are missing: they stand behind the events",
        "those are called by the numbers of their names, and what they did is unknown",
    )  # fmt: skip


def _observe_messages(staging: Staging, code: str, severity: str, messages: list[str]) -> None:
    different = list(dict.fromkeys(" ".join(message.split())[:300] for message in messages))
    more = said("; and {different} more", different=len(different) - _SHOWN) if len(different) > _SHOWN else ""
    staging.observe(
        code, severity, len(messages),
        said("messages of the profiler: {different}{more}", different="; ".join(different[:_SHOWN]), more=more),
        "something that was asked for may be missing from the recording",
    )  # fmt: skip
