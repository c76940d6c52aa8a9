"""Distinct names of a recording by which its program is identified: operators, kernels, files, classes, threads."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from stepscope.analyses.program.marks import PACKAGES
from stepscope.analyses.shared.recorded_events import names_of
from stepscope.model.trace import Trace

#: A Python frame is `path(line): function`; built-in functions begin with `<`.
_FRAME: Final = re.compile(r"^([^<(][^(]*\.py)\(\d+\)(: .*)?$")
_MODULE: Final = re.compile(r"^nn\.Module: (\w+?)_\d+$")
_INSTALLED: Final = frozenset(("site-packages", "dist-packages"))
_STACKS_SQL: Final = (
    "SELECT DISTINCT stack FROM (SELECT stack FROM op_inputs WHERE stack IS NOT NULL AND stack <> '' LIMIT 5000)"
)
_THREADS_SQL: Final = "SELECT DISTINCT label FROM tracks WHERE kind = 'host'"


@dataclass(frozen=True)
class ProgramNames:
    """Distinct names of a trace of one rank.

    Attributes:
        work: Of operators, kernels, annotations, modules and steps.
        kernels: Of kernels alone.
        frames: Python frames as recorded.
        threads: Labels of the host's threads.
    """

    work: tuple[str, ...]
    kernels: tuple[str, ...]
    frames: tuple[str, ...]
    threads: tuple[str, ...]

    @cached_property
    def files(self) -> tuple[str, ...]:
        """Files of the frames, ascending."""
        matches = (_FRAME.match(frame) for frame in self.frames)
        return tuple(sorted({found.group(1).replace("\\", "/") for found in matches if found}))

    @cached_property
    def packages(self) -> dict[str, str]:
        """Known packages whose code the program runs, with a file of each.

        A user's folder may have a package's name (`src/nets/transformers/dit.py`), so a package must be at the start of
        a recorded path, among installed ones, or in a checkout of its own (`/opt/Megatron-LM/megatron/...`).
        """
        found: dict[str, str] = {}
        for file in self.files:
            # The last part is the file itself; a script that happens to be called like a package is none.
            parts = file.split("/")[:-1]
            for at, part in enumerate(parts):
                if part in PACKAGES and (not at or parts[at - 1] in _INSTALLED or _checked_out(part, parts[:at])):
                    found.setdefault(part, file)
        return found

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """Classes of modules in the order in which they were first seen."""
        found = (_MODULE.match(name) for name in self.work)
        return tuple(dict.fromkeys(match.group(1) for match in found if match))

    def first(self, pattern: re.Pattern[str], *names: Iterable[str]) -> str:
        """The first of the names in which the pattern is found; empty if there is none."""
        return next((name for group in names for name in group if pattern.search(name)), "")


def _checked_out(package: str, above: list[str]) -> bool:
    """Whether one of the folders above is a repository of the package."""
    return any(folder.lower().startswith(package) for folder in above)


def program_names(trace: Trace) -> ProgramNames:
    """The names of a trace; ask for it with `Trace.once`."""
    kernels = tuple(name for _, name in names_of(trace, ("kernel", "collective")))
    work = tuple(name for _, name in names_of(trace, ("op", "annotation", "module", "step", "other"))) + kernels
    frames = {name for _, name in names_of(trace, ("python",))}
    for row in trace.rows(_STACKS_SQL):
        frames.update(row["stack"].split(";"))
    frames.update(row["text"] for row in trace.rows("SELECT text FROM call_frames"))
    threads = tuple(row["label"] for row in trace.rows(_THREADS_SQL))
    return ProgramNames(work, kernels, tuple(frames), threads)
