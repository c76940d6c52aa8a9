"""What a run of a trial does: from the launcher to every process of it, through one environment variable."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final

#: Holds the settings as JSON.
VARIABLE: Final = "STEPSCOPE_TRY"


@dataclass(frozen=True, slots=True)
class TrialSettings:
    """What the processes of a run do.

    Attributes:
        token: Marks all processes of this run.
        reports: Folder in which processes report, absolute; empty if this run only applies remedies.
        scratch: Folder that the run may write as it likes, absolute; empty if nothing is guarded.
        since_ns: When the run started, in ns since the epoch: files that changed later are its own.
        kept: Folder for copies of files that are about to be overwritten outside of it, absolute.
        remedies: Names of modules of remedies to apply.
        seen: What an earlier run showed, as JSON values.
        seed: What random numbers start from.
        numbered: Updates of which losses and gradient norms are kept.
        warmup: Steps before the first that is timed.
    """

    token: str
    reports: str
    scratch: str = ""
    since_ns: int = 0
    kept: str = ""
    remedies: tuple[str, ...] = ()
    seen: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    numbered: int = 8
    warmup: int = 10

    def text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> TrialSettings:
        """From JSON; what this version does not know is left out."""
        values: dict[str, Any] = json.loads(text)
        known = {one.name for one in fields(cls)}
        values = {name: value for name, value in values.items() if name in known}
        return cls(**{**values, "remedies": tuple(values.get("remedies", ()))})

    @classmethod
    def given(cls) -> TrialSettings | None:
        """Those of this process's environment."""
        text = os.environ.get(VARIABLE)
        return cls.of(text) if text else None
