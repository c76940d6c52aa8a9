"""Map Ascend's words to the canonical vocabulary: task types, CANN calls, data types, group names.

Sources: the profiler of torch_npu (Ascend/pytorch), the table descriptions of msprof (Ascend/mstt), and the words
that recordings of CANN 7.0 to 8.3 use.
"""

from __future__ import annotations

import re
from typing import Final

from stepscope.model import dtypes, runtime_names

#: Value of unset ids of 32 bits.
INVALID: Final = 2**32 - 1
#: All values that stand for "none" where a number belongs: all bits of 32 or 64 (-1), or the largest number.
NONE_IDS: Final = (-1, INVALID, 2**63 - 1)
#: Texts that stand for "none" where a name belongs.
NONE_NAMES: Final = ("N/A", "INVALID_TYPE", "RESERVED")

_WAITS: Final = re.compile(
    r"event_?(wait|record|reset)|notify|capture_(wait|record)|write_?value|^wait|^record|_wait_|barrier"
)
#: Tasks of the runtime that compute nothing. One that executes a graph lasts as long as all of the graph's kernels.
_CONTROL: Final = re.compile(r"model_(execute|maintaince|maintenance)(_sqe)?|task_timeout_set(_sqe)?")
_COPIES: Final = re.compile(r"memcpy|^pcie_dma|^sdma_sqe$|^kernel_memcpy")
#: Parts of collectives that move data: the collective itself is the row of `kernels`.
_PARTS: Final = frozenset({"sdma", "rdma", "rdmasend", "rdma_send", "reduce_inline", "memcpy"})
_REDUCES: Final = re.compile(r"reduce_async(_v\d+)?")
#: Names that tasks have for their type: where it is not recorded, they tell it.
_TYPES: Final = re.compile(
    r"(event|notify|capture)_(wait|record|reset)(_sqe)?|write_value(_sqe)?|pcie_dma(_sqe)?|sdma(_sqe)?|rdma(_?send)?"
    r"|reduce_inline|reduce_async(_v\d+)?|memcpy(_async)?|profiling_(enable|disable)"
)
_PROFILER: Final = re.compile(r"^profiling_(enable|disable)")
#: Marks of mstx on streams.
_MARK: Final = re.compile(r"ms_?tx(_?ex)?(_\d+)?")

_STEP: Final = re.compile(r"ProfilerStep\s*#\s*\d+")
_LOADER: Final = re.compile(r"enumerate\(Data(Loader|Pipe)\)|DataLoader.*__next__|DataPipe")

#: Bytes per element; BFP16 is CANN's spelling of bfloat16.
ELEMENT_BYTES: Final = {
    "INT8": 1, "UINT8": 1, "HIF8": 1, "FP8E4M3": 1, "FP8E5M2": 1, "FP8E8M0": 1, "INT16": 2, "UINT16": 2, "FP16": 2,
    "BFP16": 2, "BF16": 2, "INT32": 4, "UINT32": 4, "FP32": 4, "INT64": 8, "UINT64": 8, "FP64": 8, "INT128": 16,
}  # fmt: skip

_FLOATS: Final = frozenset({"fp64", "fp32", "fp16", "bf16", "fp8", "fp4", "complex64", "complex128"})

#: Cores by the names of their tasks, which tables have for kernels that nothing else describes.
CORES: Final = {
    "KERNEL_AICORE": "AI_CORE", "KERNEL_AIVEC": "AI_VECTOR_CORE", "KERNEL_MIX_AIC": "MIX_AIC",
    "KERNEL_MIX_AIV": "MIX_AIV", "KERNEL_AICPU": "AI_CPU",
}  # fmt: skip
#: Cores of `kernel_details` that mark a row as a collective.
COMM_CORES: Final = frozenset({"HCCL", "COMMUNICATION"})

#: What HCCL runs on vector cores or AI CPUs for a collective, which is recorded apart: `Computing` leaves out kernels
#: of these names.
COLLECTIVES_OWN: Final = "(Aiv|Aicpu)Kernel$"

_COLLECTIVES: Final = {
    "allreduce": "all_reduce", "allgather": "all_gather", "allgatherv": "all_gather",
    "reducescatter": "reduce_scatter", "reducescatterv": "reduce_scatter", "alltoall": "all_to_all",
    "alltoallv": "all_to_all", "alltoallvc": "all_to_all", "broadcast": "broadcast", "reduce": "reduce",
    "scatter": "scatter", "gather": "gather", "send": "send", "receive": "recv", "batchsendrecv": "send_recv",
    "barrier": "barrier",
}  # fmt: skip
_OPERATION: Final = re.compile(r"^(?:hcom|hccl|hccs)_?([a-z]+)_*(\d{1,3})?_*(\d+)?", re.IGNORECASE)
#: MindSpore calls a collective by its place in the graph: `Default/AllReduce-op534_0`.
_IN_GRAPH: Final = re.compile(r"^(?:[^/]+/)+([A-Za-z]+)-op\d+(?:_\d+)?$")
#: What most kernels of a graph of MindSpore's are called.
GRAPH_KERNEL: Final = r"^(Gradients/)?Default/.*-op\d+(_\d+)?$"


