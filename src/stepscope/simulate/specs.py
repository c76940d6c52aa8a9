"""Descriptions shared by every occurrence of an operator, a kernel or a tensor; compared by identity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

DTYPE_BYTES: dict[str, int] = {"bf16": 2, "fp16": 2, "fp32": 4, "fp64": 8, "int64": 8, "uint8": 1}


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """Shape and element type of a tensor; strides are row-major unless ``transposed``."""

    shape: tuple[int, ...]
    dtype: str
    transposed: bool = False

    @property
    def elements(self) -> int:
        """Number of elements."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        return self.elements * DTYPE_BYTES[self.dtype]

    @property
    def strides(self) -> tuple[int, ...]:
        """Strides in elements."""
        strides: list[int] = []
        step = 1
        for size in reversed(self.shape):
            strides.append(step)
            step *= size
        return tuple(strides) if self.transposed else tuple(reversed(strides))


@dataclass(frozen=True, slots=True, eq=False)
class OpSpec:
    """A host interval's description.

    Attributes:
        name: as recorded.
        kind: ``op``, ``annotation`` (with a device-side copy) or ``loader``.
        inputs: tensors, scalars (as text) or ``None`` for what has no shape.
        backward: runs in the backward, as the partner of the forward operator with the same sequence number.
        extra: further fields of the recording, already named as there.
    """

    name: str
    kind: str = "op"
    inputs: tuple[TensorSpec | str | None, ...] = ()
    backward: bool = False
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Collective:
    """The data one collective moves per rank; ``bytes`` is the size of the whole tensor.

    ``ranks`` are those of the group, ``between`` those that take part, ``peer`` the one at the other end of a send or
    receive.
    """

    name: str
    kernel: str
    elements_in: int
    elements_out: int
    dtype: str
    bytes: int
    group: str
    description: str
    ranks: tuple[int, ...]
    between: tuple[int, ...]
    peer: int = -1

    @property
    def other_end(self) -> dict[str, int]:
        """What is recorded of the peer: of a send where to, of a receive where from."""
        name = {"send": "Dst Rank", "recv": "Src Rank"}.get(self.name)
        return {} if name is None else {name: self.peer}


@dataclass(frozen=True, slots=True, eq=False)
class KernelSpec:
    """A device activity's description.

    Attributes:
        name: as recorded.
        kind: ``compute``, ``comm``, ``copy`` or ``set``.
        op_class: gemm, attention, convolution, normalisation, elementwise, ...
        duration_ns: time on an undisturbed device.
        grid: blocks.
        block: threads per block.
        registers: registers per thread.
        shared_bytes: shared memory per block.
        flops: floating-point operations.
        bytes: bytes read and written (copied or filled, for copies and memsets).
        direction: ``HtoD``, ``DtoH``, ``DtoD`` for copies.
        collective: what it moves, for collectives.
        inputs: tensors it reads.
        outputs: tensors it writes.
    """

    name: str
    kind: str
    op_class: str
    duration_ns: int
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (128, 1, 1)
    registers: int = 32
    shared_bytes: int = 0
    flops: int = 0
    bytes: int = 0
    direction: str = ""
    collective: Collective | None = None
    inputs: tuple[TensorSpec, ...] = ()
    outputs: tuple[TensorSpec, ...] = ()
