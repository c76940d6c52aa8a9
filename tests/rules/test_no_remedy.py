"""Every finding has something to do that fits the program, or says that there is nothing."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from stepscope.model.program import Program
from stepscope.rules.engine import NO_REMEDY, _fitted
from stepscope.rules.finding import Action
from stepscope.rules.registry import all_rules
from stepscope.rules.rule import Draft, Registered
from stepscope.signals import Signals
from stepscope.signals.shared.job import stepless
from stepscope.signals.shared.program import program

PROGRAMS = (
    Program(),
    Program(kind="training", framework="pytorch", platform="cuda", language="python", operators=True),
    Program(kind="inference", framework="pytorch", platform="npu", language="python", operators=True),
    Program(kind="serving", framework="pytorch", platform="rocm", language="python", libraries=("vLLM",)),
    Program(framework="native", platform="cuda", language="c++", executable="solver"),
    Program(framework="jax", platform="cuda", language="python"),
)
#: An action that fits none of these programs, and one that fits all.
_ELSEWHERE = Action("Set the flag of llama.cpp", needs=("llama.cpp",))
_ANYWHERE = Action("Do less of it")


def kept(registered: Registered, action: Action, told: Program) -> Draft:
    signals = Signals(0, {program: told, stepless: False})
    return _fitted(registered, Draft("Title", "Seen.", (action,)), signals)


@pytest.mark.parametrize("registered", all_rules().values(), ids=lambda one: one.rule.code)
def test_every_rule_says_so_where_nothing_fits(registered: Registered) -> None:
    for told in PROGRAMS:
        draft = kept(registered, _ELSEWHERE, told)
        assert bool(draft.actions) != (NO_REMEDY in draft.summary)
        assert NO_REMEDY not in kept(registered, _ANYWHERE, told).summary


#: Commands and code that show what a recording does not.
_LOOKS = re.compile(
    r"nvidia-smi|rocm-smi|npu-smi|xpu-smi|py-spy|TORCH_LOGS|record_function\(|print\(|profile\(|stepscope |pidstat"
)


def seen(registered: Registered) -> Iterator[Action]:
    """The actions that a rule's module states, and what it makes of the platform's commands."""
    yield from written(registered)
    for value in vars(import_module(registered.module)).values():
        texts = value.values() if isinstance(value, dict) else (value,)
        yield from (Action("See", after=text) for text in texts if isinstance(text, str) and _LOOKS.search(text))


def written(registered: Registered) -> Iterator[Action]:
    """The actions that a rule's module states."""
    module = __import__(registered.module, fromlist=["RULE"])
    for value in vars(module).values():
        yield from (value,) if isinstance(value, Action) else ()
        if isinstance(value, tuple):
            yield from (one for one in value if isinstance(one, Action))
        if isinstance(value, dict):
            yield from (one for one in value.values() if isinstance(one, Action))


def hypothetical(registered: Registered) -> bool:
    """Whether a rule calls something that it says a hypothesis, not only in its documentation."""
    source = Path(inspect.getfile(import_module(registered.module))).read_text(encoding="utf-8")
    tree = ast.parse(source)
    texts = [one.value for one in ast.walk(tree) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return any("ypothes" in text for text in texts if text != ast.get_docstring(tree, clean=False))


def test_what_is_called_a_hypothesis_comes_with_a_command_that_would_show_it() -> None:
    found = [one for one in all_rules().values() if hypothetical(one)]
    assert found
    without = [one.rule.code for one in found if not any(_LOOKS.search(action.after) for action in seen(one))]
    assert without == []


def test_actions_say_what_to_do() -> None:
    texts = [(one.rule.code, action.text) for one in all_rules().values() for action in written(one)]
    assert len(texts) > len(all_rules())
    assert [text for text in texts if len(text[1]) < 12] == []
