"""Find the leaf pages of a table in an SQLite database (SQLite's file format, sections 1.3, 1.5 and 1.6)."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

MAGIC: Final = b"SQLite format 3\x00"
_UTF8: Final = 1
_INTERIOR: Final = 5
_LEAF: Final = 13
_DEEPEST: Final = 20

Bytes = NDArray[np.uint8]


class UnreadableError(Exception):
    """Pages are damaged, or of a kind not supported here; SQLite itself may read them."""


class Leaves(NamedTuple):
    """n leaf pages.

    Attributes:
        data: uint8[n * size], the pages' bytes, followed by 16 zeros.
        size: Bytes per page.
        usable: Bytes per page that may hold rows.
    """

    data: Bytes
    size: int
    usable: int


@dataclass(frozen=True, slots=True)
class PageFile:
    """A database file.

    Attributes:
        file: The open file.
        size: Bytes per page.
        usable: Bytes per page that are not reserved.
        count: Number of whole pages in the file.
    """

    file: io.FileIO
    size: int
    usable: int
    count: int

    @classmethod
    def open(cls, path: Path) -> PageFile:
        """Open a file.

        Raises:
            UnreadableError: It is no database, its text is not UTF-8, or it is truncated.
            OSError: It can't be read.
        """
        file = io.FileIO(path)
        try:
            head = file.read(100)
            size = int.from_bytes(head[16:18], "big")
            size = 65536 if size == 1 else size
            length = os.fstat(file.fileno()).st_size
            stated = int.from_bytes(head[28:32], "big")
            known = len(head) == 100 and head.startswith(MAGIC) and size >= 512 and not size & (size - 1)
            if not known or int.from_bytes(head[56:60], "big") != _UTF8 or stated * size > length:
                raise UnreadableError("its header")
            return cls(file, size, size - head[20], length // size)
        except BaseException:
            file.close()
            raise

    def close(self) -> None:
        """Release the file."""
        self.file.close()

    def leaves(self, root: int, at_once: int) -> Iterator[Leaves]:
        """The leaf pages of the table with root page `root`, in order.

        Args:
            root: Number of the root page.
            at_once: Pages to yield at a time.

        Raises:
            UnreadableError: The tree is damaged, or not that of a table.
        """
        waiting: list[int] = []
        for number in self._walk(root):
            waiting.append(number)
            if len(waiting) == at_once:
                yield self._read(waiting)
                waiting = []
        if waiting:
            yield self._read(waiting)

    def _walk(self, root: int) -> Iterator[int]:
        """Numbers of the leaf pages, in order; all are on one level."""
        seen = 0
        stack = [(root, 0)]
        while stack:
            number, depth = stack.pop()
            seen += 1
            # A repeated page means a cycle.
            if not 1 < number <= self.count or depth > _DEEPEST or seen > self.count:
                raise UnreadableError("its tree")
            if self._kind(number) == _LEAF:
                yield number
                continue
            children = self._children(number)
            if depth < _DEEPEST and self._are_leaves(children):
                seen += len(children)
                if seen > self.count:
                    raise UnreadableError("its tree")
                yield from children
            else:
                stack.extend((child, depth + 1) for child in reversed(children))

    def _are_leaves(self, children: list[int]) -> bool:
        """Whether the first page is a leaf. Then all must be, which is verified when they are read."""
        if not all(1 < child <= self.count for child in children):
            raise UnreadableError("its tree")
        return self._kind(children[0]) == _LEAF

    def _kind(self, number: int) -> int:
        """The type byte of a page."""
        first = np.zeros(1, np.uint8)
        self._fill(first, number)
        return int(first[0])

    def _children(self, number: int) -> list[int]:
        page = np.zeros(self.size, np.uint8)
        self._fill(page, number)
        if page[0] != _INTERIOR:
            raise UnreadableError("its tree")
        cells = int(page[3]) << 8 | int(page[4])
        if 12 + 2 * cells > self.size:
            raise UnreadableError("its tree")
        at = page[12 : 12 + 2 * cells].reshape(-1, 2).astype(np.int64) @ np.array([256, 1])
        if at.size and int(at.max()) + 4 > self.size:
            raise UnreadableError("its tree")
        places = np.append(at, 8)
        weights = np.array([1 << 24, 1 << 16, 1 << 8, 1])
        numbers: list[int] = (page[places[:, None] + np.arange(4)].astype(np.int64) @ weights).tolist()
        return numbers

    def _read(self, numbers: list[int]) -> Leaves:
        """The bytes of pages; consecutive ones are read at once."""
        data = np.zeros(len(numbers) * self.size + 16, np.uint8)
        breaks = np.flatnonzero(np.diff(numbers) != 1) + 1
        for low, high in pairwise([0, *breaks.tolist(), len(numbers)]):
            self._fill(data[low * self.size : high * self.size], numbers[low])
        return Leaves(data, self.size, self.usable)

    def _fill(self, part: Bytes, number: int) -> None:
        """Fill a buffer with bytes from the start of a page on."""
        self.file.seek((number - 1) * self.size)
        if self.file.readinto(part.data) != part.size:
            raise UnreadableError("its length")
