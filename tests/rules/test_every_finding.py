"""Every rule is made to fire by its own tests, and what it says is told in both languages: only names stay English.

`conftest.py` looks at all that tests of rules make them say; here each rule is shown to be among these.
"""

from __future__ import annotations

import gc
import importlib.util
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rule_support import RULES_OF, drafts_made, untold
from stepscope.rules.registry import all_rules
from stepscope.rules.rule import Registered

#: Fixtures that a test can be given here.
_AT_HAND = {"tmp_path", "monkeypatch"}


def module_of(registered: Registered) -> ModuleType:
    """The module of a rule's tests."""
    name = registered.rule.name.replace("-", "_")
    place = RULES_OF / registered.family / f"test_{name}.py"
    spec = importlib.util.spec_from_file_location(f"fired_{name}", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def calls_of(module: ModuleType) -> Iterator[tuple[Callable[..., None], dict[str, Any]]]:
    """The tests with the values of their parameters, but those that need other fixtures."""
    for name, function in vars(module).items():
        if not name.startswith("test_") or not inspect.isfunction(function):
            continue
        chosen: list[dict[str, Any]] = [{}]
        for mark in getattr(function, "pytestmark", []):
            if mark.name == "parametrize":
                names, values = mark.args[0], mark.args[1]
                names = [one.strip() for one in names.split(",")] if isinstance(names, str) else list(names)
                chosen = [{**before, **_named(names, value)} for before in chosen for value in values]
        for given in chosen:
            if set(inspect.signature(function).parameters) - set(given) <= _AT_HAND:
                yield function, given


def _named(names: list[str], value: Any) -> dict[str, Any]:
    values = getattr(value, "values", value) if type(value).__name__ == "ParameterSet" else value
    if len(names) == 1:
        return {names[0]: values[0] if type(value).__name__ == "ParameterSet" else values}
    return dict(zip(names, values, strict=True))


@pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning")
@pytest.mark.parametrize("registered", all_rules().values(), ids=lambda r: r.rule.code)
def test_every_rule_is_told_in_both_languages(registered: Registered, tmp_path: Path) -> None:
    left, fired = {}, 0
    for number, (function, given) in enumerate(calls_of(module_of(registered))):
        wanted = set(inspect.signature(function).parameters) - set(given)
        with pytest.MonkeyPatch.context() as patch, drafts_made() as made:
            (folder := tmp_path / str(number)).mkdir()
            fixtures = {"tmp_path": folder, "monkeypatch": patch}
            function(**given, **{name: fixtures[name] for name in wanted})
        left |= untold(made)
        fired += len(made)
        if fired:
            break
    made.clear()
    # Small traces that the tests have made go here, where nobody is told that they are left to the collector.
    gc.collect()
    assert fired
    assert left == {}
