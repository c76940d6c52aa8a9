"""A run of a program: started in a folder of its own, and ended from outside with all of its processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from stepscope.language import brought, carried, pattern, said
from stepscope.model.amounts import plural
from stepscope.record.launch import INJECTED
from stepscope.trying import processes
from stepscope.trying.job.settings import VARIABLE, TrialSettings
from stepscope.trying.mirror import Mirrored, mirror
from stepscope.trying.restoring import Restored, restore
from stepscope.trying.seen import Seen

#: Libraries that keep records of runs elsewhere keep them here.
_OFFLINE: Final = {"WANDB_MODE": "offline", "COMET_MODE": "disabled", "NEPTUNE_MODE": "offline"}


@dataclass(frozen=True, slots=True)
class TriedProgram:
    """What is tried.

    Attributes:
        command: Program and arguments.
        working: Its working folder, absolute.
        environment: Its variables.
    """

    command: tuple[str, ...]
    working: Path
    environment: Mapping[str, str]


@dataclass(slots=True)
class RunResult:
    """What a run showed.

    Attributes:
        remedies: Names of the remedies that were applied; empty for a base run.
        why: Why it timed too little, a phrase; empty if it did not.
        step_ns: Mean step, over ranks too; 0 if it failed.
        steps: Timed steps of each rank.
        source: What steps were found by.
        ranks: Number of ranks.
        losses: By rank, of the first backward passes.
        norms: By rank, of the gradients at the first updates.
        outputs: By rank, of models' first results.
        applied: Remedies that found something to do.
        seen: What its first rank showed, as JSON values.
        peak_bytes: Most device memory of a rank.
        seconds: How long the run took.
        group: Number of the group of runs that it belongs to.
        pair: Number, within the group, of the runs that it took turns with.
        back: Files outside of its folder that were put back.
        removed: Files that it made outside, and that were removed.
        lost: Files outside that could not be put back.
        linked: Files and folders that its working folder has as links.
        ended: Whether the program came to its end by itself, without an error.
        hung: Whether it took longer than it was given.
    """

    remedies: list[str]
    why: str = ""
    step_ns: float = 0.0
    steps: int = 0
    source: str = ""
    ranks: int = 1
    losses: list[list[float]] = field(default_factory=list)
    norms: list[list[float]] = field(default_factory=list)
    outputs: list[list[float]] = field(default_factory=list)
    applied: list[str] = field(default_factory=list)
    seen: dict[str, Any] = field(default_factory=dict)
    peak_bytes: int = 0
    seconds: float = 0.0
    group: int = 0
    pair: int = 0
    back: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    linked: int = 0
    ended: bool = False
    hung: bool = False

    @property
    def was_seen(self) -> Seen:
        """What its first rank showed."""
        return Seen.from_json(self.seen) if self.seen else Seen()

    def to_json(self) -> dict[str, Any]:
        """As JSON values; `why` as other processes can tell it."""
        return {**asdict(self), "why": carried(self.why)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> RunResult:
        """From such values.

        Raises:
            ValueError: They are none; a `TypeError` where their names are others.
        """
        return cls(**{**values, "why": brought(values["why"])})


def about_files(runs: Sequence[RunResult]) -> list[str]:
    """What runs wrote outside of their folders, a sentence each without a full stop."""
    found: list[str] = []
    for what, files in (
        (pattern("{files} written outside of the scratch folders and put back: {names}"),
         sorted({one for run in runs for one in run.back})),
        (pattern("{files} made outside of the scratch folders and removed: {names}"),
         sorted({one for run in runs for one in run.removed})),
        (pattern("{files} written and could NOT be put back: {names}"),
         sorted({one for run in runs for one in run.lost})),
    ):  # fmt: skip
        if files:
            names = f"{', '.join(files[:3])}{' ...' if files[3:] else ''}"
            found.append(said(what, files=plural(len(files), "file"), names=names))
    return found


class Workplace:
    """The folder of a trial, with a folder for each run while it goes on.

    Args:
        folder: Where everything is written, absolute.
        program: What is tried.
        in_place: Run in the program's own working folder, and guard nothing.
    """

    def __init__(self, folder: Path, program: TriedProgram, *, in_place: bool = False) -> None:
        self.folder = folder
        self.program = program
        self._in_place = in_place
        self._number = 0

    def open(self, name: str) -> OpenRun:
        """A place for a run.

        Args:
            name: What its output is called by.
        """
        self._number += 1
        token = uuid.uuid4().hex
        folder = self.folder / "runs" / f"{name}-{token[:8]}"
        (folder / "reports").mkdir(parents=True)
        (folder / "kept").mkdir()
        if self._in_place:
            return OpenRun(self.program, folder, token, Mirrored(self.program.working), "")
        made = mirror(self.program.working, folder / "root", self.folder)
        return OpenRun(self.program, folder, token, made, str(self.folder))


class OpenRun:
    """A run that is about to be started, goes on, or is over.

    Args:
        program: What is run.
        folder: Its own folder.
        token: Marks its processes.
        place: Its working folder.
        scratch: Folder outside of which files are put back; empty if none are.
    """

    def __init__(self, program: TriedProgram, folder: Path, token: str, place: Mirrored, scratch: str) -> None:
        self.folder = folder
        self._program = program
        self._token = token
        self._place = place
        self._scratch = scratch
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0
        self._pids: list[int] = []
        self._outside: Restored | None = None
        self._killed = False

    @property
    def reports(self) -> Path:
        """Where its processes report."""
        return self.folder / "reports"

    def settings(self, settings: TrialSettings) -> TrialSettings:
        """Settings, with what is this run's own."""
        kept, now = str(self.folder / "kept"), time.time_ns()
        return replace(settings, token=self._token, scratch=self._scratch, kept=kept, since_ns=now)

    def start(self, settings: TrialSettings, variables: Mapping[str, str | None]) -> int:
        """Start it; the number of its first process."""
        given = {**self._program.environment}
        for name, value in {**{k: v for k, v in _OFFLINE.items() if k not in given}, **variables}.items():
            if value is None:
                given.pop(name, None)
            else:
                given[name] = value
        given["PYTHONPATH"] = os.pathsep.join(filter(None, [str(INJECTED), given.get("PYTHONPATH")]))
        given["PYTHONHASHSEED"] = given.get("PYTHONHASHSEED", "0")
        given["PWD"] = str(self._place.folder)
        given[VARIABLE] = self.settings(settings).text()
        self._started = time.monotonic()
        with (self.folder / "output.txt").open("wb") as output:
            self._process = processes.start(self._program.command, given, self._place.folder, output)
        return self._process.pid

    def is_over(self) -> bool:
        """Whether its first process has ended."""
        return self._process is not None and self._process.poll() is not None

    @property
    def status(self) -> int | None:
        """Exit status of its first process, if it has ended by itself."""
        return self._process.poll() if self._process is not None else None

    @property
    def seconds(self) -> float:
        """Since it was started."""
        return time.monotonic() - self._started

    def output(self) -> str:
        """The end of what it wrote."""
        with suppress(OSError), (self.folder / "output.txt").open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 65536))
            return file.read().decode("utf-8", "replace")
        return ""

    def send(self, number: int) -> None:
        """Send a signal to all processes that it had when it was last looked for them."""
        for pid in self._pids:
            with suppress(OSError):
                os.kill(pid, number)

    def look(self) -> None:
        """Find its processes, which takes some ms."""
        self._pids = processes.of_run(self._token)

    def kill(self) -> None:
        """End all of its processes."""
        if self._process is not None and not self._killed:
            # What it ended with by itself is kept.
            self._process.poll()
            processes.end(self._process, self._token)
            self._killed = True

    def end(self) -> Restored:
        """End it, with all of its processes, and put back what it wrote outside of its folder."""
        if self._outside is not None:
            return self._outside
        self.kill()
        found = restore(self.folder / "kept") if self._scratch else Restored()
        shutil.rmtree(self.folder / "root", ignore_errors=True)
        if not found.lost:
            shutil.rmtree(self.folder / "kept", ignore_errors=True)
        self._outside = found
        return found

    @property
    def linked(self) -> int:
        """Files and folders that its working folder has as links."""
        return self._place.linked
