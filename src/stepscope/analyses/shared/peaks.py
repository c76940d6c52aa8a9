"""Peak rates of the recorded devices, and the peak that each kernel is measured against."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Final

from stepscope.language import said
from stepscope.model import dtypes
from stepscope.model.devices import DESCRIPTION, Device, described
from stepscope.model.trace import Trace

#: A query for the limits of every device in use. A device that the recording does not describe has those of the
#: devices that it does, if they are all alike: recorders disagree on how devices are numbered.
LIMITS_SQL: Final = """
SELECT d.device, coalesce(d.sms, a.sms) AS sms, coalesce(d.max_threads_per_sm, a.threads) AS max_threads_per_sm,
    coalesce(d.registers_per_sm, a.registers) AS registers_per_sm,
    coalesce(d.shared_bytes_per_sm, a.shared) AS shared_bytes_per_sm, coalesce(d.warp_size, a.warp) AS warp_size
FROM (SELECT * FROM devices UNION ALL BY NAME SELECT NULL::INTEGER AS device) d
LEFT JOIN (
    SELECT any_value(sms) AS sms, any_value(max_threads_per_sm) AS threads, any_value(registers_per_sm) AS registers,
        any_value(shared_bytes_per_sm) AS shared, any_value(warp_size) AS warp
    FROM devices WHERE sms IS NOT NULL
    HAVING count(DISTINCT (name, sms, max_threads_per_sm, registers_per_sm, shared_bytes_per_sm, warp_size)) = 1
) a ON d.sms IS NULL
"""

#: Classes whose work tensor cores can do.
MATRIX_CLASSES: Final = ("gemm", "attention", "convolution")


def known_devices(trace: Trace) -> dict[int, Device]:
    """The devices of the rank with known rates, by index; -1 stands for "not recorded".

    A device that the recording does not describe counts as one of the described ones if these are all alike, since
    recorders number devices differently.
    """
    return trace.once(_known_devices)


def _known_devices(trace: Trace) -> dict[int, Device]:
    rows = trace.rows(f"SELECT {DESCRIPTION} FROM devices ORDER BY device")
    named = {row["device"]: described(row) for row in rows if row["name"]}
    known = {index: device for index, device in named.items() if device is not None}
    if len(known) == len(named) and len({device.name for device in known.values()}) == 1:
        other = next(iter(known.values()))
        known.update({index: other for index in [-1, *(row["device"] for row in rows)] if index not in known})
    return known


def device_names(trace: Trace) -> str:
    """The recorded names of the devices, for messages."""
    rows = trace.rows("SELECT DISTINCT name FROM devices WHERE name IS NOT NULL AND name <> '' ORDER BY 1")
    return ", ".join(row["name"] for row in rows) or said("a device of unrecorded name")


@lru_cache(maxsize=4096)
def operand_dtype(recorded: str | None) -> str | None:
    """The element type of an operator's first tensor, from the recorded types of its inputs (JSON)."""
    try:
        listed = json.loads(recorded) if recorded else []
    except (ValueError, RecursionError):
        return None
    for item in listed if isinstance(listed, list) else []:
        # Words for arguments that are no tensors (`Scalar`, `TensorList`) are no element types.
        found = dtypes.canonical(item) if isinstance(item, str) else None
        if found is not None:
            return found
    return None


def peak_rate(device: Device, op_class: str, dtype: str, tensor_core: bool | None) -> tuple[str, int] | None:
    """Name and FLOP/s of the peak that a kernel is measured against; None if the vendor states none.

    Matrix multiplications are compared with the tensor cores' peak unless the kernel's name rules their use out. All
    other kernels use the ordinary units, where narrow types are at least as fast as fp32.
    """
    if op_class in MATRIX_CLASSES and tensor_core is not False:
        rate = device.peak(dtype, tensor_core=tensor_core) or device.peak(dtype)
        units = "matrix" if rate is not None and rate == device.matrix.get(dtype) else "vector"
    else:
        rate, units = device.peak(dtype, tensor_core=False), "vector"
        if rate is None and dtype not in ("fp64", "complex128"):
            dtype, rate = "fp32", device.peak("fp32", tensor_core=False)
    return None if rate is None else (f"{device.label} {dtype} {units}", rate)
