"""Tell of texts which are events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from stepscope.native.scanning import ScanLayout, ScanMember, Scanner

#: Ends whatever is open in the text before it, and lets the next one be looked at on its own.
_BETWEEN: Final = b"\n\1}\n"
_MOST_ROWS: Final = 1 << 14
#: Bytes that may be read in vain. No event reaches beyond its text, but many may seem to start within.
_PATIENCE: Final = 16 << 20


class EventCheck:
    """Checks which texts are exactly one event: a JSON object with a member.

    Args:
        member: The member that every event has.
    """

    def __init__(self, member: ScanMember) -> None:
        self._layout = ScanLayout((member,), "", {})
        self._scanner: Scanner | None = None

    def __call__(self, texts: Sequence[bytes]) -> list[bool]:
        """Whether each text is an event."""
        if not texts:
            return []
        if self._scanner is None:
            self._scanner = Scanner(self._layout, _MOST_ROWS)
        joined = _BETWEEN.join(text if text.startswith(b"{") else b"" for text in texts)
        self._scanner.room(len(joined))[: len(joined)] = np.frombuffer(joined, np.uint8)
        starts, whole = self._rows(len(joined))
        sizes = [len(text) if text.startswith(b"{") else 0 for text in texts]
        starts_at = np.cumsum([0, *(size + len(_BETWEEN) for size in sizes[:-1])])
        row = np.minimum(np.searchsorted(starts, starts_at), max(starts.size - 1, 0))
        if not starts.size:
            return [False] * len(texts)
        # The row behind an event is what stands between two texts.
        follows = np.append(starts, len(joined) + len(_BETWEEN) - 2)[row + 1]
        found = (starts[row] == starts_at) & whole[row] & (np.array(sizes) > 0)
        found &= follows >= starts_at + np.array(sizes)
        return [bool(one) for one in found]

    def _rows(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Where rows start, and whether they are whole."""
        assert self._scanner is not None
        starts, whole, start_at = [np.zeros(0, np.int32)], [np.zeros(0, np.bool_)], 0
        while start_at < size:
            rows = self._scanner.scan(start_at, size, ended=True, closed=False, patience=_PATIENCE + size)
            starts.append(rows.start)
            whole.append(~rows.broken)
            start_at = rows.stop
        return np.concatenate(starts), np.concatenate(whole)
