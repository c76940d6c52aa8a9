"""Tell memory that grows as it does from memory that jumps."""

from __future__ import annotations

from typing import Final

#: Looks at the memory before it counts as usual: the first steps make optimizer states, caches and workspaces.
_FIRST: Final = 5


class MemoryJumps:
    """Finds use of memory that exceeds by a quarter, and by a size that matters, all that was seen before.

    What grows slowly raises what was seen before, and so does a jump, which is told once.

    Args:
        share: By how much more than the most before; 0 for never.
        least: Bytes that it must be besides.
    """

    def __init__(self, share: float, least: int) -> None:
        self._share = share
        self._least = least
        self._looks = 0
        self._most = 0

    def rose_to(self, size: int) -> None:
        """So much was in use for what is no concern of the program's."""
        self._most = max(self._most, size)

    def jumped_from(self, size: int) -> int:
        """What was in use at most before it jumped; 0 if it did not."""
        if not self._share or size <= 0:
            return 0
        most, self._most = self._most, max(self._most, size)
        self._looks += 1
        return most if self._looks > _FIRST and size > most + max(self._share * most, self._least) else 0
