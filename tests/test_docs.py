"""The documentation says what the program does.

`STEPSCOPE_UPDATE_DOCS=1 python -m pytest tests/test_docs.py` writes the parts that are made from the program anew.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import stepscope
from stepscope.cli.main import app_of
from stepscope.demo import recording
from stepscope.doctor import examine
from stepscope.ingest import Options, open_trace
from stepscope.language import speaking, told
from stepscope.record.api import parity
from stepscope.reports import catalogue, terminal
from stepscope.reports.build import build_report
from stepscope.rules.documentation import page
from stepscope.rules.registry import all_rules
from stepscope.signals.catalogue import all_signals
from stepscope.trying.registry import all_remedies

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
UPDATE = bool(os.environ.get("STEPSCOPE_UPDATE_DOCS"))
#: The README shows the demo's report up to this section.
LAST_SHOWN = "How well it ran"


def commands(command: Any = None, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every command with its full name."""
    command = command or typer.main.get_command(app_of())
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name, command
        return
    for key, child in inner.items():
        yield from commands(child, f"{name} {key}".strip())


def option_table(command: Any) -> str:
    """Arguments and options of a command as a Markdown table."""
    rows = []
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            shown = parameter.metavar or parameter.name.upper()
        else:
            shown = ", ".join(parameter.opts)
            if not parameter.is_flag:
                shown += f" {parameter.metavar or parameter.name.upper().rstrip('_')}"
        bar = "\\|"
        rows.append(f"| `{shown.replace('|', bar)}` | {parameter.help or ''} |")
    return "\n".join(["| argument or option | meaning |", "|---|---|", *rows]) if rows else "It has no options."


def keep(path: Path, mark: str, content: str) -> None:
    """Compare what a page has between a mark and the next end mark, or write it."""
    text = path.read_text(encoding="utf-8")
    pattern = re.compile(rf"(<!-- {re.escape(mark)} -->\n)(.*?)(<!-- end -->)", re.DOTALL)
    found = pattern.search(text)
    assert found is not None, f"{path.name} has no part {mark}"
    if UPDATE:
        path.write_text(text[: found.start(2)] + content + "\n" + text[found.end(2) :], encoding="utf-8")
    else:
        assert found[2] == content + "\n"


@pytest.mark.parametrize("name", [name for name, _ in commands()])
def test_every_command_is_documented_with_its_options(name: str) -> None:
    keep(DOCS / "cli.md", f"options: {name}", option_table(dict(commands())[name]))


def test_every_command_and_option_has_a_help() -> None:
    for name, command in commands():
        assert command.help, name
        for parameter in command.params:
            assert parameter.name == "help" or parameter.help, f"{name} {parameter.name}"


def test_exit_statuses_are_documented() -> None:
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert all(f"| {status} |" in text for status in (0, 1, 2, 130))


def test_the_schema_page_is_what_the_program_prints() -> None:
    page = catalogue.to_markdown(catalogue.groups())
    if UPDATE:
        (DOCS / "schema.md").write_text(page, encoding="utf-8")
    assert (DOCS / "schema.md").read_text(encoding="utf-8") == page


def test_every_column_says_what_it_means() -> None:
    for tables in catalogue.groups().values():
        for table in tables:
            assert table.description.endswith("."), table.name
            for column in table.columns:
                assert column.description.endswith("."), f"{table.name}.{column.name}"
            assert len(set(table.names)) == len(table.names)


def test_the_readme_shows_the_real_report() -> None:
    out = io.StringIO()
    with recording() as path, open_trace(path, Options(cache=False)) as trace:
        terminal.write(build_report(trace), out, top=8, width=100)
    shown = out.getvalue().split(f"\n{LAST_SHOWN} ")[0]
    keep(ROOT / "README.md", "demo", "```text\n" + shown + "```")


def test_the_readme_in_chinese_shows_the_real_report() -> None:
    out = io.StringIO()
    with recording() as path, open_trace(path, Options(cache=False)) as trace, speaking("zh"):
        terminal.write(build_report(trace), out, top=8, width=100)
        last = told(LAST_SHOWN)
    assert last != LAST_SHOWN
    shown = out.getvalue().split(f"\n{last} ")[0]
    keep(ROOT / "README.zh.md", "demo", "```text\n" + shown + "```")


def test_the_list_of_rules() -> None:
    lines = ["## All rules"]
    family = ""
    for registered in all_rules().values():
        if registered.family != family:
            family = registered.family
            lines += ["", f"### {family}", "", "| rule | name | finds |", "|---|---|---|"]
        code = registered.rule.code
        lines.append(f"| [{code}]({code}.md) | {registered.rule.name} | {registered.title} |")
    keep(DOCS / "rules" / "README.md", "list", "\n".join(lines))
    pages = {page.stem for page in (DOCS / "rules").glob("*.md")} - {"README"}
    assert pages == set(all_rules())


def test_the_list_of_rules_in_chinese() -> None:
    lines = ["## 所有规则"]
    family = ""
    for code, registered in all_rules().items():
        if registered.family != family:
            family = registered.family
            lines += ["", f"### {family}", "", "| 规则 | 名称 | 发现什么 |", "|---|---|---|"]
        title, named, finds, *_ = page(registered, "zh").split("\n\n")
        assert title == f"# {code}：{registered.rule.name}"
        assert named == f"类别：{family}。"
        lines.append(f"| [{code}]({code}.md) | {registered.rule.name} | {finds} |")
    keep(DOCS / "zh" / "rules" / "README.md", "list", "\n".join(lines))


def test_the_parity_of_profilers() -> None:
    keep(DOCS / "profiler-api.md", "parity", parity.table())


def test_the_checks_of_the_doctor() -> None:
    keep(DOCS / "doctor.md", "checks", "\n".join(examine.table()))
    assert len({one.name for one in examine.CHECKS}) == len(examine.CHECKS)


def test_the_list_of_remedies_that_are_tried() -> None:
    rows = ["| remedy | what it does | findings that name it | what may change numerically |", "|---|---|---|---|"]
    rows += [
        f"| `{one.name}` | {one.title} | {', '.join(one.rules)} | {one.changes} |" for one in all_remedies().values()
    ]
    keep(DOCS / "try.md", "remedies", "\n".join(rows))


def test_the_list_of_signals() -> None:
    rows = ["| signal | unit | meaning |", "|---|---|---|"]
    rows += [f"| `{s.name}` | {s.unit} | {' '.join(s.description.split())} |" for s in all_signals().values()]
    keep(DOCS / "signals.md", "list", "\n".join(rows))
    assert all(s.description.endswith(".") for s in all_signals().values())


def test_every_public_name_is_documented() -> None:
    text = (DOCS / "python-api.md").read_text(encoding="utf-8")
    for name in stepscope.__all__:
        assert name == "__version__" or f"`{name}" in text, name


def test_links_lead_somewhere() -> None:
    for document in [*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "README.zh.md"]:
        for target in re.findall(r"\]\((?!https?://)([^)#]+)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
