"""One row of ``NVTX_EVENTS``."""

from __future__ import annotations

from typing import Any, NamedTuple


class Range(NamedTuple):
    """A range or a declaration; its text is given as such or, if registered, by its id."""

    start: int
    end: int | None
    kind: int
    thread: int
    text: str | None = None
    text_id: int | None = None
    domain: int = 0
    payload: str | None = None

    def row(self) -> tuple[Any, ...]:
        """The table's columns."""
        head = (self.start, self.end, self.kind, None, None, None, self.text, self.thread, None)
        return (*head, self.text_id, self.domain, None, None, None, None, None, None, None, self.payload, None)
