"""Every error that is raised with a text has it in Chinese, and so has every command's help where the locale asks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from translation.extract import SHOWN, constants
from translation.rooms import SOURCE

from stepscope.cli.main import COMMANDS, run
from stepscope.language import told

#: Errors of ours.
ERRORS = {name for name in SHOWN if name.endswith("Error")} | {"BadParameter"}


def texts() -> Iterator[tuple[str, ast.expr]]:
    """Messages and hints of all errors, with their places."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(node.func, "id", getattr(node.func, "attr", "")) if isinstance(node, ast.Call) else ""
            if isinstance(node, ast.Call) and name in ERRORS:
                shown = [*node.args[:1], *(one.value for one in node.keywords if one.arg == "hint")]
                yield from ((f"{path.relative_to(SOURCE)}:{one.lineno}", one) for one in shown)


def test_no_error_is_made_of_an_f_string() -> None:
    found = list(texts())
    assert len(found) > 300
    assert [place for place, one in found if isinstance(one, ast.JoinedStr)] == []


def test_constant_texts_of_errors_are_told() -> None:
    found = [(place, text) for place, one in texts() for text in constants(one) if text]
    assert [(place, text) for place, text in found if told(text, "zh") == text and not text.startswith("pip ")] == []


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_help_of_every_command_is_chinese_where_the_locale_is(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert run([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "用法：" in shown
    assert "选项：" in shown
    assert [english for english in ("Usage:", "Options:", "Show this message") if english in shown] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("analyze", "x", "--tpo", "3"), "没有选项 --tpo；是否指 --step, --store, --top"),
        (("nosuch",), "没有命令 'nosuch'"),
        (("analize",), "没有命令 'analize'；是否指 'analyze'"),
        (("query", "x"), "缺少参数 'SQL'"),
        (("analyze", "x", "--top", "many"), "'--top' 的值无效：必须是整数"),
        (("analyze", "x", "--top", "0"), "'--top' 的值无效：必须不小于 1"),
        (("view", "x", "--port", "99999"), "'--port' 的值无效：必须不大于 65535"),
        (
            ("query", "x", "SELECT 1", "--format", "odd"),
            "'--format' 的值无效：'odd' 不在 'table', 'csv', 'json', 'parquet' 之中",
        ),
        (("analyze", "x", "--top"), "选项 '--top' 需要一个值"),
        (("schema", "a", "b"), "多余的参数（b）"),
    ],
)
def test_wrong_use_is_told_in_chinese(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--lang", "zh", *arguments]) == 2
    assert capsys.readouterr().err == f"stepscope：{said}；见 --help。\n"
