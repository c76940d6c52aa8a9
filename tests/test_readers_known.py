"""Readers are told apart by what their recordings hold (`model/source.py`), not by their names."""

from __future__ import annotations

import ast
from pathlib import Path

from stepscope.ingest.inputs import SOURCES

SRC = Path(__file__).resolve().parents[1] / "src" / "stepscope"


def compared(source: str) -> list[str]:
    """Names of readers that code compares something with."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            texts = [one for side in (node.left, *node.comparators) for one in ast.walk(side)]
            found += [one.value for one in texts if isinstance(one, ast.Constant) and one.value in SOURCES]
    return found


def test_comparisons_are_seen() -> None:
    assert compared('if r.reader == "nsight" or r.reader in ("kineto", "x"): pass') == ["nsight", "kineto"]
    assert compared('TEXTS = {"nsight": "how it is recorded with it"}') == []


def test_no_code_above_the_readers_compares_their_names() -> None:
    files = [path for part in ("model", "store", "ingest", "analyses", "signals", "rules", "reports", "cli")
             for path in (SRC / part).rglob("*.py")]  # fmt: skip
    assert files
    assert {str(path): names for path in files if (names := compared(path.read_text(encoding="utf-8")))} == {}
