"""Instructions of a host thread. A program is a flat tuple of these."""

from __future__ import annotations

from dataclasses import dataclass

from stepscope.simulate.specs import KernelSpec, OpSpec


@dataclass(frozen=True, slots=True, eq=False)
class Enter:
    """Start an operator or annotation; ``sequence`` is its autograd number within the step (-1: none)."""

    spec: OpSpec
    sequence: int = -1


@dataclass(frozen=True, slots=True, eq=False)
class Leave:
    """End the innermost operator or annotation."""


@dataclass(frozen=True, slots=True, eq=False)
class Launch:
    """Launch a kernel or memset through the runtime call ``call``."""

    kernel: KernelSpec
    queue: int
    call: str = "cudaLaunchKernel"


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """Launch a captured graph: all its kernels at once."""

    kernels: tuple[KernelSpec, ...]
    queue: int


@dataclass(frozen=True, slots=True, eq=False)
class Copy:
    """Copy; a ``blocking`` one holds the host until it is done (pageable memory)."""

    kernel: KernelSpec
    queue: int
    blocking: bool


@dataclass(frozen=True, slots=True, eq=False)
class Collect:
    """Launch a collective: ends when the last rank has arrived and the data has moved."""

    kernel: KernelSpec
    queue: int


@dataclass(frozen=True, slots=True, eq=False)
class Alloc:
    """Take device memory for ``slot``; ``frames`` are Python functions beside those entered, outermost first."""

    slot: int
    bytes: int
    frames: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Free:
    """Give the memory of ``slot`` back to the caching allocator."""

    slot: int


@dataclass(frozen=True, slots=True, eq=False)
class RecordEvent:
    """Mark the current end of ``queue`` as ``event``."""

    event: int
    queue: int


@dataclass(frozen=True, slots=True, eq=False)
class WaitEvent:
    """Let what follows on ``queue`` wait for ``event``."""

    event: int
    queue: int


@dataclass(frozen=True, slots=True, eq=False)
class Sync:
    """Block the host until ``queue`` (-1: the whole device) has drained."""

    queue: int


@dataclass(frozen=True, slots=True, eq=False)
class RuntimeCall:
    """A small runtime call that launches nothing."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Spend:
    """Host time for a cause of ``causes``."""

    ns: int
    cause: int


@dataclass(frozen=True, slots=True, eq=False)
class SwitchThread:
    """Go on in another host thread (``records.MAIN`` or ``records.AUTOGRAD``)."""

    thread: int


@dataclass(frozen=True, slots=True, eq=False)
class FrameIn:
    """Enter a Python function."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class FrameOut:
    """Leave the innermost Python function."""


@dataclass(frozen=True, slots=True, eq=False)
class NextBatch:
    """Wait for the loader's next batch."""


@dataclass(frozen=True, slots=True, eq=False)
class EmptyCache:
    """Give cached device memory back to the driver."""


Instruction = (
    Enter
    | Leave
    | Launch
    | Replay
    | Copy
    | Collect
    | Alloc
    | Free
    | RecordEvent
    | WaitEvent
    | Sync
    | RuntimeCall
    | Spend
    | SwitchThread
    | FrameIn
    | FrameOut
    | NextBatch
    | EmptyCache
)
Program = tuple[Instruction, ...]
