"""Parse raw recordings of NPUs, many at a time: with the installed torch_npu, or with CANN's msprof."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Final

from stepscope.language import said
from stepscope.model.errors import UserError

#: What torch_npu's profiler writes: the ending of its folder's name, and a folder in it, which a renamed one has, too.
_RECORDING: Final = "_ascend_pt"
_FRAMEWORK: Final = "FRAMEWORK"
#: What CANN writes: into a recording of torch_npu, or by itself (msprof).
_CANN: Final = "PROF_"
#: Results by which a parsed recording is known.
_RESULTS: Final = (
    "analyse.done", "ASCEND_PROFILER_OUTPUT/analyse.done", "ASCEND_PROFILER_OUTPUT/trace_view.json*",
    "ASCEND_PROFILER_OUTPUT/*.db",
)  # fmt: skip
_RESULTS_OF_CANN: Final = ("mindstudio_profiler_output/*.csv", "mindstudio_profiler_output/*.json", "msprof_*.db")


@dataclass(frozen=True, slots=True)
class OfflineParsing:
    """What became of raw recordings.

    Attributes:
        parsed: Those that were parsed now.
        before: Those that had been parsed, and were left as they are.
        failed: Those that have no results still.
    """

    parsed: tuple[Path, ...]
    before: tuple[Path, ...]
    failed: tuple[Path, ...]


def raw_recordings(folder: Path) -> list[Path]:
    """Raw recordings in a folder, or the one that it is or belongs to: `*_ascend_pt`, and `PROF_*` in none of these."""
    if _is_recording(folder):
        return [folder]
    if _is_of_cann(folder):
        return [folder.parent] if _is_recording(folder.parent) else [folder]
    found = []
    for path, names, _ in os.walk(folder):
        inside = [Path(path, name) for name in sorted(names)]
        ends = [one for one in inside if _is_recording(one) or _is_of_cann(one)]
        found += ends
        names[:] = [one.name for one in inside if one not in ends]
    return found


def parse(folder: Path, processes: int, export: Sequence[str] | None = None, *, again: bool = False) -> OfflineParsing:
    """Parse the raw recordings in a folder.

    Args:
        folder: Holds recordings, `*_ascend_pt` or `PROF_*`, or is one.
        processes: How many are parsed at a time.
        export: What is written, `text` and `db`; what the recording was made for if not given.
        again: Parse those that have been parsed, too.

    Raises:
        UserError: There are none, or nothing that parses them.
    """
    folder = folder.absolute()
    if not folder.exists():
        raise UserError(said("{path} does not exist", path=folder), hint="check the path")
    found = raw_recordings(folder) if folder.is_dir() else []
    if not found:
        raise UserError(
            said("{folder} holds no recording of an NPU", folder=folder),
            hint="give a folder with *_ascend_pt or PROF_* in it, or one",
        )
    before = () if again else tuple(one for one in found if _is_parsed(one))
    todo = [one for one in found if one not in before]
    _need_parsers(todo, export)
    _parse_all(todo, processes, list(export) if export else None)
    failed = tuple(one for one in todo if not _is_parsed(one))
    return OfflineParsing(tuple(one for one in todo if one not in failed), before, failed)


def _is_recording(folder: Path) -> bool:
    return folder.name.endswith(_RECORDING) or (folder / _FRAMEWORK).is_dir()


def _is_of_cann(folder: Path) -> bool:
    return folder.name.startswith(_CANN) and folder.is_dir()


def _is_parsed(recording: Path) -> bool:
    results = _RESULTS if _is_recording(recording) else _RESULTS_OF_CANN
    return any(next(recording.glob(pattern), None) is not None for pattern in results)


def _need_parsers(recordings: Iterable[Path], export: Sequence[str] | None) -> None:
    for one in recordings:
        if _is_recording(one) and find_spec("torch_npu") is None:
            raise UserError(
                "torch_npu is not installed, which parses these recordings",
                hint="run this where the job ran, or install it",
            )
        if not _is_recording(one) and shutil.which("msprof") is None:
            raise UserError(
                said("msprof is not on the PATH, which parses {name}", name=one.name),
                hint="run this where CANN is installed, after its set_env.sh",
            )
        if _is_recording(one) and export and "export_type" not in signature(_analyse()).parameters:
            raise UserError("this torch_npu can't be told what to write", hint="leave it out, or install a newer one")


def _analyse() -> Callable[..., None]:
    found: Callable[..., None] = import_module("torch_npu.profiler.profiler").analyse
    return found


def _parse_all(recordings: Sequence[Path], processes: int, export: list[str] | None) -> None:
    if not recordings:
        return
    each = max(1, processes // len(recordings))
    if len(recordings) == 1:
        _parse_one(recordings[0], each, export)
        return
    # torch_npu keeps its pool and its settings for the process; what ends one of them leaves the others alone.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(processes, len(recordings)), mp_context=spawn) as pool:
        waiting = [pool.submit(_parse_one, one, each, export) for one in recordings]
        for one in waiting:
            one.exception()  # what is not parsed in the end is counted by its results


def _parse_one(recording: Path, processes: int, export: list[str] | None) -> None:
    if not _is_recording(recording):
        kind = ["--type=db"] if export == ["db"] else []
        subprocess.run(["msprof", "--export=on", f"--output={recording}", *kind], check=False)
        return
    asked = {"export_type": export} if export else {}
    _analyse()(profiler_path=str(recording), max_process_number=processes, **asked)
