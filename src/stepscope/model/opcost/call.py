"""Recorded arguments of an operator call, and its cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stepscope.model import dtypes as types
from stepscope.model.kernel_names import OpClass
from stepscope.model.opcost.tensors import Shape, TensorArgument

_MOST_DIMS = 64
_LARGEST = 2**62
# Codes of c10::ScalarType, as dtype arguments are recorded (c10/core/ScalarType.h, whose numbers are stable).
_SCALAR_TYPES = {
    **{0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "fp16", 6: "fp32", 7: "fp64"},
    **{9: "complex64", 10: "complex128", 11: "bool", 15: "bf16", 23: "fp8", 24: "fp8", 25: "fp8", 26: "fp8"},
}


@dataclass(frozen=True, slots=True)
class OpCost:
    """The work of one operator call.

    Attributes:
        flops: Floating-point operations, a multiply-add counted as two.
        bytes_read: Bytes of every input read once; None where the recording does not say the element types.
        bytes_written: Bytes of every output written once; None likewise.
        kind: The class of the kernels that do the work.
    """

    flops: int
    bytes_read: int | None
    bytes_written: int | None
    kind: OpClass

    @property
    def bytes(self) -> int | None:
        """Bytes read and written; the least traffic to memory the call can have."""
        if self.bytes_read is None or self.bytes_written is None:
            return None
        return self.bytes_read + self.bytes_written


@dataclass(frozen=True, slots=True)
class CallArguments:
    """The recorded arguments of one call; every accessor returns None for what is absent or makes no sense."""

    shapes: Sequence[Any]
    dtypes: Sequence[Any]
    concrete: Sequence[Any]

    def tensor(self, index: int) -> TensorArgument | None:
        """The tensor at a position, or None if there is none (an absent optional, a number, a list)."""
        if not 0 <= index < len(self.shapes):
            return None
        shape = _shape(self.shapes[index])
        recorded = self.dtypes[index] if index < len(self.dtypes) else None
        if shape is None or (isinstance(recorded, str) and not _is_element(recorded)):
            return None
        if not isinstance(recorded, str):
            # Without types a scalar tensor cannot be distinguished from a number.
            return TensorArgument(shape, None) if shape else None
        return TensorArgument(shape, types.canonical(recorded))

    def tensors(self) -> list[TensorArgument]:
        """Every tensor argument, in order; those inside lists not."""
        found = (self.tensor(index) for index in range(len(self.shapes)))
        return [tensor for tensor in found if tensor is not None]

    def list_of_tensors(self, index: int) -> list[TensorArgument] | None:
        """The tensors of a list argument (recorded without element types), or None if it is none."""
        if not 0 <= index < len(self.shapes) or not isinstance(self.shapes[index], list | tuple):
            return None
        shapes = [_shape(dims) for dims in self.shapes[index]]
        if not shapes or None in shapes:
            return None
        return [TensorArgument(shape, None) for shape in shapes if shape is not None]

    def text(self, index: int) -> str | None:
        """The recorded value of an argument; None if none was recorded."""
        if not 0 <= index < len(self.concrete):
            return None
        value = self.concrete[index]
        return value if isinstance(value, str) and value else None

    def integer(self, index: int) -> int | None:
        """An integer argument."""
        return _integer(self.text(index))

    def flag(self, index: int) -> bool | None:
        """A boolean argument."""
        return {"True": True, "False": False, "1": True, "0": False}.get(self.text(index) or "")

    def integers(self, index: int) -> list[int] | None:
        """An argument that is a list of integers, `[1, 1]`."""
        items = self._items(index)
        if items is None:
            return None
        numbers = [_integer(item) for item in items]
        return None if None in numbers else [number for number in numbers if number is not None]

    def flags(self, index: int) -> list[bool] | None:
        """An argument that is a list of booleans, `[True, False]`."""
        items = self._items(index)
        if items is None or not set(items) <= {"True", "False"}:
            return None
        return [item == "True" for item in items]

    def scalar_type(self, index: int) -> str | None:
        """An element type given as an argument."""
        return _SCALAR_TYPES.get(self.integer(index) or 0) if self.text(index) else None

    def _items(self, index: int) -> list[str] | None:
        text = self.text(index)
        if text is None or not (text.startswith("[") and text.endswith("]")):
            return None
        return [item.strip() for item in text[1:-1].split(",") if item.strip()]


def _is_element(recorded: str) -> bool:
    return types.canonical(recorded) is not None and (recorded[:1].islower() or "::" in recorded)


def _integer(text: str | None) -> int | None:
    plain = (text or "").strip()
    if not plain.lstrip("-").isdecimal() or len(plain) > 19:
        return None
    return int(plain) if plain.count("-") <= 1 else None


def _shape(dims: Any) -> Shape | None:
    """A shape whose number of elements fits int64; None for anything else."""
    if not isinstance(dims, list | tuple) or len(dims) > _MOST_DIMS:
        return None
    if not all(isinstance(dim, int) and 0 <= dim < _LARGEST for dim in dims):
        return None
    return tuple(dims) if math.prod(dims) < _LARGEST else None
