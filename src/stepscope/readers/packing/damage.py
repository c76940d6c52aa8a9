"""Damage found in the packing of an input."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepscope.store.staging import Staging


@dataclass(slots=True)
class Damage:
    """Damage found while unpacking; without messages there was none.

    Attributes:
        messages: One sentence per defect.
        whole: Whether the content is complete, though maybe altered.
        refused: Whether unpacking stopped at the size limit.
    """

    messages: list[str] = field(default_factory=list)
    whole: bool = True
    refused: bool = False

    def ends(self, message: str) -> None:
        """Add a defect after which the content is missing."""
        self.messages.append(message)
        self.whole = False

    def changes(self, message: str) -> None:
        """Add a defect after which the content continues."""
        self.messages.append(message)

    def observe(self, staging: Staging) -> None:
        """Report the damage in health, with its effect."""
        effect = "what was changed is missing, or wrong" if self.whole else "everything after the damage is missing"
        for message in self.messages:
            staging.observe("input-damaged", "error", 1, message, effect)
