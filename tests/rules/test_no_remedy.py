"""Every finding has something to do that fits the program, or says that there is nothing."""

from __future__ import annotations

from collections.abc import Iterator

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


def written(registered: Registered) -> Iterator[Action]:
    """The actions that a rule's module states."""
    module = __import__(registered.module, fromlist=["RULE"])
    for value in vars(module).values():
        yield from (value,) if isinstance(value, Action) else ()
        if isinstance(value, tuple):
            yield from (one for one in value if isinstance(one, Action))
        if isinstance(value, dict):
            yield from (one for one in value.values() if isinstance(one, Action))


def test_actions_say_what_to_do() -> None:
    texts = [(one.rule.code, action.text) for one in all_rules().values() for action in written(one)]
    assert len(texts) > len(all_rules())
    assert [text for text in texts if len(text[1]) < 12] == []
