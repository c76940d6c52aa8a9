"""What was wrong with the packing of an input."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepscope.store.staging import Staging


@dataclass(slots=True)
class Damage:
    """Empty if nothing was wrong.

    Attributes:
        messages: What was wrong, one sentence each.
        whole: Whether all of the content came out, though maybe not as it was.
        refused: Whether unpacking ended since the content is larger than a limit.
    """

    messages: list[str] = field(default_factory=list)
    whole: bool = True
    refused: bool = False

    def ends(self, message: str) -> None:
        """Something is wrong, and what follows it is missing."""
        self.messages.append(message)
        self.whole = False

    def changes(self, message: str) -> None:
        """Something is wrong, and what follows it is there."""
        self.messages.append(message)

    def observe(self, staging: Staging) -> None:
        """Note in health what is wrong, and what that means for the numbers."""
        effect = "what was changed is missing, or wrong" if self.whole else "everything after the damage is missing"
        for message in self.messages:
            staging.observe("input-damaged", "error", 1, message, effect)