def known_id(column: str) -> str:
    """SQL for an id; null for those that say that there is none."""
    return f"CASE WHEN {column} >= 0 AND {column} NOT IN {NONE_IDS} THEN {column} END"


def device_kind(task_type: str, name: str) -> str:
    """The kind of work of a task on a device stream.

    Returns:
        compute, copy, set (memset) or sync; `part` for parts of a collective, `control` for marks and for what the
        runtime does for itself, `overhead` for the profiler's own marks.
    """
    task, label = task_type.lower().replace(" ", "_"), name.lower().replace(" ", "_")
    if not task and _TYPES.fullmatch(label):
        task = label
    if _PROFILER.search(label) or _PROFILER.search(task):
        return "overhead"
    if _WAITS.search(task) or (task.startswith(("place_holder", "stars_common")) and _WAITS.search(label)):
        return "sync"
    if _CONTROL.fullmatch(label) or _CONTROL.fullmatch(task) or _MARK.fullmatch(task or label):
        return "control"
    if label == task and (task in _PARTS or _REDUCES.fullmatch(task)):
        return "part"
    if "memset" in label and "memset" in task:
        return "set"
    if _COPIES.search(task) or label == "memcpy_async":
        return "copy"
    return "compute"


def part_kind(task_type: str) -> str:
    """The kind of a collective's part: wait, signal, reduce, copy, send or other."""
    task = task_type.lower().replace(" ", "_")
    for word, kind in (
        ("notify_wait", "wait"), ("notify_record", "signal"), ("write_value", "signal"), ("reduce", "reduce"),
        ("memcpy", "copy"), ("sdma", "copy"), ("rdma", "send"),
    ):  # fmt: skip
        if word in task:
            return kind
    return "other"


def torch_category(cat: str, name: str) -> str:
    """The canonical category of a framework event, from its category in a trace."""
    if cat == "cpu_op":
        if _STEP.match(name):
            return "step"
        return "dataloader" if _LOADER.search(name) else "op"
    if cat in ("enqueue", "dequeue"):
        return "queue"
    if cat == "python_function":
        return "module" if name.startswith("nn.Module: ") else "python"
    if cat.lower() in ("mstx", "msproftx"):
        return "annotation"
    return "gc" if cat.lower() == "gc" or name == "GC" else "other"


def mindspore_category(name: str) -> str:
    """The canonical category of an event of MindSpore's, which has none in a trace: `PynativeFramework::...::Add`."""
    if _STEP.match(name):
        return "step"
    return "other" if name.startswith("Dataset::") else "op"


def call_name(level: str, name: str) -> str:
    """The canonical name of a CANN call: the bare function for the two public interfaces, else as in `Node@launch`.

    Args:
        level: acl, runtime, node, model, hccl or communication; empty if unknown.
        name: With or without a prefix such as `AscendCL@`.
    """
    prefix, at, bare = name.rpartition("@")
    if level in ("acl", "runtime") or prefix in ("AscendCL", "Runtime"):
        return bare
    if at:
        return name
    return f"{_LEVEL_PREFIX[level]}@{name}" if level in _LEVEL_PREFIX else name


_LEVEL_PREFIX: Final = {"node": "Node", "model": "Model", "hccl": "Hccl", "communication": "Hccl"}


def call_category(name: str) -> str:
    """The category of a CANN call, from its name by `call_name`."""
    if runtime_names.is_synchronisation(name):
        return "sync"
    if name == "Node@launch" or runtime_names.is_launch(name) or name.startswith("Model@"):
        return "launch"
    return "runtime"


def operand_type(inputs: str, hf32: str | None) -> str | None:
    """A kernel's operand type: that of its first input that is no index, flag or seed.

    Args:
        inputs: Types as in `kernel_details.csv`, `FLOAT;INT32;FLOAT`.
        hf32: `YES` for a kernel whose operands in fp32 the cube may round to HF32, Ascend's form of TF32.
    """
    found = [dtypes.canonical(word) for word in inputs.split(";")]
    known = next((name for name in found if name in _FLOATS), None) or next(filter(None, found), None)
    return "tf32" if known == "fp32" and hf32 == "YES" else known


def operation(name: str) -> tuple[str, str | None, int | None]:
    """Collective, suffix of the group's name and number within the group, from `hcom_allReduce__586_0_1`.

    The numbers are None where the name has none.
    """
    match = _OPERATION.match(name)
    if match is None:
        placed = _IN_GRAPH.match(name)
        return _COLLECTIVES.get(placed[1].lower(), "other") if placed else "other", None, None
    kind, group, number = match.groups()
    return _COLLECTIVES.get(kind.lower(), "other"), group, None if number is None else int(number[:18])


def group_hash(group_id: str) -> str:
    """The number of a group in `communication.json`: two polynomial hashes of its id, with 29 and 131.

    (Function double_hash of msprof-analyze.)
    """
    first = second = 0
    for byte in group_id.encode("utf-8", "replace"):
        first = (first * 29 + byte) & 0xFFFFFFFF
        second = (second * 131 + byte) & 0xFFFFFFFF
    return str(first << 32 | second)
