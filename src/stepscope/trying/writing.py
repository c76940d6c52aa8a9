"""What to write into the program for a remedy: lines like a patch."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from stepscope.trying.remedy import OutsideRemedy
from stepscope.trying.seen import Constructed, Seen

#: Lines of a call that are shown.
_MOST_LINES: Final = 12


@dataclass(frozen=True, slots=True)
class ToWrite:
    """What to write for one remedy.

    Attributes:
        name: The remedy.
        lines: A file and line, lines to remove after `-` and lines to add after `+`.
    """

    name: str
    lines: tuple[str, ...]


def to_write(remedy: OutsideRemedy, before: Seen, after: Seen, runs: Path, working: Path) -> ToWrite:
    """What to write for a remedy that was applied.

    Args:
        remedy: The remedy.
        before: What the unchanged program showed.
        after: What it showed with the remedy.
        runs: Folder of the folders of runs, whose files stand for the program's.
        working: The program's own working folder.
    """
    lines: list[str] = []
    for made in after.constructed:
        changed = _of(remedy, made, before)
        if changed:
            lines += _call(made, changed, runs, working)
    lines += [f"+ {line}" for line in (remedy.write(before) if remedy.write is not None else ())]
    if remedy.write is None:
        for name, value in remedy.variables(before).items():
            lines.append(f"+ unset {name}" if value is None else f"+ export {name}={value}")
    return ToWrite(remedy.name, tuple(lines))


def _of(remedy: OutsideRemedy, made: Constructed, before: Seen) -> Mapping[str, Any]:
    """Which of the changes to what was constructed are this remedy's."""
    edit = remedy.edits.get(made.kind)
    if edit is None:
        return {}
    wanted = edit({**made.arguments, **made.facts}, before)
    return {name: value for name, value in wanted.items() if name in made.changed and made.changed[name] == value}


def _call(made: Constructed, changed: Mapping[str, Any], runs: Path, working: Path) -> list[str]:
    """The call as it is and as it should be; the arguments alone where its source can't be found."""
    given = ", ".join(f"{name}={value!r}" for name, value in changed.items())
    place = _original(made.file, runs, working)
    if place is None:
        return [f"+ {made.interface}(..., {given})"]
    shown = place.relative_to(working) if place.is_relative_to(working) else place
    heading = f"{shown}:{made.line}"
    try:
        source = place.read_text(encoding="utf-8")
        found = _changed_call(source, made, changed)
    except (OSError, ValueError, SyntaxError):
        found = None
    if found is None:
        return [heading, f"+ {made.interface}(..., {given})"]
    old, new = found
    return [heading, *(f"- {line}" for line in old), *(f"+ {line}" for line in new)]


def _original(file: str, runs: Path, working: Path) -> Path | None:
    """The program's own file for one of a run."""
    if not file:
        return None
    path = Path(file)
    if not path.is_absolute():
        path = working / path
    if path.is_relative_to(runs):
        # runs/NAME/root stands for the root of the file system.
        return Path("/", *path.relative_to(runs).parts[2:])
    return path


def _changed_call(source: str, made: Constructed, changed: Mapping[str, Any]) -> tuple[list[str], list[str]] | None:
    """Lines of a call before and after its arguments are changed."""
    calls = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and node.lineno <= made.line <= (node.end_lineno or 0)
        and _name(node.func) == made.interface
    ]  # fmt: skip
    if not calls:
        return None
    call = max(calls, key=lambda one: one.lineno)
    if (call.end_lineno or 0) - call.lineno >= _MOST_LINES or any(one.arg is None for one in call.keywords):
        return None
    lines = source.splitlines()
    first, last = call.lineno - 1, (call.end_lineno or 1) - 1
    old = lines[first : last + 1]
    known = {one.arg: one.value for one in call.keywords}
    # From the end to the start, so that positions stay right.
    edits: list[tuple[int, int, int, int, str]] = []
    for name, value in changed.items():
        node = known.get(name)
        if node is not None and node.end_lineno is not None and node.end_col_offset is not None:
            edits.append((node.lineno - 1, node.col_offset, node.end_lineno - 1, node.end_col_offset, repr(value)))
    added = ", ".join(f"{name}={value!r}" for name, value in changed.items() if name not in known)
    if added:
        end = (call.end_col_offset or 1) - 1
        body = lines[last].encode()[:end].decode().rstrip()
        separator = "" if body.endswith(("(", ",")) or not body else ", "
        space = " " if body.endswith(",") else ""
        at = len(body.encode())
        edits.append((last, at, last, end, f"{separator}{space}{added}"))
    new = list(old)
    for start_line, start, end_line, end, text in sorted(edits, reverse=True):
        if start_line != end_line:
            return None
        raw = new[start_line - first].encode()
        new[start_line - first] = (raw[:start] + text.encode() + raw[end:]).decode()
    return [line.strip() if len(old) == 1 else line for line in old], [
        line.strip() if len(new) == 1 else line for line in new
    ]


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
