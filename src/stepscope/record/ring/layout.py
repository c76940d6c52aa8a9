"""What lies where in a ring: a head, what happened, and the last steps; numbers are little-endian."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

MAGIC: Final = b"STEPRING"
VERSION: Final = 1
#: Steps that a ring keeps if nothing else is asked for: at 64 bytes each 1 MiB, four hours of steps of a second.
STEPS: Final = 16_384
#: Ends the name of a ring's file.
SUFFIX: Final = ".ring"

#: Magic, version, steps kept; then totals since the start: steps, their ns, the ns of them that waited for data,
#: recordings, things that happened; at last Unix time in ns, and bytes in use on the device and of the process.
HEAD: Final = struct.Struct("<8sIIQQQQQqqq")
#: Where the text about the process starts, after the number of its bytes.
ABOUT: Final = 256
LENGTH: Final = struct.Struct("<I")
HEAD_BYTES: Final = 4096
#: What happened: texts of JSON, each in a slot of its own.
HAPPENED: Final = 128
HAPPENED_BYTES: Final = 512
#: Its number from 1, its step, Unix time of its end, its length, its wait for data, bytes on the device and of the
#: process, and flags.
STEP: Final = struct.Struct("<Qqqqqqqq")
STEPS_FROM: Final = HEAD_BYTES + HAPPENED * HAPPENED_BYTES
#: Flag of a step in which a profiler of ours was at work.
RECORDED: Final = 1


def size(steps: int) -> int:
    """Bytes of a ring that keeps so many steps."""
    return STEPS_FROM + steps * STEP.size


@dataclass(frozen=True, slots=True)
class RingStep:
    """A step; times in ns.

    Attributes:
        number: Its number in the program, from 0.
        end_unix_ns: When it ended.
        length_ns: How long it took.
        wait_ns: How long its loop waited for batches.
        device_bytes: Most bytes of tensors on the device so far, when last looked at; 0 where there is none.
        host_bytes: Bytes of memory that the process held when last looked at; 0 where that is not known.
        recorded: Whether a profiler of ours was at work.
    """

    number: int
    end_unix_ns: int
    length_ns: int
    wait_ns: int = 0
    device_bytes: int = 0
    host_bytes: int = 0
    recorded: bool = False
