"""Documents in Chinese: all are there, none is out of date, none says other code or numbers than the English one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from language import documents
from language.documents import ROOT, faults, main, sources, translation_of

ENGLISH = """# Copies
The loader copies 2 batches per step, see `copies` and [the guide](../guide.md).

* one
* two

```python
x = y.to(device)  # not pinned
```

| a | b |
|---|---|
| 1 | 2 |
"""
CHINESE = """<!-- source: docs/remedies/copies.md 000000000000 -->
# 拷贝
DataLoader 每个 step 拷贝 2 个批次，参见 `copies` 和[指南](../guide.md)。

* 其一
* 其二

```python
x = y.to(device)  # 未锁页
```

| 甲 | 乙 |
|---|---|
| 1 | 2 |
"""


def test_every_document_is_translated() -> None:
    assert [source for source in sources() if not (ROOT / translation_of(source)).exists()] == []


def test_no_translation_outlives_its_source() -> None:
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs" / "zh").rglob("*.md")}
    assert there - {translation_of(source) for source in sources()} == set()


def test_translations_say_what_their_sources_say_today() -> None:
    there = [name for name in map(translation_of, sources()) if (ROOT / name).exists()]
    assert {name: found for name in there if (found := list(faults(name)))} == {}


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one document and its translation, signed and committed."""
    monkeypatch.setattr(documents, "ROOT", tmp_path)
    for name, text in (("docs/remedies/copies.md", ENGLISH), ("docs/zh/remedies/copies.md", CHINESE)):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "docs" / "guide.md").touch()
    assert documents.sign("docs/zh/remedies/copies.md", same=True) == ""
    author = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "."], [*author, "commit", "-q", "-m", "Copies"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("2 个批次", "3 个批次", "numbers lacks: 2; adds: 3"),
        ("`copies`", "`copy`", "inline code lacks: `copies`; adds: `copy`"),
        ("../guide.md", "guide.md", "links lacks: docs/guide.md; adds: docs/remedies/guide.md"),
        ("to(device)", "to(host)", "code block 1 differs beyond its comments"),
        ("* 其二\n", "", "list items: 1 instead of 2"),
        ("| 1 | 2 |", "| 1 2 |", "columns of tables: [3, 3, 2] instead of [3, 3, 3]"),
        ("# 拷贝\n", "", "headings: [] instead of ['#']"),
        ("，参见", ",参见", "punctuation of full width in Chinese: DataLoader"),
        ("step 拷贝", "step拷贝", "a space between Chinese and Latin: DataLoader"),
        ("* 其二", "* the loader copies a batch", "nothing left in English: * the loader"),
        ("# 拷贝", "# The loader copies batches", "no Chinese in: # The loader copies batches"),
        ("source: docs", "source: doc", "the first line is not <!-- source: docs/remedies/copies.md"),
    ],
)
def test_what_differs_is_named(checkout: Path, old: str, new: str, fault: str) -> None:
    path = checkout / "docs/zh/remedies/copies.md"
    text = path.read_text(encoding="utf-8")
    assert list(faults("docs/zh/remedies/copies.md")) == []
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    assert any(found.startswith(fault) for found in faults("docs/zh/remedies/copies.md"))


def test_comments_in_code_are_translated() -> None:
    assert documents.code(ENGLISH)[1] == documents.code(CHINESE)[1] == ["```python\nx = y.to(device)\n```"]


def test_a_changed_source_is_followed_by_other_words(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "docs/zh/remedies/copies.md"
    (checkout / "docs/remedies/copies.md").write_text(ENGLISH.replace("loader", "slow loader"), encoding="utf-8")
    assert [each.partition(" has")[0] for each in faults(name)] == ["docs/remedies/copies.md"]
    assert main(["--sign", str(checkout / name)]) == 1
    assert "has changed and the translation has not" in capsys.readouterr().out
    text = (checkout / name).read_text(encoding="utf-8")
    (checkout / name).write_text(text.replace("DataLoader", "慢的 DataLoader"), encoding="utf-8")
    assert main(["--sign", str(checkout / name)]) == 0


def test_a_change_may_need_no_other_words(checkout: Path) -> None:
    name = "docs/zh/remedies/copies.md"
    (checkout / "docs/remedies/copies.md").write_text(ENGLISH.replace("per step", "each step"), encoding="utf-8")
    assert main(["--sign", "--same", str(checkout / name)]) == 0
