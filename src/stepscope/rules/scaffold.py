"""Write a new rule and its tests, ready to be filled in."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from stepscope.language import said
from stepscope.model.errors import UserError
from stepscope.model.suggest import choose
from stepscope.rules.finding import FAMILIES
from stepscope.rules.registry import all_rules

_RULE: Final = '''"""Say in one sentence what is wrong with the job.

## What it finds
What is seen when it is so.

## Why it matters
What it costs, and why.

## How it decides
Which signals are held against which thresholds, and how the price is found.

## What to try
What to change, the most promising first.

## Known limits
Where it is wrong, and what it can't see.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.model.amounts import percent
from stepscope.rules.finding import Action
from stepscope.rules.rule import Draft, Limits, Rule, Threshold
from stepscope.signals import Signals
from stepscope.signals.data.data import wait_share

FAMILY = "{family}"


def check(s: Signals, limits: Limits) -> Iterator[Draft]:
    """Compare the signal with its threshold."""
    share = s(wait_share)
    if share < limits["min_share"]:
        return
    yield Draft(
        title="What is wrong, in a short phrase",
        summary=f"What was seen, with figures: {{percent(share)}} of the step.",
        actions=(Action("What to do", before="as it is", after="as it should be"),),
        numbers={{wait_share.name: share, "min_share": limits["min_share"]}},
    )


RULE = Rule(
    "{code}",
    "{name}",
    thresholds=(Threshold("min_share", 0.01, "share", "Where this number comes from."),),
    check=check,
)
'''
_TEST: Final = """from __future__ import annotations

import pytest

from {module} import RULE
from stepscope.model.errors import MissingInputError
from stepscope.signals import Signals
from stepscope.signals.data import data

LIMITS = {{threshold.name: threshold.default for threshold in RULE.thresholds}}


def test_it_fires() -> None:
    assert RULE.code == "{code}"
    assert len(list(RULE.check(Signals(0, {{data.wait_share: 0.5}}), LIMITS))) == 1


def test_it_just_misses() -> None:
    assert list(RULE.check(Signals(0, {{data.wait_share: 0.00999}}), LIMITS)) == []


def test_it_lacks_data() -> None:
    with pytest.raises(MissingInputError):
        list(RULE.check(Signals(0, {{}}), LIMITS))
"""


def scaffold(name: str, family: str, folder: Path) -> tuple[Path, Path]:
    """Write `NAME.py` and `test_NAME.py` into a folder.

    To have a rule run, put it into `stepscope/rules/FAMILY/`, or name its module as an entry point of the group
    `stepscope.rules`.

    Raises:
        UserError: The name or family can't be used, or a file is there already.
    """
    name = name.replace("_", "-")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise UserError(
            said("a rule can't be called {name!r}", name=name), hint="write words in small letters, joined by hyphens"
        )
    if family not in FAMILIES:
        raise UserError(said("no family is called {family!r}", family=family), hint=choose(family, FAMILIES))
    module = name.replace("-", "_")
    paths = folder / f"{module}.py", folder / f"test_{module}.py"
    for path in paths:
        if path.exists():
            raise UserError(said("{path} is there already", path=path), hint="choose another name")
    values = {"name": name, "family": family, "code": _free_code(family), "module": module}
    for path, text in zip(paths, (_RULE, _TEST), strict=True):
        path.write_text(text.format(**values), encoding="utf-8")
    return paths


def _free_code(family: str) -> str:
    """The next code of the family; third parties should choose letters of their own."""
    codes = [registered.rule.code for registered in all_rules().values() if registered.family == family]
    if not codes:
        return f"{family[:3].upper()}001"
    return f"{codes[-1][:3]}{max(int(code[3:]) for code in codes) + 1:03}"
