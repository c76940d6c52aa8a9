"""Writes a rank as ``torch.cuda.memory._dump_snapshot`` of PyTorch 2.10 does: a pickle of plain containers."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from stepscope.simulate.engine.run import clock_offset
from stepscope.simulate.job import SimJob
from stepscope.simulate.records import Context, Memory, Past, Record, Segment, SpanRecord
from stepscope.simulate.writers.kineto_events import BASE_NS, START_NS
from stepscope.simulate.writers.snapshot_frames import SnapshotStacks
from stepscope.simulate.writers.snapshot_layout import SegmentLayout

_DIVISIONS: Final = {str(1 << power): 0 for power in range(16)}
_SETTINGS: Final[dict[str, Any]] = {
    "PYTORCH_CUDA_ALLOC_CONF": "",
    "max_split_size": -1,
    "garbage_collection_threshold": 0.0,
    "expandable_segments": False,
    "pinned_num_register_threads": 1,
    "release_lock_on_cudamalloc": False,
    "pinned_use_cuda_host_register": False,
    "graph_capture_record_stream_reuse": False,
    "roundup_power2_divisions": _DIVISIONS,
}


class SnapshotWriter:
    """One rank's snapshot. As PyTorch it holds the whole history, which starts with the job.

    Annotations are those of the recorded steps. What the allocator is given back is reusable at once, as all of it
    was used on one stream.
    """

    def __init__(self, job: SimJob, rank: int, out: Path) -> None:
        self._final = out
        self._part = out.with_name(out.name + ".part")
        self.paths = [out]
        self._device = rank % job.ranks_per_host
        self._devices = min(job.ranks, job.ranks_per_host)
        self._shift = BASE_NS + START_NS + clock_offset(job, rank)
        self._stacks = SnapshotStacks()
        self._layout = SegmentLayout(self._device, self._stacks)
        self._history: list[dict[str, Any]] = []
        self._annotations: list[SpanRecord] = []

    def write(self, records: Sequence[Record]) -> None:
        """Take what concerns the allocator."""
        for record in records:
            if isinstance(record, Memory):
                self._memory(record)
            elif isinstance(record, Segment):
                self._layout.segment(record)
                action = "segment_alloc" if record.bytes > 0 else "segment_free"
                self._entry(action, record, abs(record.bytes), record.context)
            elif isinstance(record, Past):
                self.write(record.records)
            elif isinstance(record, SpanRecord) and record.spec.kind == "annotation":
                self._annotations.append(record)

    def _memory(self, r: Memory) -> None:
        self._layout.memory(r)
        for action in ("alloc",) if r.bytes > 0 else ("free_requested", "free_completed"):
            self._entry(action, r, abs(r.requested), r.context)

    def _entry(self, action: str, r: Memory | Segment, size: int, context: Context) -> None:
        self._history.append(
            {
                "action": action,
                "addr": r.address,
                "size": size,
                "stream": 0,
                "time_us": (r.ts + self._shift) // 1000,
                "compile_context": "N/A",
                "user_metadata": "",
                "frames": self._stacks.of(context),
            }
        )

    def _external(self) -> list[dict[str, Any]]:
        """Starts and ends of the annotations in order of time; at one time inner ones end first and start last."""
        marks: list[tuple[tuple[int, int, int], str, SpanRecord]] = []
        for r in self._annotations:
            marks.append(((r.start, 1, r.start - r.end), "START", r))
            marks.append(((r.end, 0, r.end - r.start), "END", r))
        marks.sort(key=lambda mark: mark[0])
        return [
            {"stage": stage, "name": r.spec.name, "device": self._device, "time_us": (key[0] + self._shift) // 1000}
            for key, stage, r in marks
        ]

    def close(self) -> dict[str, int]:
        """Write the file."""
        histories: list[list[dict[str, Any]]] = [[] for _ in range(self._devices)]
        histories[self._device] = self._history
        snapshot = {
            "segments": self._layout.document(),
            "device_traces": histories,
            "allocator_settings": _SETTINGS,
            "external_annotations": self._external(),
        }
        with self._part.open("wb") as file:
            pickle.dump(snapshot, file, protocol=4)
        self._part.replace(self._final)
        return dict(sorted(Counter([entry["action"] for entry in self._history]).items()))

    def abandon(self) -> None:
        """Remove the unfinished file."""
        self._part.unlink(missing_ok=True)
