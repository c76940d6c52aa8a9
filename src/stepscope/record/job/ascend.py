"""One recording by torch_npu's profiler: a folder `*_ascend_pt`, parsed in the job."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepscope.record.noted import noted

if TYPE_CHECKING:
    from stepscope.record.job.identity import JobProcess
    from stepscope.record.settings import RecordSettings


class AscendCapture:
    """A recording of this process and its NPU.

    Args:
        settings: What to record.
    """

    def __init__(self, settings: RecordSettings) -> None:
        import torch
        import torch_npu

        self._mark_as = torch.profiler.record_function
        self._api: Any = torch_npu.profiler
        self._settings = settings
        self._profiler: Any = None
        self._mark: Any = None
        self._partial = ""
        self._runs = False
        self._path = Path(settings.output)

    def prepare(self) -> None:
        """Nothing: it is set up as it starts, between two steps."""

    def cancel(self) -> None:
        """Stop it, if it records, without parsing."""
        if self._runs:
            self.stop(noted("recording failed"))

    def start(self, process: JobProcess, details: dict[str, Any]) -> Path:
        """Start to record; returns the recording's folder, which the profiler names after the process and the time."""
        settings, api = self._settings, self._api
        worker = process.worker()
        own = f"{worker}_*_ascend_pt"
        before = set(self._path.glob(own))
        parse = api.tensorboard_trace_handler(dir_name=str(self._path), worker_name=worker, analyse_flag=True)
        self._profiler = api.profile(
            activities=[api.ProfilerActivity.CPU, api.ProfilerActivity.NPU],
            # Parsing takes processes and minutes, which a process that is ending does not have.
            on_trace_ready=lambda profiler: None if self._partial else parse(profiler),
            record_shapes=settings.shapes,
            profile_memory=settings.allocations,
            with_stack=settings.stacks,
            experimental_config=api._ExperimentalConfig(profiler_level=api.ProfilerLevel.Level1),
        )
        self._profiler.start()
        self._runs = True
        self._profiler.add_metadata_json("stepscope", json.dumps(details))
        self._path = max(set(self._path.glob(own)) - before, default=self._path)
        return self._path

    def mark(self, number: int) -> None:
        """End the step that is going on, and start another."""
        self._end_mark()
        self._mark = self._mark_as(f"ProfilerStep#{number}")
        self._mark.__enter__()

    def _end_mark(self) -> None:
        mark, self._mark = self._mark, None
        if mark is not None:
            mark.__exit__(None, None, None)

    def stop(self, partial: str = "") -> None:
        """Stop recording, and parse what was recorded unless the process is ending."""
        if not self._runs:
            return
        self._runs, self._partial = False, partial
        self._end_mark()
        self._profiler.stop()

    def write(self) -> str:
        """Nothing more; says what is still to be parsed."""
        if not self._partial:
            return ""
        return noted(
            "the recording is not parsed ({partial}); run stepscope parse-ascend {path}",
            partial=self._partial, path=str(self._path),
        )  # fmt: skip
