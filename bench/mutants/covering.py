"""Which tests cover a file: those that import it or are named after it, those of its topic, those of what uses it."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path


def covering(path: Path, source: Path, tests: Path) -> list[list[Path]]:
    """Test files in up to three rounds; each is run if no test of those before it notices anything."""
    direct = _direct(path, source, tests)
    layer, *topic, _ = path.relative_to(source).with_suffix("").parts
    folder = tests.joinpath(layer, *topic[:1])
    alike = [
        file for file in _texts(tests) if folder in file.parents or file == folder.with_name(f"test_{folder.name}.py")
    ]
    users = [user for user, text in _texts(source).items() if _imports(path, source, text)]
    indirect = [file for user in users for file in _direct(user, source, tests)]
    rounds: list[list[Path]] = []
    for files in (direct, alike, indirect):
        known = [file for part in rounds for file in part]
        if new := [file for file in dict.fromkeys(files) if file not in known]:
            rounds.append(new)
    return rounds


def _direct(path: Path, source: Path, tests: Path) -> list[Path]:
    layer = path.relative_to(source).parts[0]
    every = _texts(tests)
    named = [file for file in every if file.name == f"test_{path.name}" and layer in file.parts]
    return named + [file for file, text in every.items() if _imports(path, source, text)]


def _imports(path: Path, source: Path, text: str) -> bool:
    module = ["stepscope", *path.relative_to(source).with_suffix("").parts]
    if module[-1] == "__init__":
        module.pop()
    name, package, stem = re.escape(".".join(module)), re.escape(".".join(module[:-1])), re.escape(module[-1])
    names = rf"from {package} import (?:\([^)]*|[^\n]*)\b{stem}\b"
    return re.search(rf"(?:from|import) {name}\b|{names}", text) is not None


@lru_cache(maxsize=2)
def _texts(folder: Path) -> dict[Path, str]:
    files = sorted(path for path in folder.rglob("*.py") if folder.name != "tests" or path.name.startswith("test_"))
    return {path: path.read_text(encoding="utf-8") for path in files}
