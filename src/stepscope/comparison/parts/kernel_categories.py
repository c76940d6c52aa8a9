"""Category of each kernel in the rows of the Ascend compare tool: by its operator, and by cube and vector."""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.analyses.shared.host_tree import host_trees
from stepscope.model.events.columns import names_by_id
from stepscope.model.events.device_work import DeviceWork
from stepscope.model.trace import Trace

#: Words in the lower-case names of operators, in the order in which they count.
_OPERATORS: Final = (
    ("Flash Attention", ("flash_attention", "fusion_attention", "flashattn", "xformers_flash", "efficient_attention",
                         "flash2attn")),
    ("Conv", ("aten::conv",)),
    ("Matmul", ("aten::addmm", "aten::bmm", "aten::mm", "aten::matmul")),
)  # fmt: skip
#: Kernels of an NPU that multiply and communicate at once, by their lower-case types.
_FUSED: Final = ("allgathermatmul", "matmulreducescatter", "matmulallreduce")
_BACKWARD: Final = ("bwd", "backward", "back", "grad")
_TRANSFORMS: Final = ("cast", "transdata", "transpose")
_CUBE_SQL: Final = """
SELECT event, max(value) > 0 AS cube FROM kernel_metrics
WHERE metric IN ('aic_mac_time', 'aic_total_time') GROUP BY 1
"""
_TYPES_SQL: Final = "SELECT event, lower(op_type) AS op_type FROM kernels WHERE op_type IS NOT NULL"
#: Part, category and unit.
Key = tuple[str, str, str]


def category_of(kernel: str, cube: bool, operator: tuple[str, bool] | None, op_type: str = "") -> Key:
    """Part, category and unit of a kernel, by its lower-case name, its unit, the operator around it and its type."""
    if "pagedattention" in op_type:
        return "kernels", "Page Attention", ""
    if op_type in _FUSED:
        return "kernels", "MC2", ""
    if kernel.startswith("aclnninplacecopy") and "tensormove" in kernel:
        return "kernels", "SDMA (Tensor Move)", ""
    if operator is not None:
        name, backward = operator
        direction = "" if name == "Matmul" else " (Backward)" if backward else " (Forward)"
        return "kernels", name + direction, "Cube" if cube else "Vector"
    # Where no operator is recorded, the type of an NPU's kernel tells.
    if "flashattention" in op_type or "fusedinferattention" in op_type:
        backward = any(word in op_type for word in _BACKWARD)
        return "kernels", f"Flash Attention ({'Backward' if backward else 'Forward'})", "Cube"
    if op_type.startswith("conv"):
        backward = any(word in op_type for word in (*_BACKWARD, "backprop"))
        return "kernels", f"Conv ({'Backward' if backward else 'Forward'})", "Cube"
    if "matmul" in op_type:
        return "kernels", "Matmul", "Cube"
    if cube:
        return "kernels", "Cube", ""
    return "kernels", "Vector", "Trans" if any(word in kernel for word in _TRANSFORMS) else "No Trans"


def cubes(trace: Trace, work: DeviceWork, at: NDArray[np.int64]) -> NDArray[np.object_]:
    """Whether each kernel uses tensor cores: by counters, which some kernels of an NPU lack (None); else by class."""
    rows = trace.columns(_CUBE_SQL)
    if not rows["event"].size:
        return work.is_class("gemm", "convolution", "attention")[at].astype(object)
    known = dict(zip(rows["event"].tolist(), rows["cube"].astype(bool).tolist(), strict=True))
    return np.array([known.get(event) for event in work.event[at].tolist()], object)


def kernel_types_of(trace: Trace, work: DeviceWork, at: NDArray[np.int64]) -> list[str]:
    """The lower-case type of each kernel, as an NPU's library calls it; empty where not recorded."""
    known = {row["event"]: row["op_type"] for row in trace.rows(_TYPES_SQL)}
    return [known.get(event, "") for event in work.event[at].tolist()] if known else [""] * at.size


def kernel_operators(trace: Trace, work: DeviceWork, at: NDArray[np.int64]) -> list[tuple[str, bool] | None]:
    """For each kernel, the kind of the outermost such operator around its launch, and whether it runs backward."""
    names = trace.once(names_by_id)
    kinds = {name_id: kind for name_id, name in names.items() if (kind := _kind(name.lower())) is not None}
    backward_names = {name_id for name_id in kinds if any(word in names[name_id].lower() for word in _BACKWARD)}
    threads = _backward_threads(trace)
    found: list[tuple[str, bool] | None] = [None] * at.size
    for tree in host_trees(trace, ("op",)):
        outer = np.full(tree.id.size, -1)
        is_kind = np.isin(tree.name, list(kinds))
        for position in np.argsort(tree.depth, kind="stable").tolist():
            around = int(tree.parent[position])
            above = int(outer[around]) if around >= 0 else -1
            outer[position] = above if above >= 0 else position if is_kind[position] else -1
        positions = tree.positions(work.op[at])
        for i, position in enumerate(positions.tolist()):
            if position >= 0 and (holder := int(outer[position])) >= 0:
                name = int(tree.name[holder])
                found[i] = kinds[name], name in backward_names or int(tree.track[holder]) in threads
    return found


def _kind(name: str) -> str | None:
    return next((kind for kind, words in _OPERATORS if any(word in name for word in words)), None)


def _backward_threads(trace: Trace) -> set[int]:
    """The thread on which most backward operators run that a flow links to a forward one."""
    rows = trace.rows("SELECT s.track FROM flows f JOIN spans s ON s.id = f.target WHERE f.kind = 'forward_backward'")
    tracks = Counter(row["track"] for row in rows)
    return {tracks.most_common(1)[0][0]} if tracks else set()
