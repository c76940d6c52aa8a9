"""What holds for every rule: documentation, thresholds, tests of its own."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from stepscope.rules import remedies
from stepscope.rules.documentation import HEADINGS, page, sections
from stepscope.rules.registry import all_rules
from stepscope.rules.rule import Registered

RULES = list(all_rules().values())
ROOT = Path(__file__).resolve().parents[2]
CODES = {
    "data": "DAT", "host": "HST", "synchronisation": "SYN", "copies": "CPY", "kernels": "KRN", "memory": "MEM",
    "communication": "COM", "cluster": "CLU", "ascend": "ASC", "system": "SYS", "recording": "REC",
}  # fmt: skip


def check_documentation_has_all_headings_in_order_with_text(registered: Registered) -> None:
    found = sections(registered)
    assert tuple(found) == HEADINGS
    assert all(len(text) > 30 for text in found.values())
    assert registered.title.endswith(".")


def check_code_and_name_have_the_form_of_the_family(registered: Registered) -> None:
    assert re.fullmatch(CODES[registered.family] + r"\d{3}", registered.rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", registered.rule.name)
    assert registered.module.rpartition(".")[2] == registered.rule.name.replace("-", "_")


def check_thresholds_say_where_they_come_from(registered: Registered) -> None:
    assert all(len(t.why) > 10 and t.unit for t in registered.rule.thresholds)


def check_causes_exist(registered: Registered) -> None:
    assert set(registered.rule.symptom_of) <= set(all_rules()) - {registered.rule.code}


def check_it_has_tests_that_fire_miss_and_lack_data(registered: Registered) -> None:
    family, name = registered.family, registered.rule.name.replace("-", "_")
    text = (ROOT / "tests" / "rules" / family / f"test_{name}.py").read_text(encoding="utf-8")
    assert text.count("def test_") >= 3
    assert f'"{registered.rule.code}"' in text
    assert "MissingInputError" in text or "unasked" in text


def check_its_page_is_in_the_documentation(registered: Registered) -> None:
    kept = ROOT / "docs" / "rules" / f"{registered.rule.code}.md"
    if os.environ.get("STEPSCOPE_UPDATE_DOCS"):
        kept.write_text(page(registered), encoding="utf-8")
    assert kept.read_text(encoding="utf-8") == page(registered)


def check_remedies_that_actions_name_exist(registered: Registered) -> None:
    source = (ROOT / "src" / (registered.module.replace(".", "/") + ".py")).read_text(encoding="utf-8")
    for remedy in re.findall(r'page="([^"]*)"', source):
        assert remedy in remedies.names(), remedy


@pytest.mark.parametrize("registered", RULES, ids=lambda r: r.rule.code)
def test_every_rule(registered: Registered) -> None:
    check_documentation_has_all_headings_in_order_with_text(registered)
    check_code_and_name_have_the_form_of_the_family(registered)
    check_thresholds_say_where_they_come_from(registered)
    check_causes_exist(registered)
    check_it_has_tests_that_fire_miss_and_lack_data(registered)
    check_its_page_is_in_the_documentation(registered)
    check_remedies_that_actions_name_exist(registered)


def test_names_are_unique() -> None:
    names = [registered.rule.name for registered in RULES]
    assert len(set(names)) == len(names)
