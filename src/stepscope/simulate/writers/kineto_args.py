"""The parts of a Kineto event's ``args`` that are the same for every occurrence."""

from __future__ import annotations

import json

from stepscope.simulate.devices import SimDevice
from stepscope.simulate.specs import KernelSpec, OpSpec, TensorSpec

_TYPES = {
    "bf16": "c10::BFloat16",
    "fp16": "c10::Half",
    "fp32": "float",
    "fp64": "double",
    "int64": "long int",
    "uint8": "unsigned char",
}
_NCCL = {"bf16": "BFloat16", "fp16": "Half", "fp32": "Float", "int64": "Long"}

# Warps an SM can hold; the recorded occupancy is relative to it.
_MAX_WARPS = 64


def input_args(spec: OpSpec) -> str:
    """Shapes, strides, element types and scalar values of an operator, as record_shapes gives them."""
    if not spec.inputs:
        return ""
    dims, strides, types, values = [], [], [], []
    for given in spec.inputs:
        if isinstance(given, TensorSpec):
            dims.append(list(given.shape))
            strides.append(list(given.strides))
            types.append(_TYPES[given.dtype])
            values.append("")
        else:
            dims.append([])
            strides.append([])
            text = given or ""
            types.append("ScalarList" if text.startswith("[") else "Scalar" if text else "")
            values.append(text)
    return (
        f'"Concrete Inputs": {json.dumps(values)}, "Input type": {json.dumps(types)}, '
        f'"Input Strides": {json.dumps(strides)}, "Input Dims": {json.dumps(dims)}, '
    )


def kernel_args(spec: KernelSpec, device: SimDevice, index: int, stream: int) -> str:
    """Where an activity ran and with what launch configuration; ends before the correlation."""
    place = f'"device": {index}, "context": 1, "stream": {stream}'
    if spec.kind in ("copy", "set"):
        return f'{place}, "bytes": {spec.bytes}'
    if device.vendor == "amd":
        # roctracer's arguments of a dispatch, beside grid and block.
        text = f'"device": {index}, "stream": {stream}, "kind": "Dispatch Kernel"'
        return f'{text}, "grid": {list(spec.grid)}, "block": {list(spec.block)}{_collective(spec)}'
    blocks = spec.grid[0] * spec.grid[1] * spec.grid[2] / device.sms
    threads = spec.block[0] * spec.block[1] * spec.block[2]
    warps = blocks * -(-threads // device.warp)
    return (
        f'"queued": 0, {place}, "registers per thread": {spec.registers}, '
        f'"shared memory": {spec.shared_bytes}, '
        f'"blocks per SM": {blocks:.6f}, "warps per SM": {warps:.6f}, "grid": {list(spec.grid)}, '
        f'"block": {list(spec.block)}, "est. achieved occupancy %": {min(100, int(100 * warps / _MAX_WARPS))}'
        f"{_collective(spec)}"
    )


def _collective(spec: KernelSpec) -> str:
    what = spec.collective
    if what is None:
        return ""
    return (
        f', "Collective name": "{what.name}", "In msg nelems": {what.elements_in}, '
        f'"Out msg nelems": {what.elements_out}, '
        f'"Group size": {len(what.ranks)}, "dtype": "{_NCCL[what.dtype]}", "In split size": "[]", '
        f'"Out split size": "[]", "Process Group Name": "{what.group}", '
        f'"Process Group Description": "{what.description}", "Process Group Ranks": "{list(what.ranks)}"'
        + "".join(f', "{name}": {rank}' for name, rank in what.other_end.items())
    )
