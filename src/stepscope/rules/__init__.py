"""Rules: from signals to findings, one file per rule, a folder per family."""

from __future__ import annotations

from typing import Final

#: Entry points of this group name modules of other packages with `RULE` and `FAMILY`.
ENTRY_POINTS: Final = "stepscope.rules"
