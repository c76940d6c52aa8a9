"""Where the operators of a recording without device activity ran, as far as it tells."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from stepscope.language import said
from stepscope.model.categories import CATEGORIES
from stepscope.model.errors import MissingInputError
from stepscope.model.events.columns import Spans, names_by_id, on_host
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.recording import RAN_ON
from stepscope.model.runtime_names import SCALAR_READ
from stepscope.signals.shared.job import span_ns
from stepscope.signals.signal import Signals, signal

#: Operators of libraries that only run on a processor, and of those that only run on a device. FBGEMM's own operators
#: (`fbgemm::`) are for both; `record_stream` marks a tensor as used on a device's stream, and no other tensor has it.
_OF_CPU: Final = re.compile(r"mkldnn|onednn|nnpack|^aten::fbgemm_|_for_cpu\b|::_?mkl_|^quantized::", re.IGNORECASE)
_OF_DEVICE: Final = re.compile(
    r"cudnn|miopen|cublas|_cuda\b|::_?flash_attention_(forward|backward)|::_efficient_attention|_thnn_fused_"
    r"|^nccl:|^xformers_flash::|::_cslt|::_grouped_mm|npu_|^aten::record_stream$",
    re.IGNORECASE,
)
#: What only asks whether a library would take a tensor runs for those on the host, too; passes of a compiler are named
#: with dots and blanks, after what they would do.
_OF_NEITHER: Final = re.compile(r"is_acceptable|^[^:]*[ .]")
#: On Apple's devices a linear layer is one operator with a backward of its own; elsewhere it consists of others.
_OF_MPS: Final = re.compile(r"\bmps|_mps\b|^aten::linear_backward$")
#: Libraries that move data between devices only, and the operators that call the one of the job.
_BETWEEN_DEVICES: Final = re.compile(r"\b(nccl|rccl|hccl|xccl|cncl|mccl)\b", re.IGNORECASE)
_COLLECTIVE: Final = re.compile(r"^c10d::|^record_param_comms$")
#: Operators that multiply matrices: on a device the host only launches them, which takes microseconds.
_MATRICES: Final = re.compile(r"^aten::(addmm|mm|bmm|baddbmm|_?convolution|conv\dd|linear|_slow_conv2d_forward)$")
_LAUNCHING_NS: Final = 200_000
#: They take this share of the time of all operators by themselves, where they run on the processor.
_MOST: Final = 0.5
#: A number that is there is read within microseconds; one that is waited for takes longer.
WAITED_NS: Final = 100_000
_DEVICE_MEMORY_SQL: Final = "SELECT count(*) FROM memory WHERE device IS NOT NULL"
_HOST_MEMORY_SQL: Final = "SELECT count(*) FROM memory WHERE device IS NULL"
_LISTED_SQL: Final = "SELECT name FROM devices WHERE coalesce(name, '') <> '' ORDER BY device LIMIT 1"


@dataclass(frozen=True, slots=True)
class RanOn:
    """Where operators ran, in a recording without device activity.

    Attributes:
        where: `lost` (work was launched on a device, and is not recorded), `device` (it was, by its operators or its
            memory, and neither launches nor work are recorded), `mps` (the same of Apple's devices), `cpu`, or
            `unknown`.
        mark: What tells: an operator, or words.
        took_ns: How long operators like the mark took by themselves; 0 where that is not what tells.
        of_ns: How long all operators took.
        sure: Whether names or memory tell, not times.
        listed: A device that the recording names; empty without one.
    """

    where: Literal["lost", "device", "mps", "cpu", "unknown"]
    mark: str
    took_ns: int
    of_ns: int
    sure: bool
    listed: str


@dataclass(frozen=True, slots=True)
class SlowReads:
    """Numbers that the program reads, and waits for.

    Attributes:
        number: How many are read.
        waited: How many of these take too long for a number that is there.
        total_ns: Time of those.
        longest_ns: The longest.
        events: int64[n], those.
        recorded_ns: From the first event to the end of the last.
    """

    number: int
    waited: int
    total_ns: int
    longest_ns: int
    events: NDArray[np.int64]
    recorded_ns: int


def is_layer(name: str) -> bool:
    """Whether an operator that ran on the processor is one of a model's layers: a GEMM, or of a library for them."""
    return bool(_MATRICES.search(name) or _OF_CPU.search(name))


@signal()
def ran_on(s: Signals) -> RanOn:
    """Where operators ran, in a recording without device activity."""
    spans = Spans(s.trace)
    if (~DeviceWork.of(s.trace).are("sync")).any():
        raise MissingInputError("device activity is recorded")
    listed = str(s.trace.scalar(_LISTED_SQL) or "")
    ops = np.flatnonzero(spans.of("op") & on_host(s.trace, spans.track))
    own = own_times(spans)
    total = int(own[ops].sum())
    launches = np.flatnonzero(spans.of("launch"))
    names = s.trace.once(names_by_id)
    if launches.size:
        return RanOn("lost", names[int(spans.name[launches[0]])], 0, total, True, listed)
    if not ops.size:
        raise MissingInputError.of("operators")
    by_name = {names[one]: int(own[ops[spans.name[ops] == one]].sum()) for one in np.unique(spans.name[ops]).tolist()}
    recorded = str(s.trace.recordings[s.rank].attributes.get(RAN_ON, ""))
    if recorded == "cpu":
        return RanOn("cpu", max(by_name, key=lambda name: (by_name[name], name)), total, total, True, listed)
    if recorded:
        return RanOn("device", recorded, 0, total, True, listed)
    for where, pattern in (("device", _OF_DEVICE), ("mps", _OF_MPS), ("cpu", _OF_CPU)):
        found = {one: ns for one, ns in by_name.items() if pattern.search(one) and not _OF_NEITHER.search(one)}
        if where == "cpu" and s.trace.scalar(_DEVICE_MEMORY_SQL):
            return RanOn("device", "memory of a device is allocated", 0, total, True, listed)
        if found:
            mark = max(found, key=lambda name: (found[name], name))
            return RanOn(where, mark, sum(found.values()), total, True, listed)  # type: ignore[arg-type]
    backend = str(s.trace.recordings[s.rank].attributes.get("backend", ""))
    if _BETWEEN_DEVICES.search(backend) and (of_job := [name for name in by_name if _COLLECTIVE.search(name)]):
        return RanOn(
            "device", said("{of_job} of {backend}", of_job=min(of_job), backend=backend), 0, total, True, listed
        )
    matrices = {name: ns for name, ns in by_name.items() if _MATRICES.search(name)}
    took = sum(matrices.values())
    large = own[ops[np.isin(spans.name[ops], [one for one, name in names.items() if name in matrices])]]
    large = large[large > 0]
    if took >= _MOST * total and large.size and float(np.median(large)) >= _LAUNCHING_NS and not s(slow_reads).waited:
        mark = max(matrices, key=lambda name: (matrices[name], name))
        return RanOn("cpu", mark, took, total, bool(s.trace.scalar(_HOST_MEMORY_SQL)), listed)
    return RanOn("unknown", "", 0, total, False, listed)


def own_times(spans: Spans) -> NDArray[np.int64]:
    """Time of each event without the operators right inside it, int64[n]."""
    dur = np.maximum(spans.dur, 0)
    own = dur.copy()
    inner = np.flatnonzero((spans.category == CATEGORIES.index("op")) & (spans.around >= 0))
    np.subtract.at(own, spans.around[inner], dur[inner])
    mine: NDArray[np.int64] = np.maximum(own, 0)
    return mine


@signal()
def slow_reads(s: Signals) -> SlowReads:
    """Numbers that the program waits for, where no calls of a runtime are recorded in which it does."""
    spans = Spans(s.trace)
    if spans.of("runtime", "sync", "launch").any():
        raise MissingInputError("calls of the runtime are recorded, which tell what each read waits for")
    names = s.trace.once(names_by_id)
    reads = np.flatnonzero(spans.of("op") & np.isin(spans.name, [i for i, one in names.items() if one == SCALAR_READ]))
    dur = spans.dur[reads]
    late = dur >= WAITED_NS
    events = spans.id[reads[late][np.argsort(-dur[late], kind="stable")]].astype(np.int64)
    return SlowReads(
        int(reads.size), int(late.sum()), int(dur[late].sum()), int(dur.max(initial=0)), events, s(span_ns)
    )
