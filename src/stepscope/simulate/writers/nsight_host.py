"""Host activity as rows of an export: runtime calls, NVTX ranges, calls of the operating system."""

from __future__ import annotations

from stepscope.simulate.job import SimJob
from stepscope.simulate.records import CallRecord, FrameRecord, Overhead, SpanRecord, Wait
from stepscope.simulate.specs import Collective, OpSpec, TensorSpec
from stepscope.simulate.writers import nsight_enums as enums
from stepscope.simulate.writers.export_database import ExportDatabase
from stepscope.simulate.writers.nsight_identity import Identity
from stepscope.simulate.writers.nsight_nccl import add_call
from stepscope.simulate.writers.nsight_range import Range

# Versions in which the runtime's calls got their present form; the recorded names end with them.
_VERSIONS = {
    "cudaLaunchKernel": 7000,
    "cudaLaunchKernelExC": 11060,
    "cudaGraphLaunch": 10000,
    "cudaStreamIsCapturing": 10000,
    "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags": 7000,
}
_FIRST_VERSION = 3020
# Shorter calls of the operating system are not recorded.
_SHORTEST_NS = 1000


class HostRows:
    """Adds the rows of one rank's threads."""

    def __init__(self, job: SimJob, database: ExportDatabase, who: Identity) -> None:
        self._job = job
        self._database = database
        self._who = who
        self._suffixes: dict[OpSpec, str] = {}
        self._calls: dict[str, int] = {}
        self._table = database.table

    def call(self, r: CallRecord) -> None:
        """A call of the CUDA runtime."""
        shift = self._who.shift
        number = self._calls.get(r.name)
        if number is None:
            version = _VERSIONS.get(r.name, _FIRST_VERSION)
            number = self._calls[r.name] = self._database.text(f"{r.name}_v{version}")
        thread = self._who.threads[r.thread]
        self._table("CUPTI_ACTIVITY_KIND_RUNTIME").append(
            (r.start + shift, r.end + shift, enums.RUNTIME, thread, r.correlation, number, 0, None)
        )

    def span(self, r: SpanRecord) -> None:
        """An operator, as PyTorch's ``emit_nvtx`` names it, or an annotation by its name alone."""
        text = r.spec.name
        if r.spec.kind == "op":
            linked = f", seq = {r.sequence}" if r.sequence >= 0 else ""
            text = f"{text}{linked}, op_id = {r.external}{self._sizes(r.spec)}"
        self._push_pop(r, text)

    def frame(self, r: FrameRecord) -> None:
        """A module's call, as hooks around ``forward`` mark it."""
        if r.name.startswith("nn.Module: "):
            self._push_pop(r, r.name)

    def collective(self, r: SpanRecord, what: Collective) -> None:
        """The library's range inside an annotation of the process group."""
        add_call(self._database, self._who, r, what)

    def _push_pop(self, r: SpanRecord | FrameRecord, text: str) -> None:
        who = self._who
        row = Range(r.start + who.shift, r.end + who.shift, enums.PUSH_POP, who.threads[r.thread], text)
        self._table("NVTX_EVENTS").append(row.row())

    def wait(self, r: Wait) -> None:
        """A blocking call of the operating system."""
        if r.end - r.start < _SHORTEST_NS:
            return
        shift, thread = self._who.shift, self._who.threads[r.thread]
        name = self._database.text(r.name)
        times = (r.start + shift, r.end + shift)
        self._table("OSRT_API").append((*times, enums.OS_RUNTIME, thread, None, name, 0, 0, None, None))

    def overhead(self, r: Overhead) -> None:
        """The profiler's own time."""
        shift = self._who.shift
        name = self._database.text("Buffer flush")
        row = (r.start + shift, r.end + shift, enums.OVERHEAD, self._who.threads[0], 0, name, enums.BUFFER_FLUSH)
        self._table("CUPTI_ACTIVITY_KIND_OVERHEAD").append(row)

    def _sizes(self, spec: OpSpec) -> str:
        suffix = self._suffixes.get(spec)
        if suffix is None:
            shapes = [list(given.shape) if isinstance(given, TensorSpec) else [] for given in spec.inputs]
            suffix = f", sizes = {shapes}" if shapes and self._job.record_shapes else ""
            self._suffixes[spec] = suffix
        return suffix
