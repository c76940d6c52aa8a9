"""No English is left over: texts that are shown are patterns, and a page in Chinese has nothing else but names."""

from __future__ import annotations

import ast
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from translation.extract import SHOWN
from translation.rooms import DONE, files

from stepscope.cli.main import run
from stepscope.demo import recording
from stepscope.ingest import Options, open_trace
from stepscope.language import speaking
from stepscope.reports import html, markdown, terminal
from stepscope.reports.build import build_report
from stepscope.reports.report import Report
from stepscope.reports.selection import ReportOptions
from stepscope.simulate import SimJob, simulate

#: Four words of English in a row are no name.
_ENGLISH = re.compile(r"(?<![\w.:/\-`])[A-Za-z]?[a-z]+(?:,? [a-z]+){3}")

#: Pages that are translated with the room of what they show.
_APART: dict[str, str] = {}


def formatted(room: str) -> Iterator[str]:
    """Places of shown arguments that are written as f-strings, which no catalogue can have."""
    for path in files(room):
        if path.parent.name in _APART:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(node.func, "id", getattr(node.func, "attr", "")) if isinstance(node, ast.Call) else ""
            if not isinstance(node, ast.Call) or name not in SHOWN:
                continue
            positions, names = SHOWN[name]
            shown = [argument for at, argument in enumerate(node.args) if at in positions]
            shown += [keyword.value for keyword in node.keywords if keyword.arg in names]
            for argument in shown:
                parts = [one.value for one in getattr(argument, "values", ()) if isinstance(one, ast.Constant)]
                literal = "".join(one for one in parts if isinstance(one, str))
                if isinstance(argument, ast.JoinedStr) and re.search(r"[a-z]{2,} [a-z]{2,}", literal):
                    yield f"{path.name}:{argument.lineno}"


@pytest.mark.parametrize("room", DONE)
def test_what_is_shown_is_a_pattern(room: str) -> None:
    assert list(formatted(room)) == []


@pytest.fixture(scope="module")
def report() -> Iterator[Report]:
    with recording() as path, open_trace(path, Options(cache=False)) as trace:
        yield build_report(trace, ReportOptions(page=True, all_findings=True))


def test_a_report_in_chinese_has_no_english_but_names(report: Report) -> None:
    page = io.StringIO()
    with speaking("zh"):
        terminal.write(report, page, width=200)
        texts = [page.getvalue(), markdown.text(report), " ".join(html.content(report, rows=0))]
    # Tables and their columns have names and descriptions in English, and code has its comments.
    shown = [line for text in texts[:2] for line in text.splitlines() if not line.lstrip().startswith(("+ ", "- "))]
    assert [one for line in shown for one in _ENGLISH.findall(line)] == []
    assert "step 等待数据" in texts[0]
    assert "诊断结论" in texts[1]
    assert "诊断结论" in texts[2]


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """Two recordings of a job, of which the second waits for data and reads values from the device."""
    folder = tmp_path_factory.mktemp("jobs")
    simulate(SimJob(ranks=2), folder / "base")
    simulate(SimJob(ranks=2), folder / "new", faults=("slow-loader", "item-sync"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEPSCOPE_CACHE", str(folder / "cache"))
        yield folder / "base", folder / "new"


@pytest.mark.parametrize("third", [False, True])
def test_comparisons_in_chinese_have_no_english_but_names(
    jobs: tuple[Path, Path], third: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    levels = () if third else ("--level", "overall,operators,communication,memory,kernels,api")
    arguments = ["compare", *map(str, jobs), *([str(jobs[0])] * third), *levels]
    assert run(["--lang", "zh", *arguments]) == 0
    out = capsys.readouterr().out
    assert _ENGLISH.findall(out.replace(str(jobs[0].parent), "")) == []
    assert "可以比较吗" in out
    assert run(arguments) == 0
    assert not re.search("[\u4e00-\u9fff]", capsys.readouterr().out)


def test_the_same_report_is_english_where_nobody_asks(report: Report) -> None:
    page = io.StringIO()
    terminal.write(report, page, width=200)
    assert not re.search("[\u4e00-\u9fff]", page.getvalue())
