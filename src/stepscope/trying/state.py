"""What a trial has done so far, in a file of its folder: a call that was cut goes on from there."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.trying.recorded import RecordedRun
from stepscope.trying.runs import RunResult

FILE: Final = "state.json"
_VERSION: Final = 1


@dataclass(slots=True)
class TrialState:
    """What is kept of a trial.

    Attributes:
        folder: Where.
        command: Program and arguments.
        working: Its working folder.
        runs: Runs that are over, in their order.
        recorded: The recorded run; None if it has not been made.
        mark: What tells it from other trials, a number drawn by chance.
    """

    folder: Path
    command: list[str]
    working: str
    runs: list[RunResult] = field(default_factory=list)
    recorded: RecordedRun | None = None
    mark: str = field(default_factory=lambda: secrets.token_hex(8))

    def add(self, run: RunResult) -> None:
        """A run is over."""
        self.runs.append(run)
        self.save()

    def of(self, group: int, remedies: list[str]) -> list[RunResult]:
        """Runs with these remedies in a group of alternating runs."""
        return [one for one in self.runs if one.group == group and one.remedies == remedies]

    def save(self) -> None:
        """Write it, whole or not at all."""
        values: dict[str, Any] = {
            "version": _VERSION, "command": self.command, "working": self.working, "mark": self.mark,
            "runs": [one.to_json() for one in self.runs],
            "recorded": self.recorded.to_json() if self.recorded is not None else None,
        }  # fmt: skip
        temporary = self.folder / f"{FILE}.unfinished"
        temporary.write_text(json.dumps(values), encoding="utf-8")
        temporary.replace(self.folder / FILE)


def opened(folder: Path, command: list[str], working: Path) -> TrialState:
    """The state of a folder, which may be new.

    Raises:
        UserError: It holds the trial of another program, or something else.
    """
    path = folder / FILE
    state = TrialState(folder, command, str(working))
    if not path.exists():
        if folder.is_dir() and any(folder.iterdir()):
            raise UserError(said("{folder} is not empty", folder=folder), hint="give --output a folder of its own")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            state.save()
        except OSError as error:
            hint = said("give --output a folder that can be")
            message = said("{folder} can't be written ({strerror})", folder=folder, strerror=error.strerror)
            raise UserError(message, hint=hint) from error
        return state
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        found = [RunResult.from_json(one) for one in values["runs"]]
        recorded = RecordedRun.from_json(values["recorded"]) if values["recorded"] else None
        same = (values["command"], values["working"]) == (command, str(working)) and values["version"] == _VERSION
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(said("{path} can't be read", path=path), hint="give --output another folder") from error
    if not same:
        message = said("{folder} holds the trial of another program", folder=folder)
        raise UserError(message, hint="give --output another folder")
    state.runs, state.recorded, state.mark = found, recorded, str(values.get("mark") or state.mark)
    return state
