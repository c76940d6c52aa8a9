"""Read PyTorch memory snapshots of every generation, and memory timelines."""

from __future__ import annotations

from typing import Any, Final

from stepscope.language import said
from stepscope.model.errors import UnusableInputError
from stepscope.model.recording import Recording
from stepscope.readers.content import Damage, blocks, head
from stepscope.readers.memsnapshot.annotations import annotated_ranges, marked_steps
from stepscope.readers.memsnapshot.clock import Int, clock
from stepscope.readers.memsnapshot.contents import Loaded
from stepscope.readers.memsnapshot.device import Found
from stepscope.readers.memsnapshot.health import add, observe_content, observe_history
from stepscope.readers.memsnapshot.history import History
from stepscope.readers.memsnapshot.inputs import NAME
from stepscope.readers.memsnapshot.load_json import load_json
from stepscope.readers.memsnapshot.load_pickle import load_pickle
from stepscope.readers.memsnapshot.marks import stage_marks
from stepscope.readers.memsnapshot.stage import part_times, stage_device, stage_segments
from stepscope.readers.memsnapshot.timeline import stage_timeline
from stepscope.readers.protocol import Progress, Source
from stepscope.store.staging import Staging

_BLOCK: Final = 1 << 20


def read(source: Source, staging: Staging, progress: Progress) -> Recording:
    """Stage segments, blocks, the history of every device, and the allocations reconstructed from them."""
    damage = Damage()
    history = History(staging)
    pickled = head(source, 1) == b"\x80"
    load = load_pickle if pickled else load_json
    loaded = load(blocks(source, damage, progress, _BLOCK), history, str(source))
    if pickled and loaded.cut and not loaded.segments and not any(history.counts):
        # Truncated within the first thousand segments.
        loaded = load_pickle(blocks(source, Damage(), lambda _: None, _BLOCK), history, str(source), each=True)
    if damage.whole:
        damage.observe(staging)
    else:
        loaded.cut = loaded.cut or damage.messages[-1]
    attributes = {**_settings(loaded.settings), "format": "pickle" if pickled else "json"}
    if loaded.timeline is not None:
        stage_timeline(staging, loaded.timeline, str(source))
        return Recording(str(source), NAME, attributes={**attributes, "kind": "memory timeline"})
    if not loaded.segments and not any(history.counts):
        raise UnusableInputError(
            said(
                "{source} can't be used: {cut}", source=source, cut=loaded.cut or "it holds no segments and no history"
            ),
            hint="give a snapshot as torch.cuda.memory._dump_snapshot writes it",
        )
    _stage(staging, loaded, history)
    return Recording(str(source), NAME, attributes={**attributes, "kind": "memory snapshot"})


def _stage(staging: Staging, loaded: Loaded, history: History) -> None:
    final = stage_segments(staging, loaded, history)
    parts = {device: part for part, device in loaded.devices.items() if history.counts[part]}
    times = {device: clock(part_times(staging, part)).ns for device, part in parts.items()}
    span = _span(times)
    annotated, unmatched = annotated_ranges(loaded.annotations, span)
    origin = min([*(span or ())[:1], *(stretch.ts for stretch in annotated)], default=0)
    found, mended = Found(), 0
    spans: dict[int, tuple[int, int | None]] = {}
    for device in sorted({*final, *parts}):
        here, wrong, end = stage_device(staging, device, parts.get(device), final.get(device), origin)
        add(found, here)
        timed = times.get(device)
        mended += wrong
        start = 0 if timed is None else int(timed[0]) - origin
        spans[device] = (origin + start, None if end is None else end - start)
        staging.connection.execute("INSERT INTO devices BY NAME SELECT ?::INTEGER AS device, true AS used", [device])
    stage_marks(staging, spans, [*annotated, *marked_steps(annotated, span)], origin)
    [stacks] = staging.one("SELECT count(*) FROM call_stacks")
    observe_history(staging, found, [history.counts[part] for part in parts.values()], mended, cut=bool(loaded.cut))
    observe_content(staging, loaded, history, entries=sum(history.counts), timed=span is not None, stacked=stacks > 0)
    staging.observe("annotations-unmatched", "info", unmatched, "annotations have no start or no end",
                    "those without an end have no duration, those without a start are left out")  # fmt: skip


def _span(times: dict[int, Int | None]) -> tuple[int, int] | None:
    """First and last time of all histories with times, in ns; None without any."""
    known = [ns for ns in times.values() if ns is not None]
    return (min(int(ns[0]) for ns in known), max(int(ns[-1]) for ns in known)) if known else None


def _settings(settings: dict[Any, Any]) -> dict[str, str | int | float | bool]:
    """The allocator's settings that are plain values, flattened."""
    kept: dict[str, str | int | float | bool] = {}
    for name, value in settings.items():
        if isinstance(name, str) and isinstance(value, (str, int, float, bool)) and value != "":
            kept[f"allocator.{name}"[:100]] = value[:1000] if isinstance(value, str) else value
    return kept
