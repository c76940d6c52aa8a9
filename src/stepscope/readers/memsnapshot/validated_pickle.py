"""A stream of validated pickle operations, with a callback after each batch of dictionaries."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterator
from typing import Final

from stepscope.language import said
from stepscope.model.errors import UnusableInputError
from stepscope.readers.memsnapshot import opcodes
from stepscope.readers.memsnapshot.guard import MemoryGuard

#: Longest string, in bytes: names of files and functions are shorter.
_LONGEST_STRING: Final = 1 << 20
_HINT: Final = "give a snapshot as torch.cuda.memory._dump_snapshot writes it"


class ValidatedPickle:
    """File-like source of the unpickler, which validates every operation.

    After dictionaries are appended to a list (picklers write batches of 1000), BINPERSID is inserted: it passes the
    list to the unpickler's `persistent_load`, which can move the dictionaries out while the rest is still unread.
    The file's own frames, whose lengths no longer fit, are replaced by one per block.

    Args:
        blocks: The pickle.
        guard: Memory limit, checked after each block.
        label: The file's name in errors.
        each: Pass every dictionary, too, as soon as it is complete: several times slower.
    """

    def __init__(self, blocks: Iterator[bytes], guard: MemoryGuard, label: str, *, each: bool = False) -> None:
        self._each = each
        self._label = label
        self._guard = guard
        self._frames = self._framed(blocks)
        self._buffer = b""
        self._at = 0

    def read(self, size: int) -> bytes:
        """`size` bytes; fewer at the end.

        Raises:
            UnusableInputError: The pickle asks for objects, or takes far more memory than a snapshot would.
            UnpicklingError: It is damaged.
        """
        while len(self._buffer) - self._at < size:
            more = next(self._frames, b"")
            if not more:
                break
            self._buffer = self._buffer[self._at :] + more
            self._at = 0
        data = self._buffer[self._at : self._at + size]
        self._at += len(data)
        return data

    def readline(self) -> bytes:
        """Empty: no admitted operation has a line as its argument."""
        return b""

    def _framed(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        rest, seen, first = b"", 0, True
        for block in blocks:
            data = rest + block
            seen += len(block)
            at = 0
            if first:
                at = self._start(data)
                yield data[:at]
                first = False
            parts, at, stopped = self._validate(data, at, seen)
            rest = data[at:]
            valid = b"".join(parts)
            if valid:
                yield opcodes.FRAME + struct.pack("<Q", len(valid)) + valid
            if stopped:
                return
            self._guard.check(seen)

    def _start(self, data: bytes) -> int:
        if data[:1] != opcodes.PROTO or len(data) < 2 or not 2 <= data[1] <= 5:
            raise UnusableInputError(said("{label} is no pickle of protocol 2 to 5", label=self._label), hint=_HINT)
        return 2

    def _validate(self, data: bytes, at: int, seen: int) -> tuple[list[bytes], int, bool]:
        """The validated operations from `at` on, the position after them, and whether the pickle ends there."""
        # An explicitly indexed memo entry takes at least six bytes of the file, which bounds the index.
        bits = min(32, max(16, (seen // 6).bit_length()))
        match = opcodes.run_pattern(bits, whole_dictionaries=self._each).match
        parts: list[bytes] = []
        while at < len(data):
            if run := match(data, at):
                parts.append(run.group())
                at = run.end()
                continue
            opcode = data[at : at + 1]
            if opcode in opcodes.APPEND or opcode == opcodes.SETITEMS:
                parts.append(opcode + opcodes.BINPERSID)
                at += 1
            elif opcode == opcodes.STOP:
                parts.append(opcode)
                return parts, at + 1, True
            elif opcode == opcodes.FRAME:
                if at + 9 > len(data):
                    break
                at += 9
            elif (length := self._string_length(data, at)) is not None:
                if at + 5 + length > len(data):
                    break
                parts.append(data[at : at + 5 + length])
                at += 5 + length
            elif data[at] in opcodes.ADMITTED and len(data) - at < opcodes.LONGEST:
                break
            else:
                self._refuse(opcode)
        return parts, at, False

    def _string_length(self, data: bytes, at: int) -> int | None:
        if data[at : at + 1] != opcodes.BINUNICODE or at + 5 > len(data):
            return None
        length = int.from_bytes(data[at + 1 : at + 5], "little")
        if length > _LONGEST_STRING:
            raise UnusableInputError(
                said("{label} has a string of {length} bytes, which no snapshot has", label=self._label, length=length),
                hint=_HINT,
            )
        return length

    def _refuse(self, opcode: bytes) -> None:
        name = opcodes.DANGEROUS.get(opcode)
        if name is None:
            raise pickle.UnpicklingError(said("0x{hex} is no operation that snapshots have", hex=opcode.hex()))
        raise UnusableInputError(
            said(
                "{label} is no memory snapshot: its pickle would make objects or run code ({name})",
                label=self._label,
                name=name,
            ),
            hint=said("{hint}; nothing in it was run", hint=_HINT),
        )
